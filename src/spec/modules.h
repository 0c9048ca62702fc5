/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameter structs of the modules: what spec nodes carry, spec/x.c sizes and nn/x.c runs. Sizes
 * are global (uncut); the split turns them into local ones. Tensors between modules are [S, B, C] with
 * S = s / sp outside and s inside tensor-parallel regions.
 *
 *   unit embedding:  embedding
 *   unit layer:      transformer_layer { (input_layernorm,) self_attention { linear_qkv, (q_layernorm,
 *                    k_layernorm,) core_attention, linear_proj }, (post_self_attn_layernorm,)
 *                    self_attn_bda, (pre_mlp_layernorm,) mlp { linear_fc1, activation, linear_fc2 },
 *                    (post_mlp_layernorm,) mlp_bda }, or parallel_layer with the same; what stands in
 *                    brackets may be missing, and so may either half
 *   unit head:       lm_head { final_layernorm, output_layer, cross_entropy }
 *
 * Logical parameter names are unit path, slots and name joined by dots, except that the head's parts
 * are "decoder.final_layernorm" and "output_layer" as in Megatron-LM, and the embedding's tables are
 * "embedding.word_embeddings.weight" and "embedding.position_embeddings.weight".
 */
#pragma once

#include "spec/module_spec.h"
#include "spec/rope.h"

/* Initial values of a matrix: normal, or uniform between -b and b with b = sqrt(6 / (in + out)). */
struct tri_linear_init {
    double std;
    bool xavier;
};

/* module "embedding": [b, s] ids -> [s/sp, b, h]; word lookup (vocabulary cut by tp, summed over tp),
   plus learned positions, plus dropout. Under sequence parallelism the sum is a reduce-scatter and
   positions are added to the local part after it. */
struct tri_embedding_params {
    int64_t vocab_size, hidden_size;
    int64_t divisible_by;  /* vocabulary padding */
    int64_t num_positions; /* 0: no learned table */
    double factor;         /* of the sum, before dropout */
    double dropout;
    struct tri_linear_init init;
};

/* modules "layernorm", "rmsnorm", and "l2norm", which is an rmsnorm without weight: [S, B, C] -> [S, B, C] */
struct tri_norm_params {
    int64_t size;
    double eps;
    bool bias;          /* layernorm */
    bool zero_centered; /* multiplies by 1 + weight, which starts at 0 */
    int64_t heads; /* > 0: each of so many heads by itself, cut over tp: [s, B heads / tp, C] */
};

/* How a linear's weight rows (column_linear) are joined from parts that tp cuts one by one. */
struct tri_linear_part {
    const char *name; /* "q", "k", "v", "gate", "up", "out" */
    int64_t rows;     /* global output rows of this part */
    int64_t unit;     /* rows that stay together (head width), >= 1 */
};

/* module "column_linear": x [S, B, in] -> y [s, B, out/tp]; weight [out/tp, in] row blocks of the parts in
   order, each cut by tp. Sequence parallel: all-gather of x along s before, reduce-scatter of dx after;
   else dx is all-reduced over tp. */
struct tri_column_linear_params {
    int64_t in, out;
    bool bias;
    struct tri_linear_init init;
    int num_parts;
    struct tri_linear_part parts[TRI_MAX_PARTS];
    bool vocabulary; /* rows are vocabulary entries: out is padded to divisible_by * tp */
    int64_t divisible_by;
    bool tied; /* the weight is embedding.word_embeddings.weight */
};

/* module "row_linear": x [s, B, in/tp] -> y [S, B, out]; weight [out, in/tp]; all-reduce over tp (sequence
   parallel: reduce-scatter along s) after the product, then the bias. */
struct tri_row_linear_params {
    int64_t in, out;
    bool bias;
    struct tri_linear_init init;
};

/* module "whole_linear": x [S, B, in] -> y [S, B, out]; every tp rank holds weight [out, in] and works on what
   it has outside tensor-parallel regions. Takes the place of self_attention or mlp. */
struct tri_whole_linear_params {
    int64_t in, out;
    bool bias;
    struct tri_linear_init init;
};

/* module "dot_product_attention": qkv [s, B, (q heads + 2 kv heads)/tp * head width] (q, k, v side by side,
   rotated; gates may lie between q and k, which it leaves alone) -> [s, B, q heads/tp * head width] */
struct tri_attention_params {
    int64_t num_heads, num_groups, head_width;
    double scale;
    double softcap; /* scores s become softcap tanh(s / softcap); 0: they stay */
    int64_t window; /* keys that a query sees, its own position among them; 0: all before it */
    int sink;       /* enum tri_sink_kind */
    double dropout;
    int64_t layer;   /* 0-based, for dropout keys */
    double init_std; /* of learned sinks */
};

/* What stands in a softmax's denominator besides its scores: a key without value, whose score is 0 or a
   parameter of the head ("softmax_offset"). */
enum tri_sink_kind { TRI_SINK_NONE, TRI_SINK_ZERO, TRI_SINK_LEARNED };

/* module "self_attention": linear_qkv, then norms of each head of q and k ("q_layernorm", "k_layernorm";
   params.heads of them is set), then both turn by their positions in place, then core_attention, the gate of
   its output where there is one (linear_qkv's part "gate", a head for each of q), and linear_proj */
struct tri_self_attention_params {
    int64_t hidden_size, num_heads, num_groups, head_width;
    bool head_norms;
    bool output_gate;
    struct tri_rope_spec rope;
    int64_t max_positions; /* positions beyond are refused */
};

/* The numbers of enum tri_activation in kernels/kernels.h, which lies right of here: the plain kinds, in
   the order of enum tri_activation_func, then the gated ones in the same order. */
enum tri_act_kind {
    TRI_ACT_KIND_GELU,
    TRI_ACT_KIND_GELU_TANH,
    TRI_ACT_KIND_SILU,
    TRI_ACT_KIND_RELU,
    TRI_ACT_KIND_QUICK_GELU,
    TRI_ACT_KIND_SQUARED_RELU,
    TRI_ACT_KIND_GATED, /* + a plain kind */
};

/* module "activation": [s, B, C or 2C] -> [s, B, C] per rank */
struct tri_activation_params {
    int kind; /* enum tri_act_kind, gated: TRI_ACT_KIND_GATED + the plain one */
    bool gated;
    double clamp;  /* of gate from above, of up from both sides, before f; 0: none */
    double offset; /* of up, behind the clamp */
    int64_t size;  /* C, global */
};

/* module "mlp" */
struct tri_mlp_params {
    int64_t hidden_size, ffn_size;
    bool gated;
};

/* module "bias_dropout_add" (the bias is added by the linear): y = residual + factor * dropout(x) */
struct tri_bda_params {
    int64_t size;
    double factor;
    double dropout;
    int purpose; /* enum tri_rng_purpose */
    int64_t layer;
};

/* modules "transformer_layer" and "parallel_layer" */
struct tri_layer_params {
    int64_t layer; /* 0-based global number */
    int64_t hidden_size;
};

/* module "lm_head"; "cross_entropy" has the vocabulary. logits = softcap tanh(factor * output / softcap) */
struct tri_head_params {
    int64_t hidden_size;
    double factor;
    double softcap; /* 0: none */
};
struct tri_cross_entropy_params {
    int64_t vocab_size;
    int64_t divisible_by;
    double softcap; /* the head's: what comes back is the gradient in front of it */
};
