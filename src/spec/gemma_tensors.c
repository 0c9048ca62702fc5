/* SPDX-License-Identifier: Apache-2.0 */
/* The file tensors that gemma2 and gemma3 share: four norms to a layer, named after what they follow. */
#include "spec/families.h"

#define FILE_LAYER "model.layers.{}."
#define LAYER      "decoder.layers.{}."
#define ATTENTION  LAYER "self_attention."
#define FC1        LAYER "mlp.linear_fc1."

const struct tri_file_tensor tri_gemma_tensors[TRI_NUM_GEMMA_TENSORS] = {
    {"model.embed_tokens.weight", "embedding.word_embeddings.weight", NULL, false},
    {FILE_LAYER "input_layernorm.weight", LAYER "input_layernorm.weight", NULL, false},
    {FILE_LAYER "self_attn.q_proj.weight", ATTENTION "linear_qkv.weight", "q", false},
    {FILE_LAYER "self_attn.k_proj.weight", ATTENTION "linear_qkv.weight", "k", false},
    {FILE_LAYER "self_attn.v_proj.weight", ATTENTION "linear_qkv.weight", "v", false},
    {FILE_LAYER "self_attn.q_proj.bias", ATTENTION "linear_qkv.bias", "q", false},
    {FILE_LAYER "self_attn.k_proj.bias", ATTENTION "linear_qkv.bias", "k", false},
    {FILE_LAYER "self_attn.v_proj.bias", ATTENTION "linear_qkv.bias", "v", false},
    {FILE_LAYER "self_attn.q_norm.weight", ATTENTION "q_layernorm.weight", NULL, false},
    {FILE_LAYER "self_attn.k_norm.weight", ATTENTION "k_layernorm.weight", NULL, false},
    {FILE_LAYER "self_attn.o_proj.weight", ATTENTION "linear_proj.weight", NULL, false},
    {FILE_LAYER "self_attn.o_proj.bias", ATTENTION "linear_proj.bias", NULL, false},
    {FILE_LAYER "post_attention_layernorm.weight", LAYER "post_self_attn_layernorm.weight", NULL,
     false},
    {FILE_LAYER "pre_feedforward_layernorm.weight", LAYER "pre_mlp_layernorm.weight", NULL, false},
    {FILE_LAYER "mlp.gate_proj.weight", FC1 "weight", "gate", false},
    {FILE_LAYER "mlp.up_proj.weight", FC1 "weight", "up", false},
    {FILE_LAYER "mlp.down_proj.weight", LAYER "mlp.linear_fc2.weight", NULL, false},
    {FILE_LAYER "post_feedforward_layernorm.weight", LAYER "post_mlp_layernorm.weight", NULL,
     false},
    {"model.norm.weight", "decoder.final_layernorm.weight", NULL, false},
    {"lm_head.weight", "output_layer.weight", NULL, false},
};
