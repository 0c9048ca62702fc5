#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Directories that trine saved and transformers opened (golden/saved, made by oracle/saved_opens.py): trine
# computes the logits, token losses and gradients that transformers computed from them, and what it saves
# today are the very bytes that were opened.
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=$SOURCE/build}"
trine=$BUILD/trine
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for golden in "$SOURCE"/tests/golden/saved/*; do
    family=$(basename "$golden")
    "$trine" compare "$golden" >"$folder/compare.log" || {
        cat "$folder/compare.log"
        exit 1
    }
    "$trine" compare "$golden" --ranks 2 --tensor-model-parallel-size 2 >"$folder/compare.log" || {
        cat "$folder/compare.log"
        exit 1
    }
    sh "$SOURCE/tests/t84-corpus.sh" 2000 >"$folder/text.txt"
    "$trine" data encode --input "$folder/text.txt" --output-prefix "$folder/text" \
        --tokenizer "$golden/model/tokenizer.json" >"$folder/encode.log"
    "$trine" train --shape-from "$golden/model" --load "$golden/model" --finetune --lr 0 \
        --train-iters 1 --seq-length 24 --train-data-path "$folder/text" --save "$folder/$family" \
        --tokenizer "$golden/model/tokenizer.json" >"$folder/train.log"
    for file in "$golden"/model/*; do
        cmp "$file" "$folder/$family/iter_0000001/$(basename "$file")"
    done
    echo "$family: $(sed -n 's/^logits *\([^ ]*\).*/logits differ by \1/p' "$folder/compare.log"), same bytes"
done
