/* SPDX-License-Identifier: Apache-2.0 */
/* The modules that the tests of nn/ run, and the two small models they are taken from. */
#include "nn_fixture.h"

#include "shape/options.h"

#include <string.h>

static void shape_factors(struct tri_gpt_config *c)
{
    c->transformer.residual_multiplier = 0.7;
    c->embedding_multiplier = 1.3;
    c->multiply_embedding_by_sqrt_hidden = true;
    c->logits_scaling = 1.7;
    c->final_logit_softcapping = 1.5;
}

/* What is not in gpt or llama. */
static void shape_variant(struct tri_gpt_config *c, int shape)
{
    struct tri_transformer_config *t = &c->transformer;
    if (shape == NN_SHAPE_PARALLEL) {
        t->use_parallel_residual = true;
        t->layernorm_zero_centered_gamma = true;
        t->normalization = TRI_NORM_LAYERNORM;
        t->activation_func = TRI_ACT_QUICK_GELU;
        t->gated_linear_unit = t->add_qkv_bias = false;
        t->add_mlp_bias = true;
    } else if (shape == NN_SHAPE_SANDWICH) {
        t->norm_position = TRI_NORM_SANDWICH;
        t->layernorm_zero_centered_gamma = true;
        t->activation_func = TRI_ACT_GELU_TANH;
        shape_factors(c);
    } else if (shape == NN_SHAPE_POST) {
        t->norm_position = TRI_NORM_POST;
        t->attention.qk_layernorm = t->attention.qk_norm_across_heads = true;
        t->activation_func = TRI_ACT_QUICK_GELU;
        t->add_qkv_bias = false;
        t->add_proj_bias = true;
        t->attention.no_rope_freq = (struct tri_option_list){.num = 2, .value = {1, 0}};
    } else if (shape == NN_SHAPE_NORMED) {
        t->attention.qk_layernorm = true;
        t->attention.softmax_type = TRI_SOFTMAX_LEARNABLE;
        t->attention.attn_logit_softcapping = 1.5;
        t->attention.window_size = (struct tri_option_list){.num = 2, .value = {2, 0}};
        t->attention.window_attn_skip_freq = (struct tri_option_list){.num = 1, .value = {3}};
        t->attention.original_max_position_embeddings = 8;
        t->attention.rotary_scaling_factor = 2;
        t->attention.beta_fast = 0.9;
        t->attention.beta_slow = 0.1;
        c->position_embedding_type = TRI_POSITION_YARN;
    } else if (shape == NN_SHAPE_L2) {
        t->attention.qk_l2_norm = true;
        t->attention.softmax_type = TRI_SOFTMAX_OFF_BY_ONE;
        t->attention.softmax_scale = 0.7;
        t->attention.mrope_section = (struct tri_option_list){.num = 3, .value = {1, 1, 1}};
        c->position_embedding_type = TRI_POSITION_MROPE;
        c->rotary_interleaved = true;
    } else if (shape == NN_SHAPE_HEADS) {
        t->normalization = TRI_NORM_LAYERNORM;
        t->attention.qk_layernorm = true;
        t->layernorm_zero_centered_gamma = true;
        t->activation_func = TRI_ACT_SQUARED_RELU;
        t->kv_channels = 5;
        c->rotary_percent = 0.8;
    } else if (shape == NN_SHAPE_MIXED) {
        t->add_bias_linear = true;
        t->layer_query_groups = (struct tri_option_list){.num = 2, .value = {TRI_LAYER_LINEAR, 8}};
        t->layer_ffn_sizes = (struct tri_option_list){.num = 2, .value = {12, TRI_LAYER_NO_OP}};
    } else if (shape == NN_SHAPE_CUT) {
        t->activation_func = TRI_ACT_QUICK_GELU;
        t->activation_func_clamp_value = 2.6;
        t->glu_linear_offset = 1;
    } else if (shape == NN_SHAPE_GATED) {
        t->attention.attention_output_gate = true;
        t->attention.qk_layernorm = true;
        t->layernorm_zero_centered_gamma = true;
        t->add_proj_bias = true;
        c->rotary_percent = 0.4;
    } else if (shape == NN_SHAPE_ONE) {
        t->hidden_size = 3;
        t->num_attention_heads = t->num_query_groups = t->kv_channels = 1;
        t->ffn_hidden_size = 1;
        c->position_embedding_type = TRI_POSITION_NONE;
    }
}

/* Every width is odd times what tp 4 cuts; llama has grouped queries, gpt biases everywhere. */
struct tri_gpt_config nn_shape(int shape)
{
    struct tri_gpt_config gpt;
    tri_gpt_config_set_defaults(&gpt);
    gpt.transformer.num_layers = 2;
    gpt.transformer.hidden_size = 20;
    gpt.transformer.num_attention_heads = 4;
    gpt.transformer.num_query_groups = 4;
    gpt.transformer.kv_channels = 5;
    gpt.transformer.ffn_hidden_size = 28;
    gpt.transformer.hidden_dropout = gpt.transformer.attention_dropout = 0.25;
    gpt.vocab_size = 37;
    gpt.seq_length = gpt.max_position_embeddings = 16;
    gpt.make_vocab_size_divisible_by = 3;
    if (shape == NN_SHAPE_GPT)
        return gpt;
    gpt.transformer.num_attention_heads = 8;
    gpt.transformer.num_query_groups = 4;
    gpt.transformer.kv_channels = 6;
    gpt.transformer.normalization = TRI_NORM_RMSNORM;
    gpt.transformer.activation_func = TRI_ACT_SILU;
    gpt.transformer.gated_linear_unit = true;
    gpt.transformer.add_bias_linear = false;
    gpt.transformer.add_qkv_bias = true;
    gpt.position_embedding_type = TRI_POSITION_ROPE;
    gpt.untie_embeddings_and_output_weights = true;
    shape_variant(&gpt, shape);
    return gpt;
}

const struct nn_case nn_cases[] = {
    {.name = "layernorm", .shape = NN_SHAPE_GPT, .unit = 1, .path = "input_layernorm"},
    {.name = "rmsnorm", .shape = NN_SHAPE_LLAMA, .unit = 1, .path = "input_layernorm"},
    {.name = "column_linear qkv",
     .shape = NN_SHAPE_LLAMA,
     .unit = 1,
     .path = "self_attention.linear_qkv"},
    {.name = "column_linear gated", .shape = NN_SHAPE_LLAMA, .unit = 1, .path = "mlp.linear_fc1"},
    {.name = "column_linear bias", .shape = NN_SHAPE_GPT, .unit = 1, .path = "mlp.linear_fc1"},
    {.name = "row_linear", .shape = NN_SHAPE_LLAMA, .unit = 1, .path = "mlp.linear_fc2"},
    {.name = "row_linear bias", .shape = NN_SHAPE_GPT, .unit = 1, .path = "mlp.linear_fc2"},
    {.name = "attention",
     .shape = NN_SHAPE_GPT,
     .unit = 2,
     .path = "self_attention.core_attention"},
    {.name = "attention grouped",
     .shape = NN_SHAPE_LLAMA,
     .unit = 2,
     .path = "self_attention.core_attention"},
    {.name = "activation", .shape = NN_SHAPE_GPT, .unit = 1, .path = "mlp.activation"},
    {.name = "activation gated", .shape = NN_SHAPE_LLAMA, .unit = 1, .path = "mlp.activation"},
    {.name = "bias_dropout_add", .shape = NN_SHAPE_GPT, .unit = 1, .path = "mlp_bda"},
    {.name = "self_attention", .shape = NN_SHAPE_GPT, .unit = 2, .path = "self_attention"},
    {.name = "self_attention rotary", .shape = NN_SHAPE_LLAMA, .unit = 2, .path = "self_attention"},
    {.name = "mlp", .shape = NN_SHAPE_GPT, .unit = 1, .path = "mlp"},
    {.name = "mlp gated", .shape = NN_SHAPE_LLAMA, .unit = 1, .path = "mlp"},
    {.name = "layer gpt", .shape = NN_SHAPE_GPT, .unit = 2, .keeps_dout = true},
    {.name = "layer llama", .shape = NN_SHAPE_LLAMA, .unit = 2, .keeps_dout = true},
    {.name = "embedding gpt", .shape = NN_SHAPE_GPT, .keeps_dout = true},
    {.name = "embedding llama", .shape = NN_SHAPE_LLAMA, .keeps_dout = true},
    {.name = "head tied", .shape = NN_SHAPE_GPT, .unit = 3, .keeps_dout = true},
    {.name = "head tied alone",
     .shape = NN_SHAPE_GPT,
     .unit = 3,
     .is_alone = true,
     .keeps_dout = true},
    {.name = "head untied", .shape = NN_SHAPE_LLAMA, .unit = 3, .keeps_dout = true},
    {.name = "layernorm 1 + weight",
     .shape = NN_SHAPE_PARALLEL,
     .unit = 1,
     .path = "input_layernorm"},
    {.name = "rmsnorm 1 + weight",
     .shape = NN_SHAPE_SANDWICH,
     .unit = 1,
     .path = "post_mlp_layernorm"},
    {.name = "activation quick", .shape = NN_SHAPE_PARALLEL, .unit = 1, .path = "mlp.activation"},
    {.name = "layer parallel", .shape = NN_SHAPE_PARALLEL, .unit = 2, .keeps_dout = true},
    {.name = "layer sandwich", .shape = NN_SHAPE_SANDWICH, .unit = 2, .keeps_dout = true},
    {.name = "layer post", .shape = NN_SHAPE_POST, .unit = 2, .keeps_dout = true},
    {.name = "bias_dropout_add factor", .shape = NN_SHAPE_SANDWICH, .unit = 1, .path = "mlp_bda"},
    {.name = "embedding factor", .shape = NN_SHAPE_SANDWICH, .keeps_dout = true},
    {.name = "head capped", .shape = NN_SHAPE_SANDWICH, .unit = 3, .keeps_dout = true},
    {.name = "attention capped",
     .shape = NN_SHAPE_NORMED,
     .unit = 2,
     .path = "self_attention.core_attention"},
    {.name = "attention off by one",
     .shape = NN_SHAPE_L2,
     .unit = 2,
     .path = "self_attention.core_attention"},
    {.name = "self_attention normed",
     .shape = NN_SHAPE_NORMED,
     .unit = 2,
     .path = "self_attention"},
    {.name = "self_attention l2", .shape = NN_SHAPE_L2, .unit = 2, .path = "self_attention"},
    {.name = "self_attention layernormed",
     .shape = NN_SHAPE_HEADS,
     .unit = 2,
     .path = "self_attention"},
    {.name = "self_attention unturned",
     .shape = NN_SHAPE_POST,
     .unit = 1,
     .path = "self_attention"},
    {.name = "layer normed", .shape = NN_SHAPE_NORMED, .unit = 1, .keeps_dout = true},
    {.name = "self_attention norm across",
     .shape = NN_SHAPE_POST,
     .unit = 2,
     .path = "self_attention"},
    {.name = "column_linear gate",
     .shape = NN_SHAPE_GATED,
     .unit = 1,
     .path = "self_attention.linear_qkv"},
    {.name = "self_attention gated", .shape = NN_SHAPE_GATED, .unit = 2, .path = "self_attention"},
    {.name = "layer gated", .shape = NN_SHAPE_GATED, .unit = 1, .keeps_dout = true},
    {.name = "whole_linear", .shape = NN_SHAPE_MIXED, .unit = 1, .path = "self_attention"},
    {.name = "layer linear", .shape = NN_SHAPE_MIXED, .unit = 1, .keeps_dout = true},
    {.name = "layer no mlp", .shape = NN_SHAPE_MIXED, .unit = 2, .keeps_dout = true},
    {.name = "activation cut", .shape = NN_SHAPE_CUT, .unit = 1, .path = "mlp.activation"},
    {.name = "mlp squared relu", .shape = NN_SHAPE_HEADS, .unit = 1, .path = "mlp"},
    {.name = "self_attention one",
     .shape = NN_SHAPE_ONE,
     .unit = 1,
     .path = "self_attention",
     .max_tp = 1},
    {.name = "mlp one", .shape = NN_SHAPE_ONE, .unit = 1, .path = "mlp", .max_tp = 1},
    {.name = "layer one", .shape = NN_SHAPE_ONE, .unit = 2, .keeps_dout = true, .max_tp = 1},
    {.name = "embedding one", .shape = NN_SHAPE_ONE, .keeps_dout = true, .max_tp = 1},
    {.name = "head one", .shape = NN_SHAPE_ONE, .unit = 3, .keeps_dout = true, .max_tp = 1},
};
const int nn_num_cases = sizeof(nn_cases) / sizeof(nn_cases[0]);

const struct nn_case *nn_case_find(const char *name)
{
    for (int i = 0; i < nn_num_cases; i++)
        if (strcmp(nn_cases[i].name, name) == 0)
            return &nn_cases[i];
    return NULL;
}
