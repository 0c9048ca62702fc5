#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Test of the test t912-bad.sh: another sentence, another exit code and too few inputs fail it.
set -uo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect CODE LEAST EXIT SENTENCE: what t912-bad.sh says of one record.
expect() {
    printf '== a layer too many\n$ trine plan run.yaml --num-layers 0\n%s\n%s\n' "$3" "$4" >"$work/one.txt"
    bash "$SOURCE/tests/t912-bad.sh" "$work" "$2" >"$work/out"
    local code=$?
    [ "$code" = "$1" ] && return
    echo "exit $code, expected $1, for a record that says $3 and: $4"
    cat "$work/out"
    failures=1
}

message=$("${TRINE:-$BUILD/trine}" plan --num-layers 0 2>&1 | head -1)
echo "the sentence: $message"
expect 0 1 'exit 2' "$message"
expect 1 2 'exit 2' "$message"
expect 1 1 'exit 1' "$message"
expect 1 1 'exit 2' "$message."
expect 1 1 'exit 2' "${message/num/nun}"
expect 1 1 'exit 2' "$message"$'\n'"error: another"
exit "$failures"
