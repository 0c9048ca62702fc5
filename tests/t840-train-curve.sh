#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 50 steps of make train's model from trine's own initial weights follow PyTorch's losses on the same batches
# within 1e-3 (golden/train_curve.json, made by oracle/train_curve.py). The golden losses are pinned to
# checksums of the initial weights and of the tokens: who changes make train's model, or how initial values
# or tokenizers are made, makes them anew.
set -euo pipefail
: "${SOURCE:=$(cd "$(dirname "$0")/.." && pwd)}" "${BUILD:=$SOURCE/build}"
export SOURCE TRINE=$BUILD/trine
golden=$SOURCE/tests/golden/train_curve.json
. "$SOURCE/tests/t84-curve.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

curve_train "$folder"
curve_initial "$folder"
curve_sums | while read -r what sum; do
    grep -qF "\"$what\": \"$sum\"" "$golden" || {
        echo "other $what than those of '$golden' (now $sum): make it anew with oracle/train_curve.py"
        exit 1
    }
done

awk -v steps=$CURVE_STEPS '
    FNR == NR {
        if (match($0, /"lm_loss": [^,]*/))
            ours[++num] = substr($0, RSTART + 11, RLENGTH - 11)
        next
    }
    /"losses"/ { inside = 1; next }
    /\]/ { inside = 0 }
    inside {
        difference = ours[++compared] - ($1 + 0)
        if (difference < 0) difference = -difference
        if (!(difference <= worst)) worst = difference
    }
    END {
        printf "%d steps, loss %.5f to %.5f, largest difference from PyTorch %.2e\n",
               num, ours[1], ours[num], worst
        exit !(num == steps && compared == steps && worst <= 1e-3)
    }' "$CURVE_RUN/log.json" "$golden"
