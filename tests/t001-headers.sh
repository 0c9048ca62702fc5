#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every header compiles on its own, public headers also as strict C11; and this check finds one that
# does not.
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${CC:=cc}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=(-D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -x c)
read -ra libraries < <(pkg-config --cflags jansson yaml-0.1 libpcre2-8 libutf8proc openblas)
mpi=()
if command -v mpicc >/dev/null 2>&1; then
    read -ra mpi < <(mpicc -showme:compile 2>/dev/null || true)
fi

# check_alone ROOT HEADER STANDARD...: HEADER is relative to ROOT/src or ROOT/include.
check_alone() {
    local root=$1 header=$2
    shift 2
    printf '#include "%s"\n' "$header" |
        "$CC" "$@" "${flags[@]}" "${libraries[@]}" "${mpi[@]}" -I"$root/src" -I"$root/include" -
}

# check_tree ROOT: prints the headers that do not stand alone; fails when there is one.
check_tree() {
    local root=$1 failures=0 header num=0 target
    while IFS= read -r header; do
        case $header in
        */mpi/*) [ ${#mpi[@]} -gt 0 ] || continue ;;
        esac
        target=()
        case $header in
        kernels/cpu_fast/*) [ "$(uname -m)" != x86_64 ] || target=(-march=x86-64-v3) ;;
        esac
        num=$((num + 1))
        if ! check_alone "$root" "$header" -std=c17 "${target[@]}"; then
            echo "src/$header does not compile on its own"
            failures=$((failures + 1))
        fi
    done < <(cd "$root/src" && find . -name '*.h' | sed 's|^\./||' | sort)
    while IFS= read -r header; do
        num=$((num + 1))
        if ! check_alone "$root" "$header" -std=c11 -pedantic; then
            echo "include/$header does not compile on its own"
            failures=$((failures + 1))
        fi
    done < <(cd "$root/include" && find . -name '*.h' | sed 's|^\./||' | sort)
    echo "$num headers, $failures failures"
    [ "$failures" = 0 ]
}

mkdir -p "$work/src/base" "$work/include/trine"
echo '#include <stdint.h>' >"$work/src/base/good.h"
check_tree "$work" >/dev/null || { echo "a good header was refused"; exit 1; }
echo 'int32_t tri_bad(void);' >"$work/src/base/bad.h"
if check_tree "$work" >"$work/log" 2>&1; then
    echo "a header without its include was not found"
    exit 1
fi
grep -q 'src/base/bad.h does not' "$work/log"

check_tree "$SOURCE"
