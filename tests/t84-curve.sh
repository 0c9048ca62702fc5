# SPDX-License-Identifier: Apache-2.0
# Read by t840-train-curve.sh and by oracle/train_curve.py, so that both see the same run: make train's model
# on an invented text. Needs SOURCE (the source folder) and TRINE (the program).
CURVE_STEPS=50 CURVE_BYTES=600000

# 'make train' for CURVE_STEPS steps on the text in $1/corpus.txt; sets CURVE_RUN, the run's folder.
curve_train() { # FOLDER
    bash "$SOURCE/tests/t84-corpus.sh" $CURVE_BYTES >"$1/corpus.txt"
    TEXT=$1/corpus.txt TRAIN_ITERS=$CURVE_STEPS TRAIN_DIR=$1/runs TRAIN_FLAGS= \
        bash "$SOURCE/scripts/train.sh"
    CURVE_RUN=$(echo "$1"/runs/corpus-*)
}

# The same run's initial values as a Hugging Face directory: one step with a learning rate of 0.
curve_initial() { # FOLDER
    "$TRINE" train "$CURVE_RUN/run.yaml" --lr 0 --train-iters 1 --log-json "$1/initial.json" \
        --save "$1/initial" --load "$1/initial" >"$1/initial.log"
    CURVE_INITIAL=$1/initial/iter_0000001
}

# Checksums of what the losses hang on: initial values and tokens.
curve_sums() {
    sha256sum <"$CURVE_INITIAL/model.safetensors" | sed 's/ .*//; s/^/weights /'
    sha256sum <"$CURVE_RUN/train.bin" | sed 's/ .*//; s/^/tokens /'
}
