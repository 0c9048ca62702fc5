#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# make train: real text in, a GPT, a Hugging Face directory and a sample out.
#
# Takes a text, holds out its last 5 % (cut at a line end), trains a byte-level BPE tokenizer on the
# rest, encodes both, trains a Llama-shaped model on 2 ranks inside one process, evaluates every
# token of the held-out text, and prints its bits per byte beside what 'xz -9e' needs for the same
# bytes. Interrupt it and call it again, and it goes on where it was.
#
# Environment:
#   TEXT=FILE         UTF-8 text; default: the King James text of Debian's package bible-kjv
#   TRAIN_ITERS=N     steps instead of those that take about 200 s on 2 cores; 20 shows that all works
#   TRAIN_FLAGS=...   further flags of 'trine train', laid over the run file: TRAIN_FLAGS='--lr 2e-3'
#   TRAIN_VOCAB=N     vocabulary of the tokenizer
#   TRAIN_DIR=DIR     folder of the runs; default out/train in the project
#   TRINE=FILE        the program; default build/trine
#
# Each text and each choice of settings has a folder of its own below TRAIN_DIR, named by the text,
# the steps and a checksum of all of it. A folder holds train.txt and heldout.txt, tokenizer.json,
# token files, run.yaml, train.log (the lines of 'trine train'), log.json (one object per step),
# checkpoints/, and model, which leads to the newest Hugging Face directory.
#
# Exit codes are those of trine: 0 done, 1 failed, 2 wrong request, 3 stopped on request after saving.
set -euo pipefail
shopt -s inherit_errexit
[ -z "${TEXT:-}" ] || TEXT=$(realpath -m -- "$TEXT")
cd "$(dirname "$0")/.."
export LC_ALL=C

ITERS=${TRAIN_ITERS:-2000}
VOCAB=${TRAIN_VOCAB:-2048}
FLAGS=${TRAIN_FLAGS:-}
BASE=${TRAIN_DIR:-out/train}
TRINE=${TRINE:-build/trine}
EOD='<|endoftext|>'

fail() { # EXIT-CODE MESSAGE
    echo "error: $2" >&2
    exit "$1"
}

# The run file; what it says decides the run's folder.
run_file() { # FOLDER
    cat <<YAML
# Written by scripts/train.sh. 2.2 M parameters; tied, with strong weight decay: the text is small, and what is
# held out differs from the rest.
shape:
  num_layers: 4
  hidden_size: 192
  num_attention_heads: 3
  ffn_hidden_size: 512
  vocab_size: $VOCAB
  seq_length: 256
  position_embedding_type: rope
  normalization: RMSNorm
  activation_func: silu
  gated_linear_unit: true
  add_bias_linear: false
  init_method_std: 0.06
  hidden_dropout: 0
  attention_dropout: 0

placement:
  use_distributed_optimizer: true

train:
  ranks: 2
  micro_batch_size: 2
  global_batch_size: 4
  train_iters: $ITERS
  seed: 1234
  log_interval: $(((ITERS + 9) / 10))
  log_json: $1/log.json
  lr: 2.0e-3
  lr_decay_style: cosine
  lr_warmup_fraction: 0.05
  weight_decay: 1.0
  adam_beta2: 0.98

data:
  train_data_path: [$1/train]
  tokenizer: $1/tokenizer.json

checkpoint:
  eos_token_id: 0
  save: $1/checkpoints
  load: $1/checkpoints
  save_interval: $(((ITERS + 3) / 4))
YAML
}

# The text, as a file of its own.
fetch_text() { # FILE
    if [ -n "${TEXT:-}" ]; then
        [ -f "$TEXT" ] || fail 2 "TEXT='$TEXT' is no file"
        [ -r "$TEXT" ] || fail 2 "TEXT='$TEXT' cannot be read"
        cp -- "$TEXT" "$1"
    else
        command -v bible >/dev/null 2>&1 ||
            fail 1 "the program 'bible' is missing; install the package bible-kjv, or give TEXT=FILE"
        bible -f gen1:1-rev22:21 >"$1" </dev/null ||
            fail 1 "'bible -f gen1:1-rev22:21' failed; give TEXT=FILE"
    fi
    [ -s "$1" ] || fail 2 "the text ${TEXT:+'$TEXT' }is empty"
}

bytes_of() { wc -c <"$1" | tr -d ' '; }

# train.txt and heldout.txt: the cut is the last line end in the first 95 %.
cut_text() { # TEXT FOLDER
    local total
    total=$(bytes_of "$1")
    { head -c $((total / 20 * 19 + total % 20 * 19 / 20)) "$1" && printf x; } | sed '$d' >"$2/train.txt"
    [ -s "$2/train.txt" ] ||
        fail 2 "the text has no line end in its first 95 %, so nothing can be held out"
    tail -c +$(($(bytes_of "$2/train.txt") + 1)) "$1" >"$2/heldout.txt"
}

prepare() { # FOLDER
    "$TRINE" tokenizer train --input "$1/train.txt" --vocab-size "$VOCAB" --special-tokens "$EOD" \
        --output "$1/tokenizer.json" >"$1/prepare.log"
    "$TRINE" data encode --input "$1/train.txt" --output-prefix "$1/train" \
        --tokenizer "$1/tokenizer.json" --append-eod >>"$1/prepare.log"
    # An end token in front, so that the first token of the held-out text is predicted too.
    { printf '%s' "$EOD" && cat "$1/heldout.txt"; } >"$1/heldout-eod.txt"
    "$TRINE" data encode --input "$1/heldout-eod.txt" --output-prefix "$1/heldout" \
        --tokenizer "$1/tokenizer.json" >>"$1/prepare.log"
    rm "$1/heldout-eod.txt"
    run_file "$1" >"$1/run.yaml.part"
    mv "$1/run.yaml.part" "$1/run.yaml"
}

# Runs 'trine train' and returns its exit code. On a terminal the progress bar is shown and the lines go
# to the log alone. An interrupt reaches trine from the terminal; a SIGTERM is passed on.
train() { # FOLDER
    local code=0 pid
    trap ':' INT
    # shellcheck disable=SC2086 # TRAIN_FLAGS are words
    if [ -t 2 ]; then
        "$TRINE" train "$1/run.yaml" $FLAGS >>"$1/train.log" &
        pid=$!
    else
        "$TRINE" train "$1/run.yaml" $FLAGS > >(trap '' INT TERM && tee -ai "$1/train.log") &
        pid=$!
    fi
    trap 'kill -TERM $pid 2>/dev/null' TERM
    wait $pid || code=$?
    while kill -0 $pid 2>/dev/null; do
        code=0
        wait $pid || code=$?
    done
    trap - INT TERM
    return $code
}

# Bits per byte of the held-out text from a complete evaluation.
evaluate() { # FOLDER
    local tokens bytes
    # shellcheck disable=SC2086 # TRAIN_FLAGS are words
    "$TRINE" evaluate "$1/run.yaml" $FLAGS --load "$1/model" --tokens "$1/heldout" >"$1/evaluate.log"
    tokens=$("$TRINE" data inspect "$1/heldout" | awk '$1 == "tokens" { print $2 - 1 }')
    bytes=$(bytes_of "$1/heldout.txt")
    awk -v want="$tokens" -v bytes="$bytes" '
        $1 == "tokens" { tokens = $2 }
        $1 == "loss" { loss = $2 }
        END {
            if (tokens != want) exit 1
            printf "%.4f", loss * tokens / log(2) / bytes
        }' "$1/evaluate.log" ||
        fail 1 "the evaluation covered other tokens than the $tokens of '$1/heldout.txt'"
}

case $ITERS$VOCAB in
*[!0-9]*) fail 2 "TRAIN_ITERS='$ITERS' and TRAIN_VOCAB='$VOCAB' are to be whole numbers" ;;
esac
[ "$ITERS" -gt 0 ] || fail 2 "TRAIN_ITERS='$ITERS' is to be above 0"
[ -x "$TRINE" ] || fail 1 "there is no program '$TRINE'; run 'make' first, or set TRINE"

mkdir -p "$BASE"
text=$(mktemp "$BASE/text.XXXXXX")
trap 'rm -f "$text"' EXIT
fetch_text "$text"
name=$(basename "${TEXT:-kjv}")
key=$({ run_file DIR && echo "$FLAGS" && cat "$text"; } | cksum | awk '{ printf "%08x", $1 }')
dir=$BASE/${name%.*}-$ITERS-$key
mkdir -p "$dir"

echo "run        $dir"
if [ ! -f "$dir/run.yaml" ]; then
    cut_text "$text" "$dir"
    prepare "$dir"
fi
rm "$text"
echo "text       $(bytes_of "$dir/train.txt") bytes to learn from, $(bytes_of "$dir/heldout.txt") held out"
[ ! -f "$dir/checkpoints/latest" ] || echo "resuming   from $(cat "$dir/checkpoints/latest")"

code=0 started=$SECONDS
train "$dir" || code=$?
if [ $code = 3 ]; then
    echo "stopped    saved $(cat "$dir/checkpoints/latest"); call again to go on from there"
fi
[ $code = 0 ] || exit $code
echo "trained    $ITERS steps ($((SECONDS - started)) s in this call)"
ln -sfn "checkpoints/$(cat "$dir/checkpoints/latest")" "$dir/model"

bits=$(evaluate "$dir")
xz_bits=$(awk -v xz="$(xz -9e -c "$dir/heldout.txt" | wc -c)" -v bytes="$(bytes_of "$dir/heldout.txt")" \
    'BEGIN { printf "%.4f", 8 * xz / bytes }')
echo "held out   $bits bits per byte (xz -9e: $xz_bits)"
echo "model      $dir/model (opens in transformers)"
echo "sample"
"$TRINE" generate --load "$dir/model" --temperature 0.8 --max-new-tokens 160 \
    --prompt "$(awk 'NF { print $1, $2, $3, $4; exit }' "$dir/heldout.txt")"
