#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The banned functions are compile errors: some everywhere, some in the library only.
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${CC:=cc}"
flags=(-std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-result -fsyntax-only -x c
    -include "$SOURCE/src/base/banned.h")

compiles() { # STATEMENT [FLAG]
    printf '#include <stdio.h>\n#include <pthread.h>\nint main(void)\n{\n char b[9] = ""; (void)b;\n %s\n return 0;\n}\n' \
        "$1" | "$CC" "${flags[@]}" ${2:+"$2"} - 2>/dev/null
}
expect() { # yes|no STATEMENT [FLAG]
    local answer=no
    if compiles "$2" ${3:+"$3"}; then
        answer=yes
    fi
    if [ "$answer" != "$1" ]; then
        echo "expected $1 for: $2 ${3:-}"
        exit 1
    fi
}
for statement in 'strcpy(b, "x");' 'strcat(b, "x");' 'sprintf(b, "x");' 'strtok(b, "x");' \
    'return atoi(b);' 'return (int)atof(b);' 'return rand();'; do
    expect no "$statement"
    expect no "$statement" -DTRI_LIBRARY_CODE
done
for statement in 'return getenv("x") != NULL;' 'exit(1);' 'printf("x");' 'puts(b);' \
    'fprintf(stderr, "x");' 'fprintf(stdout, "x");' 'perror(b);'; do
    expect yes "$statement"
    expect no "$statement" -DTRI_LIBRARY_CODE
done
expect yes 'FILE *f = fopen("x", "r"); fprintf(f, "%d", snprintf(b, 2, "x"));' -DTRI_LIBRARY_CODE
echo "banned functions are refused"
