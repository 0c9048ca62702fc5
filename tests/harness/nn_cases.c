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
        t->attention.mrope_section = (struct tri_option_list){.num = 3, .value = {1, 0, 1}};
        c->position_embedding_type = TRI_POSITION_MROPE;
        c->rotary_interleaved = true;
        c->rotary_percent = 0.7;
    } else if (shape == NN_SHAPE_HEADS) {
        t->normalization = TRI_NORM_LAYERNORM;
        t->attention.qk_layernorm = true;
        t->layernorm_zero_centered_gamma = true;
        t->kv_channels = 5;
        c->rotary_percent = 0.8;
    } else if (shape == NN_SHAPE_MIXED) {
        t->add_bias_linear = true;
        t->layer_query_groups = (struct tri_option_list){.num = 2, .value = {TRI_LAYER_LINEAR, 8}};
        t->layer_ffn_sizes = (struct tri_option_list){.num = 2, .value = {12, TRI_LAYER_NO_OP}};
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
    {"layernorm", NN_SHAPE_GPT, 1, "input_layernorm", false, false},
    {"rmsnorm", NN_SHAPE_LLAMA, 1, "input_layernorm", false, false},
    {"column_linear qkv", NN_SHAPE_LLAMA, 1, "self_attention.linear_qkv", false, false},
    {"column_linear gated", NN_SHAPE_LLAMA, 1, "mlp.linear_fc1", false, false},
    {"column_linear bias", NN_SHAPE_GPT, 1, "mlp.linear_fc1", false, false},
    {"row_linear", NN_SHAPE_LLAMA, 1, "mlp.linear_fc2", false, false},
    {"row_linear bias", NN_SHAPE_GPT, 1, "mlp.linear_fc2", false, false},
    {"attention", NN_SHAPE_GPT, 2, "self_attention.core_attention", false, false},
    {"attention grouped", NN_SHAPE_LLAMA, 2, "self_attention.core_attention", false, false},
    {"activation", NN_SHAPE_GPT, 1, "mlp.activation", false, false},
    {"activation gated", NN_SHAPE_LLAMA, 1, "mlp.activation", false, false},
    {"bias_dropout_add", NN_SHAPE_GPT, 1, "mlp_bda", false, false},
    {"self_attention", NN_SHAPE_GPT, 2, "self_attention", false, false},
    {"self_attention rotary", NN_SHAPE_LLAMA, 2, "self_attention", false, false},
    {"mlp", NN_SHAPE_GPT, 1, "mlp", false, false},
    {"mlp gated", NN_SHAPE_LLAMA, 1, "mlp", false, false},
    {"layer gpt", NN_SHAPE_GPT, 2, "", false, true},
    {"layer llama", NN_SHAPE_LLAMA, 2, "", false, true},
    {"embedding gpt", NN_SHAPE_GPT, 0, "", false, true},
    {"embedding llama", NN_SHAPE_LLAMA, 0, "", false, true},
    {"head tied", NN_SHAPE_GPT, 3, "", false, true},
    {"head tied alone", NN_SHAPE_GPT, 3, "", true, true},
    {"head untied", NN_SHAPE_LLAMA, 3, "", false, true},
    {"layernorm 1 + weight", NN_SHAPE_PARALLEL, 1, "input_layernorm", false, false},
    {"rmsnorm 1 + weight", NN_SHAPE_SANDWICH, 1, "post_mlp_layernorm", false, false},
    {"activation quick", NN_SHAPE_PARALLEL, 1, "mlp.activation", false, false},
    {"layer parallel", NN_SHAPE_PARALLEL, 2, "", false, true},
    {"layer sandwich", NN_SHAPE_SANDWICH, 2, "", false, true},
    {"layer post", NN_SHAPE_POST, 2, "", false, true},
    {"bias_dropout_add factor", NN_SHAPE_SANDWICH, 1, "mlp_bda", false, false},
    {"embedding factor", NN_SHAPE_SANDWICH, 0, "", false, true},
    {"head capped", NN_SHAPE_SANDWICH, 3, "", false, true},
    {"attention capped", NN_SHAPE_NORMED, 2, "self_attention.core_attention", false, false},
    {"attention off by one", NN_SHAPE_L2, 2, "self_attention.core_attention", false, false},
    {"self_attention normed", NN_SHAPE_NORMED, 2, "self_attention", false, false},
    {"self_attention l2", NN_SHAPE_L2, 2, "self_attention", false, false},
    {"self_attention layernormed", NN_SHAPE_HEADS, 2, "self_attention", false, false},
    {"layer normed", NN_SHAPE_NORMED, 1, "", false, true},
    {"self_attention norm across", NN_SHAPE_POST, 2, "self_attention", false, false},
    {"whole_linear", NN_SHAPE_MIXED, 1, "self_attention", false, false},
    {"layer linear", NN_SHAPE_MIXED, 1, "", false, true},
    {"layer no mlp", NN_SHAPE_MIXED, 2, "", false, true},
};
const int nn_num_cases = sizeof(nn_cases) / sizeof(nn_cases[0]);

const struct nn_case *nn_case_find(const char *name)
{
    for (int i = 0; i < nn_num_cases; i++)
        if (strcmp(nn_cases[i].name, name) == 0)
            return &nn_cases[i];
    return NULL;
}
