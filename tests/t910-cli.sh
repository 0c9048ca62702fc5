#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one case of tests/cli: its script 'cmd' in an empty folder, and compares what it prints and its
# exit code with the files stdout, stderr and exit beside it (a missing one: nothing printed, exit 0).
# The script sees the program as $TRINE and as the function trine, the maker of inputs as the function
# make, the functions of t9-common.sh, and golden files below $GOLDEN. UPDATE=1 writes the expected files.
# Usage: t910-cli.sh CASE
set -uo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=$SOURCE/build}"
: "${TRINE:=$BUILD/trine}" "${MAKE_INPUTS:=$BUILD/tests/t9-make}"
case=$SOURCE/tests/cli/$1
[ -f "$case/cmd" ] || { echo "no case '$1' in tests/cli"; exit 1; }
work=$(mktemp -d)
trap 'chmod -R u+rwX "$work" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/run" || exit 1

# What differs from machine to machine and run to run.
normalise() {
    sed -E -e "s|$work/run|.|g" -e "s|$work|WORK|g" -e "s|$SOURCE|SOURCE|g" \
        -e 's/^machine limit [0-9.]+ GFLOP\/s (.*) x [0-9]+ threads?\)/machine limit N GFLOP\/s \1 x N threads)/' \
        -e 's/ \| +[0-9]+ tokens\/s \| .*$/ | .../' \
        -e 's/loss +(-?[0-9]+\.[0-9]+|-?nan|inf) \| grad norm +(-?[0-9]+\.[0-9]+|-?nan|inf)/loss N | grad norm N/' \
        -e 's/^((loss|bits per token|perplexity) [0-9]+\.[0-9]{3})[0-9]+$/\1/' \
        -e "s/(state.json' is )[0-9]+( bytes, it was saved with )[0-9]+/\1N\2N/" \
        -e 's/-nan/nan/g' "$1"
}

export TRINE MAKE_INPUTS GOLDEN=$SOURCE/tests/golden TESTS=$SOURCE/tests
(cd "$work/run" && exec bash -c '. "$TESTS/t9-common.sh"; . "$1"' cmd "$case/cmd" \
    >"$work/stdout.raw" 2>"$work/stderr.raw" </dev/null)
code=$?
if [ "$code" = 77 ]; then
    cat "$work/stdout.raw"
    exit 77
fi
normalise "$work/stdout.raw" >"$work/stdout"
normalise "$work/stderr.raw" >"$work/stderr"
echo "$code" >"$work/exit"

if [ "${UPDATE:-}" = 1 ]; then
    for part in stdout stderr exit; do
        rm -f "$case/$part"
        [ "$part" = exit ] && [ "$code" = 0 ] && continue
        [ -s "$work/$part" ] && cp "$work/$part" "$case/$part"
    done
    exit 0
fi
failures=0
for part in stdout stderr exit; do
    expected=$case/$part
    if [ ! -f "$expected" ]; then
        expected=$work/expected
        : >"$expected"
        [ "$part" = exit ] && echo 0 >"$expected"
    fi
    if ! diff -u "$expected" "$work/$part" >"$work/diff"; then
        echo "case '$1': another $part"
        cat "$work/diff"
        failures=1
    fi
done
exit "$failures"
