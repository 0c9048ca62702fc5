#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one of the example programs and checks what it prints. Usage: t900-examples.sh tiny_gpt|score_tokens|
# own_loss|own_layers|own_activation. The bounds have room around what was seen; the losses fall from log(vocabulary).
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=$SOURCE/build}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
example=$BUILD/examples/$1

# below VALUE BOUND WHAT: fails unless VALUE is a number below BOUND.
below() {
    awk -v value="$1" -v bound="$2" 'BEGIN { exit !(value ~ /^[0-9.e+-]+$/ && value + 0 < bound + 0) }' ||
        { echo "$3 is '$1', not below $2"; exit 1; }
}
run() {
    "$@" >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; exit 1; }
    cat "$work/out"
}
value() { # TEXT: what stands behind "TEXT: "
    sed -n "s/^$1: //p" "$work/out"
}
run_mpi() { # EXAMPLE: on two processes, where they can be had
    if command -v mpirun >/dev/null 2>&1 && grep -q '^TRI_MPI:BOOL=ON' "$BUILD/CMakeCache.txt" &&
        ! grep -q '^TRI_SANITIZE:STRING=.' "$BUILD/CMakeCache.txt"; then
        run bash "$SOURCE/tests/run_mpi.sh" 2 "$example" "$work"
        "check_$1"
    fi
}
check_own_loss() {
    below "$(value 'mean over the second half')" 0.5 "own loss"
    below 1.2 "$(value 'mean over all tokens')" "a bound on the default loss"
}
check_own_layers() {
    below "$(value 'own layers')" 3.3 "own layers"
    below "$(awk -v a="$(value 'own layers')" -v b="$(value 'default layers')" \
        'BEGIN { d = a - b; print d < 0 ? -d : d }')" 0.001 "the difference of the losses"
}

# The same answers through the program, within rounding.
check_score_tokens() {
    local n
    for n in 1 2; do
        below "$(awk -v a="$(value "answer $n")" -v b="$(sed -n "${n}s/.*\"sum\": \([-0-9.]*\),.*/\1/p" "$work/scores")" \
            'BEGIN { d = a - b; print d < 0 ? -d : d }')" 1e-4 "the difference of answer $n"
    done
    below -50 "$(value margin)" "a bound below the margin"
}

check_own_activation() {
    below "$(value 'own activation')" 3.3 "own activation"
    below 0.001 "$(awk -v a="$(value 'own activation')" -v b="$(value 'library activation')" \
        'BEGIN { d = a - b; print d < 0 ? -d : d }')" "a bound below the difference of the losses"
}

if "$example" >"$work/out" 2>&1; then
    echo "accepted a call without a folder"
    exit 1
fi
case $1 in
tiny_gpt)
    run "$example" "$work"
    below "$(sed -n 's/^iteration  *10\/50 .*| loss *\([0-9.]*\).*/\1/p' "$work/out")" 3.3 "early loss"
    below "$(sed -n 's/^iteration  *50\/50 .*| loss *\([0-9.]*\).*/\1/p' "$work/out")" 1.3 "last loss"
    grep -q '^three hundred[a-z ]' "$work/out" || { echo "no sample"; exit 1; }
    rm -rf "$work/model"
    run "$example" "$work" --pipeline-model-parallel-size 2
    below "$(sed -n 's/^iteration  *50\/50 .*| loss *\([0-9.]*\).*/\1/p' "$work/out")" 1.3 "last loss on pp 2"
    if "$example" "$work" --num-layer 3 >"$work/out" 2>"$work/err"; then
        echo "accepted an unknown option"
        exit 1
    fi
    grep -q "num.layers" "$work/err" || { cat "$work/err"; exit 1; }
    ;;
score_tokens)
    model=$SOURCE/tests/golden/hf/llama/model
    printf '{"prompt": [5, 8, 13], "completion": %s}\n' '[21, 34, 55]' '[3, 2]' >"$work/lines"
    "$BUILD/trine" evaluate --load "$model" --sequences "$work/lines" --per-token "$work/scores" >/dev/null 2>&1
    for grid in "" "--ranks 2" "--ranks 2 --tensor-model-parallel-size 2" \
        "--ranks 4 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2"; do
        # shellcheck disable=SC2086 # words on purpose
        run "$example" "$model" $grid
        check_score_tokens
    done
    if "$example" "$work" >"$work/out" 2>"$work/err"; then
        echo "accepted a folder without a model"
        exit 1
    fi
    grep -q "config.json" "$work/err" || { cat "$work/err"; exit 1; }
    ;;
own_loss | own_layers)
    run "$example" "$work"
    "check_$1"
    run "$example" "$work" --ranks 2 --tensor-model-parallel-size 2
    "check_$1"
    run "$example" "$work" --ranks 2 --pipeline-model-parallel-size 2
    "check_$1"
    run_mpi "$1"
    ;;
own_activation)
    run "$example" "$work"
    check_own_activation
    run "$example" "$work" --tensor-model-parallel-size 2 --ranks 2
    check_own_activation
    run_mpi "$1"
    if "$example" "$work" --override 'decoder.layers[0].mlp.linear_fc1=hard_swish' \
        >"$work/out" 2>"$work/err"; then
        echo "accepted an implementation for another module"
        exit 1
    fi
    grep -q "matches no module 'activation'" "$work/err" || { cat "$work/err"; exit 1; }
    ;;
esac
