#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rooms include only rooms to their left, never a sibling in a brace, and always as "room/file.h":
#
#   base -> shape -> spec -> placement -> tensor -> { kernels | comm } -> nn -> model
#        -> { pipeline | optim | checkpoint | data | explain } -> { train | infer } -> cli
#
# Public headers include public headers, examples too. MPI and BLAS stay in their own files. The check
# itself is tried on a small tree first.
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check_tree ROOT: prints every wrong include as file:line: reason; fails when there is one.
check_tree() {
    { cd "$1" && find src include cli examples bench -name '*.[ch]' 2>/dev/null || true; } | sort |
        (cd "$1" && xargs -r awk '
        BEGIN {
            split("base shape spec placement tensor kernels,comm nn model " \
                  "pipeline,optim,checkpoint,data,explain train,infer", columns, " ")
            for (i in columns) {
                num = split(columns[i], rooms, ",")
                for (j = 1; j <= num; j++)
                    column[rooms[j]] = i + 0
            }
        }
        function wrong(reason) { print FILENAME ":" FNR ": " reason; failures++ }
        FNR == 1 {
            split(FILENAME, part, "/")
            place = part[1]
            room = place == "src" ? part[2] : place
            if (place == "src" && !(room in column))
                wrong("folder src/" room " is no room")
        }
        /^[ \t]*#[ \t]*include[ \t]*<mpi\.h>/ && FILENAME !~ /^src\/comm\/mpi\// {
            wrong("<mpi.h> outside src/comm/mpi/")
        }
        /^[ \t]*#[ \t]*include[ \t]*<cblas\.h>/ {
            if (place == "src" && room != "kernels")
                wrong("<cblas.h> outside src/kernels/")
        }
        /^[ \t]*#[ \t]*include[ \t]*"/ {
            path = $0
            sub(/^[^"]*"/, "", path)
            sub(/".*$/, "", path)
            num = split(path, step, "/")
            target = step[1]
            if (place == "examples" && path == "example.h")
                next # what they share
            if (path ~ /(^|\/)\.\.?\// || num < 2)
                wrong("\"" path "\" is relative; write \"room/file.h\"")
            else if (target == "trine")
                next
            else if (place == "examples" && (path == "nn/build.h" || path == "spec/describe.h"))
                next # who implements a module needs them: trine/extension.h
            else if (place == "include" || place == "examples")
                wrong("\"" path "\" is not public")
            else if (target == "cli" && place == "cli")
                next
            else if (!(target in column))
                wrong("\"" path "\" names no room")
            else if (place == "src" && target != room && column[target] == column[room])
                wrong("\"" path "\" is a sibling of " room)
            else if (place == "src" && column[target] > column[room])
                wrong("\"" path "\" lies right of " room)
        }
        END { exit failures > 0 }')
}

# expect REASON FILE LINE: a tree with this one line must be refused for that reason.
expect() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/$(dirname "$2")"
    printf '#include <stdio.h>\n%s\n' "$3" >"$work/tree/$2"
    if check_tree "$work/tree" >"$work/log"; then
        [ -z "$1" ] || { echo "not found: $2: $3"; exit 1; }
    elif [ -z "$1" ] || ! grep -qF "$2:2: " "$work/log" || ! grep -qF "$1" "$work/log"; then
        echo "wrong answer for $2: $3"
        cat "$work/log"
        exit 1
    fi
}

expect '' src/nn/a.c '#include "kernels/kernels.h"'
expect '' src/base/a.c '#include "base/a.h"'
expect '' src/comm/mpi/a.c '#include <mpi.h>'
expect '' src/train/a.c '#include "trine/error.h"'
expect '' cli/a.c '#include "train/step.h"'
expect 'lies right of base' src/base/a.c '#include "shape/config.h"'
expect 'lies right of comm' src/comm/mpi/a.c '  #  include "nn/module.h"'
expect 'is a sibling of kernels' src/kernels/cpu_ref/a.c '#include "comm/comm.h"'
expect 'is a sibling of optim' src/optim/a.h '#include "data/split.h"'
expect 'is relative' src/base/a.c '#include "a.h"'
expect 'is relative' src/base/a.c '#include "../base/a.h"'
expect 'is relative' src/base/a.c '#include "base/../shape/a.h"'
expect 'names no room' src/base/a.c '#include "bass/a.h"'
expect 'is not public' include/trine/a.h '#include "base/check.h"'
expect 'is not public' examples/a.c '#include "base/check.h"'
expect '' examples/a.c '#include "example.h"'
expect 'is relative' cli/a.c '#include "example.h"'
expect 'outside src/comm/mpi/' src/comm/a.c '#include <mpi.h>'
expect 'outside src/kernels/' src/nn/a.c '#include <cblas.h>'
rm -rf "$work/tree"
mkdir -p "$work/tree/src/misc"
echo '/* no include */' >"$work/tree/src/misc/a.c"
if check_tree "$work/tree" >/dev/null; then
    echo "a folder that is no room was not found"
    exit 1
fi

check_tree "$SOURCE"
num=$(grep -lE '^ *# *include *<cblas\.h>' -r "$SOURCE/src" | wc -l)
if [ "$num" -gt 1 ]; then
    echo "<cblas.h> is included by $num files; BLAS is called from one"
    exit 1
fi
echo "includes are in order"
