/* SPDX-License-Identifier: Apache-2.0 */
/* The modules that the tests of nn/ run, and the two small models they are taken from. */
#include "nn_fixture.h"

#include "shape/options.h"

#include <string.h>

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
};
const int nn_num_cases = sizeof(nn_cases) / sizeof(nn_cases[0]);

const struct nn_case *nn_case_find(const char *name)
{
    for (int i = 0; i < nn_num_cases; i++)
        if (strcmp(nn_cases[i].name, name) == 0)
            return &nn_cases[i];
    return NULL;
}
