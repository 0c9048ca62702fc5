/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Megatron-LM's own parameters, by the names that its modules have while they run. trine's logical names are
 * these, so a row says only how rows lie. Those of a gated linear_fc1 lie as trine's, all gates, then all ups;
 * linear_qkv has for every key/value head the query heads that go with it, the key, and the value.
 */
#include "spec/family.h"

#define ALIKE(name) name, name /* in the file and here */
#define LAYER       "decoder.layers.{}."
#define ATTENTION   LAYER "self_attention."

static const struct tri_file_tensor tensors[] = {
    {ALIKE("embedding.word_embeddings.weight"), NULL, false},
    {ALIKE("embedding.position_embeddings.weight"), NULL, false},
    {ALIKE(LAYER "input_layernorm.weight"), NULL, false},
    {ALIKE(LAYER "input_layernorm.bias"), NULL, false},
    {ALIKE(ATTENTION "linear_qkv.weight"), TRI_PART_INTERLEAVED, false},
    {ALIKE(ATTENTION "linear_qkv.bias"), TRI_PART_INTERLEAVED, false},
    {ALIKE(ATTENTION "q_layernorm.weight"), NULL, false},
    {ALIKE(ATTENTION "q_layernorm.bias"), NULL, false},
    {ALIKE(ATTENTION "k_layernorm.weight"), NULL, false},
    {ALIKE(ATTENTION "k_layernorm.bias"), NULL, false},
    {ALIKE(ATTENTION "core_attention.softmax_offset"), NULL, false},
    {ALIKE(ATTENTION "linear_proj.weight"), NULL, false},
    {ALIKE(ATTENTION "linear_proj.bias"), NULL, false},
    {ALIKE(LAYER "pre_mlp_layernorm.weight"), NULL, false},
    {ALIKE(LAYER "pre_mlp_layernorm.bias"), NULL, false},
    {ALIKE(LAYER "mlp.linear_fc1.weight"), NULL, false},
    {ALIKE(LAYER "mlp.linear_fc1.bias"), NULL, false},
    {ALIKE(LAYER "mlp.linear_fc2.weight"), NULL, false},
    {ALIKE(LAYER "mlp.linear_fc2.bias"), NULL, false},
    {ALIKE("decoder.final_layernorm.weight"), NULL, false},
    {ALIKE("decoder.final_layernorm.bias"), NULL, false},
    {ALIKE("output_layer.weight"), NULL, false},
};

static const struct tri_family_files files = {
    .tensors = tensors,
    .num_tensors = sizeof(tensors) / sizeof(tensors[0]),
};

const struct tri_family tri_family_megatron = {
    .name = "megatron",
    .files = &files,
};
