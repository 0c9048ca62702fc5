/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Question 1: what is the model. gpt_config holds a transformer_config; every field has one home, and
 * a name resolves to whichever level owns it. Names and defaults are Megatron-LM's. A value that does
 * not change the model's function is not here. shape/options.h has the rows; shape/check.h derives the
 * unset fields (resolve) and reports every cross-field problem; shape/hf_config.h reads and writes
 * config.json.
 */
#pragma once

#include "base/options.h"

enum tri_normalization { TRI_NORM_LAYERNORM, TRI_NORM_RMSNORM };
enum tri_position_embedding { TRI_POSITION_LEARNED, TRI_POSITION_ROPE, TRI_POSITION_NONE };
enum tri_activation_func { TRI_ACT_GELU, TRI_ACT_GELU_TANH, TRI_ACT_SILU, TRI_ACT_RELU };

struct tri_transformer_config {
    int64_t num_layers;
    int64_t hidden_size;
    int64_t num_attention_heads;
    int64_t num_query_groups; /* unset: num_attention_heads */
    int64_t kv_channels;      /* unset: hidden_size / num_attention_heads */
    int64_t ffn_hidden_size;  /* unset: 4 * hidden_size; gated: 64 * floor(8 * hidden / 3 / 64) */
    int64_t normalization;    /* enum tri_normalization */
    double layernorm_epsilon;
    int64_t activation_func; /* enum tri_activation_func */
    bool gated_linear_unit;
    bool add_bias_linear; /* every linear of a layer */
    bool add_qkv_bias;    /* q, k, v even when add_bias_linear is off */
    double hidden_dropout;
    double attention_dropout;
    double init_method_std;
};

struct tri_gpt_config {
    struct tri_transformer_config transformer;
    int64_t vocab_size; /* real size; padding is placement's and never leaves the process */
    int64_t seq_length;
    int64_t max_position_embeddings;
    int64_t position_embedding_type; /* enum tri_position_embedding */
    double rotary_base;
    double rotary_percent;
    bool rotary_interleaved;
    bool untie_embeddings_and_output_weights;
    int64_t make_vocab_size_divisible_by;
    int64_t bos_token_id, eos_token_id; /* unset: none; kept for config.json */
    /* Row of spec/registry.c: "gpt2", "llama"; decides the files' names. "": the first that fits. */
    char family[TRI_OPTION_TEXT];
};

/* Smallest multiple of divisible_by * tp that is >= vocab_size; 0 when one of them is below 1 or the
   result does not fit. */
int64_t tri_vocab_padded(int64_t vocab_size, int64_t divisible_by, int64_t tp);
