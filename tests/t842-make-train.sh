#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make train's script on a small model: stopped by a signal it exits 3 with a checkpoint, called again it goes
# on and ends with the very weights of a run that was not stopped; other settings never take up its
# checkpoint; wrong requests are refused with exit 2.
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=$SOURCE/build}"
export TRINE=$BUILD/trine TRAIN_ITERS=600 TRAIN_VOCAB=300
export TRAIN_FLAGS="--num-layers 1 --hidden-size 32 --num-attention-heads 2 --ffn-hidden-size 32"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TEXT=$folder/corpus.txt
sh "$SOURCE/tests/t84-corpus.sh" 20000 >"$TEXT"

fail() {
    echo "$1"
    cat "$folder"/*.out
    exit 1
}

call() { # NAME EXPECTED-EXIT-CODE
    local code=0
    TRAIN_DIR=$folder/$1 bash "$SOURCE/scripts/train.sh" >"$folder/$1.out" 2>&1 || code=$?
    [ $code = "$2" ] || fail "'$1' ends with exit code $code, not $2"
}

# Stopped once it has made some steps.
TRAIN_DIR=$folder/stopped bash "$SOURCE/scripts/train.sh" >"$folder/first.out" 2>&1 &
pid=$!
until [ "$(cat "$folder"/stopped/*/log.json 2>/dev/null | wc -l)" -gt 5 ]; do
    kill -0 $pid 2>/dev/null || break
    sleep 0.05
done
kill -TERM $pid 2>/dev/null || fail "the first run ended by itself"
code=0
wait $pid || code=$?
[ $code = 3 ] || fail "the stopped run ends with exit code $code, not 3"
grep -q '^stopped ' "$folder/first.out" || fail "the stopped run does not say so"

call stopped 0
grep -q '^resuming ' "$folder/stopped.out" || fail "the second call does not resume"
call whole 0
cmp "$folder"/stopped/*/model/model.safetensors "$folder"/whole/*/model/model.safetensors
grep -Eq '^held out +[0-9.]+ bits per byte \(xz -9e: [0-9.]+\)' "$folder/whole.out" || fail "no result"

call stopped 0 # done already: evaluates again, and trains nothing
[ "$(cat "$folder"/stopped/*/log.json | wc -l)" = 600 ] || fail "a finished run was trained further"
TRAIN_ITERS=4 call stopped 0
grep -q '^resuming ' "$folder/stopped.out" && fail "other settings took up the checkpoint"

TRAIN_ITERS=ten call wrong 2
TRAIN_ITERS=0 call wrong 2
TEXT=$folder/nothing call wrong 2
printf 'one line only' >"$folder/line.txt"
TEXT=$folder/line.txt call wrong 2
TRAIN_FLAGS='--nmu-layers 3' call wrong 2
echo "stopped, resumed and whole runs agree"
