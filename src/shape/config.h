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
enum tri_position_embedding {
    TRI_POSITION_LEARNED,
    TRI_POSITION_ROPE,
    TRI_POSITION_YARN,
    TRI_POSITION_MROPE,
    TRI_POSITION_NONE
};
enum tri_softmax_type { TRI_SOFTMAX_VANILLA, TRI_SOFTMAX_OFF_BY_ONE, TRI_SOFTMAX_LEARNABLE };
enum tri_activation_func {
    TRI_ACT_GELU,
    TRI_ACT_GELU_TANH,
    TRI_ACT_SILU,
    TRI_ACT_RELU,
    TRI_ACT_QUICK_GELU,
    TRI_ACT_SQUARED_RELU
};
/* Where a sub-layer's norms stand: before it, behind it (before the residual sum), or both. */
enum tri_norm_position { TRI_NORM_PRE, TRI_NORM_POST, TRI_NORM_SANDWICH };
/* Entries of layer_query_groups and layer_ffn_sizes that are no size. */
enum { TRI_LAYER_NO_OP = 0, TRI_LAYER_LINEAR = -1 };

/* What attention does besides its sizes; its rows are in shape/options_attention.c, what layers and
   frequencies make of them in shape/attention.h. */
struct tri_attention_config {
    bool qk_layernorm;                            /* norms of each head of q and k */
    bool qk_l2_norm;                              /* the same without weights */
    bool qk_norm_across_heads;                    /* one norm of all heads of q, one of k */
    bool attention_output_gate;                   /* of each channel of each head, made with q */
    double softmax_scale;                         /* unset: 1 / sqrt(kv_channels) */
    int64_t softmax_type;                         /* enum tri_softmax_type */
    double attn_logit_softcapping;                /* unset: none */
    struct tri_option_list window_size;           /* left and right; empty: none */
    struct tri_option_list window_attn_skip_freq; /* one number, or one for each layer */
    struct tri_option_list no_rope_freq;          /* likewise */
    double rotary_seq_len_interpolation_factor;   /* unset: none */
    double rope_dynamic_factor;                   /* unset: none */
    bool use_rope_scaling;                        /* that of Llama 3 */
    double rope_scaling_factor, rope_low_freq_factor, rope_high_freq_factor;
    int64_t original_max_position_embeddings; /* unset: Megatron-LM's for the kind of scaling */
    double rotary_scaling_factor;             /* from here on: yarn */
    double beta_fast, beta_slow;
    double mscale, mscale_all_dim;
    double yarn_attention_factor; /* unset: from the two above */
    bool yarn_correction_range_round_to_int;
    struct tri_option_list mrope_section; /* pairs that turn by time, height and width */
};

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
    double activation_func_clamp_value; /* of both halves of a gated unit; unset: none */
    double glu_linear_offset;           /* of what the gate is multiplied with */
    bool add_bias_linear; /* every linear of a layer; when resolved, all of the next three */
    bool add_qkv_bias;    /* q, k, v even when add_bias_linear is off */
    bool add_proj_bias;   /* the attention's output projection, likewise */
    bool add_mlp_bias;    /* both linears of the MLP, likewise */
    bool layernorm_zero_centered_gamma; /* norms multiply by 1 + weight */
    int64_t norm_position;              /* enum tri_norm_position */
    bool use_parallel_residual;         /* attention and MLP both read the layer's input */
    double residual_multiplier;         /* of a sub-layer's output before the residual sum */
    /* Per layer: query groups, feed-forward width, or one of TRI_LAYER_x; empty: all alike. */
    struct tri_option_list layer_query_groups, layer_ffn_sizes;
    int64_t num_experts; /* unset: none */
    struct tri_attention_config attention;
    double hidden_dropout;
    double attention_dropout;
    double init_method_std;
    double embedding_init_method_std; /* unset: init_method_std */
    bool init_method_xavier_uniform;
    bool use_mup;
    int64_t mup_base_hidden_size; /* unset: hidden_size */
    double mup_embedding_mult;
    double mup_output_mult;    /* 1: one over the width multiplier */
    int64_t mup_base_head_dim; /* unset: 1 */
    double mup_attn_scale_power;
};

struct tri_gpt_config {
    struct tri_transformer_config transformer;
    int64_t vocab_size; /* real size; padding is placement's and never leaves the process */
    int64_t seq_length;
    int64_t max_position_embeddings;
    int64_t position_embedding_type; /* enum tri_position_embedding */
    double rotary_base;
    double rotary_base_local; /* of layers with a window, unscaled; unset: as the others */
    double rotary_percent;
    bool rotary_interleaved;
    bool untie_embeddings_and_output_weights;
    double embedding_multiplier;
    bool multiply_embedding_by_sqrt_hidden; /* as well */
    double logits_scaling;                  /* logits are divided by it */
    double final_logit_softcapping;         /* unset: none */
    int64_t make_vocab_size_divisible_by;
    int64_t bos_token_id, eos_token_id; /* unset: none; kept for config.json */
    /* Row of spec/registry.c: "gpt2", "llama"; decides the files' names. "": the first that fits. */
    char family[TRI_OPTION_TEXT];
};

/* Smallest multiple of divisible_by * tp that is >= vocab_size; 0 when one of them is below 1 or the
   result does not fit. */
int64_t tri_vocab_padded(int64_t vocab_size, int64_t divisible_by, int64_t tp);
