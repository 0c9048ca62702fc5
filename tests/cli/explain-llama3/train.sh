#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The arguments of Megatron-LM's example for Llama 3 with 8 billion parameters and fp8, in an order of our own.
set -e
OUT=${1:-"out/llama3"}
BOARD=${2:-out/board}
TOKENIZER=${3:-"MOCK"}
CORPUS=${4:-"MOCK"}
mkdir -p "$(dirname "$OUT")" && cd "$(pwd)"
RANKS=8
HOSTS=1
WORLD=$(($RANKS*$HOSTS))
PRECISION="fp8"
CACHE="${PWD}/cache"
SCRIPT="megatron/pretrain_gpt.py"
WIDTH=4096
LENGTH=$((2 * WIDTH))

ARGS=(
    --use-mcore-models --num-layers 32 --hidden-size $WIDTH --ffn-hidden-size $((3*WIDTH+2048))
    --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128
    --seq-length $LENGTH --max-position-embeddings ${LENGTH}
    --position-embedding-type rope --rotary-base 1000000 --rotary-percent 1.0
    --attention-dropout 0.0 --hidden-dropout 0.0 --swiglu --normalization RMSNorm
    --init-method-std 0.0134 --attention-backend fused --apply-layernorm-1p
    --untie-embeddings-and-output-weights --disable-bias-linear
)
ARGS+=(--micro-batch-size 1 --global-batch-size 128
    --train-samples 1953125000 --lr-decay-samples 1949218748 --lr-warmup-samples 3906252
    --lr 0.00015 --min-lr 0.00001
    --decoupled-lr 5.0e-4 --decoupled-min-lr 4.5e-5 # of embedding and output layer
    --lr-decay-style cosine --clip-grad 1.0 --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.95
    --bf16 --grad-reduce-in-bf16 --cross-entropy-loss-fusion --calculate-per-token-loss
    --manual-gc --empty-unused-memory-level 1 --exit-duration-in-mins 235)
if [[ "$PRECISION" == "fp8" ]]; then
    ARGS+=("--fp8-format hybrid" "--fp8-amax-history-len 1024" "--fp8-amax-compute-algo max"
           "--fp8-param-gather")
fi
ARGS+=(--tensor-model-parallel-size 1 --context-parallel-size 1
    # --pipeline-model-parallel-size 4: one stage is enough
    --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather)
DATA=()
if [[ "$TOKENIZER" == "MOCK" ]] || [[ "$CORPUS" == "MOCK" ]] || [[ -z "$TOKENIZER" ]]; then
    DATA+=("--mock-data" "--tokenizer-type NullTokenizer" "--vocab-size 128256"
           "--data-cache-path ${CACHE}" "--tiktoken-pattern v2" "--split '99,1,0'"
           "--no-create-attention-mask-in-dataloader" "--no-mmap-bin-files" "--num-workers 1")
else
    DATA+=("--data-path $CORPUS" "--tokenizer-type HuggingFaceTokenizer" "--no-such-argument")
fi
REPORT=(--log-interval 1 --eval-iters 32 --eval-interval 100 --save-interval 1000
    --log-throughput --profile --profile-step-start 4 --profile-step-end 6
    --ckpt-format torch_dist --distributed-timeout-minutes 60
    --save "$OUT" --load "$OUT" --tensorboard-dir "$BOARD")
if [ ! -f "$SCRIPT" ]; then
    echo "no $SCRIPT here"
    exit 1
fi
torchrun --nproc_per_node $RANKS --nnodes $HOSTS --node_rank ${NODE_RANK:-0} "$SCRIPT" \
    ${ARGS[@]} \
    ${DATA[@]} \
    ${REPORT[@]}
