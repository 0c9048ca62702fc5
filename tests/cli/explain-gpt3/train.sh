#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The arguments of Megatron-LM's example for GPT-3 with 175 billion parameters, in an order of our own.
HOSTS=2; PER_HOST=8
SAVE_TO=$1
BOARD=$2
VOCABULARY=$3
MERGES=$4
CORPUS=$5

launch=(
    --nproc_per_node $PER_HOST --nnodes ${HOSTS} # sixteen ranks
    --master_addr localhost --master_port 29500
)
model="--num-layers 96 --hidden-size 12288 --num-attention-heads 96"
model+=" --seq-length 2048 --max-position-embeddings 2048"

training=(
    --micro-batch-size 1 --global-batch-size 1536
    --step-batch-size-schedule "0:16 2.4B:320 4.8B:624 7.2B:928 9.6B:1232 12B:1536"
    --train-iters 500000 --lr-decay-iters 430000 --lr-warmup-fraction .001
    --lr 6.0e-5 --min-lr 6.0e-6 --lr-decay-style cosine
    --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.95 --clip-grad 1.0
    --init-method-std 0.006
    --fp16
    --attention-backend auto  # don't care
)
grid=(--tensor-model-parallel-size 8
	--pipeline-model-parallel-size 16)
files=(--data-path $CORPUS --vocab-file "$VOCABULARY" --merge-file "$MERGES" --split 949,50,1
       --save "$SAVE_TO" --load "$SAVE_TO" --save-interval 10000
       --tensorboard-dir $BOARD)
torchrun ${launch[@]} pretrain_gpt.py $model ${training[@]} \
    ${grid[@]} "${files[@]}" \
    --log-interval 100 --eval-interval 1000 --eval-iters 10 2>&1 | tee log.txt
