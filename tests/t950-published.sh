#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Published models in full size, on one core: 'trine spec' and 'trine plan' give the parameter count that
# transformers gives the same config.json (golden/published, made by oracle/published_shapes.py).
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=$SOURCE/build}"
trine=$BUILD/trine
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "$1" >&2
    exit 1
}

run() { # COMMAND NAME FLAGS...
    "$trine" "$1" --shape-from "$SOURCE/tests/golden/published/$2" "${@:3}" >"$folder/out" 2>"$folder/err" ||
        fail "trine $1 $2: $(cat "$folder/err")"
}

num=0
while read -r name parameters; do
    run spec "$name"
    grep -q "^$parameters parameters in " "$folder/out" ||
        fail "trine spec $name: not $parameters but $(grep ' parameters in ' "$folder/out")"
    run spec "$name" --json
    grep -q "\"parameters\": *$parameters," "$folder/out" || fail "trine spec $name --json: not $parameters"
    run plan "$name" --seq-length 128 --micro-batch-size 1 --global-batch-size 1 --train-iters 1 --lr 1e-4
    grep -q " $parameters parameters\$" "$folder/out" ||
        fail "trine plan $name: not $parameters but $(grep ' parameters' "$folder/out")"
    num=$((num + 1))
done <"$SOURCE/tests/golden/published/parameters.txt"
[ $num -ge 50 ] || fail "only $num models"
echo "$num models, each with its count three times"
