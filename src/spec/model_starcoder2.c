/* SPDX-License-Identifier: Apache-2.0 */
/* Family "starcoder2": LayerNorm, rotary positions, grouped queries, plain MLP; use_bias is for every linear. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "49152"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "4096"},
    {"hidden_size", TRI_HF_FIELD, "hidden_size", "3072"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "12288"},
    {"num_hidden_layers", TRI_HF_FIELD, "num_layers", "30"},
    {"num_attention_heads", TRI_HF_FIELD, "num_attention_heads", "24"},
    {"num_key_value_heads", TRI_HF_FIELD, "num_query_groups", "2"},
    {"head_dim", TRI_HF_FIELD, "kv_channels", "null"},
    {"hidden_act", TRI_HF_ACTIVATION, "activation_func", "\"gelu_pytorch_tanh\""},
    {"initializer_range", TRI_HF_FIELD, "init_method_std", "0.018042"},
    {"norm_epsilon", TRI_HF_FIELD, "layernorm_epsilon", "1e-5"},
    {"rope_theta", TRI_HF_ROPE_THETA, "rotary_base", "10000.0"},
    {"sliding_window", TRI_HF_WINDOW, NULL, "null"},
    {"use_bias", TRI_HF_FIELD, "add_bias_linear", "true"},
    {"residual_dropout", TRI_HF_FIELD, "hidden_dropout", "0.0"},
    {"embedding_dropout", TRI_HF_FIELD, "hidden_dropout", "0.0"},
    {"attention_dropout", TRI_HF_FIELD, "attention_dropout", "0.0"},
    {"tie_word_embeddings", TRI_HF_NOT, "untie_embeddings_and_output_weights", "true"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "50256"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "50256"},
};

static const struct tri_hf_constant constants[] = {
    {"normalization", "LayerNorm"},
    {"position_embedding_type", "rope"},
};

static const struct tri_hf_family config = {
    .model_type = "starcoder2",
    .architecture = "Starcoder2ForCausalLM",
    TRI_FAMILY_ROWS(keys),
    TRI_FAMILY_ROWS(constants),
};

#define FILE_LAYER "model.layers.{}."
#define LAYER      "decoder.layers.{}."
#define QKV        LAYER "self_attention.linear_qkv."
#define PROJ       LAYER "self_attention.linear_proj."

static const struct tri_file_tensor tensors[] = {
    {"model.embed_tokens.weight", "embedding.word_embeddings.weight", NULL, false},
    {FILE_LAYER "input_layernorm.weight", LAYER "input_layernorm.weight", NULL, false},
    {FILE_LAYER "input_layernorm.bias", LAYER "input_layernorm.bias", NULL, false},
    {FILE_LAYER "self_attn.q_proj.weight", QKV "weight", "q", false},
    {FILE_LAYER "self_attn.k_proj.weight", QKV "weight", "k", false},
    {FILE_LAYER "self_attn.v_proj.weight", QKV "weight", "v", false},
    {FILE_LAYER "self_attn.q_proj.bias", QKV "bias", "q", false},
    {FILE_LAYER "self_attn.k_proj.bias", QKV "bias", "k", false},
    {FILE_LAYER "self_attn.v_proj.bias", QKV "bias", "v", false},
    {FILE_LAYER "self_attn.o_proj.weight", PROJ "weight", NULL, false},
    {FILE_LAYER "self_attn.o_proj.bias", PROJ "bias", NULL, false},
    {FILE_LAYER "post_attention_layernorm.weight", LAYER "pre_mlp_layernorm.weight", NULL, false},
    {FILE_LAYER "post_attention_layernorm.bias", LAYER "pre_mlp_layernorm.bias", NULL, false},
    {FILE_LAYER "mlp.c_fc.weight", LAYER "mlp.linear_fc1.weight", NULL, false},
    {FILE_LAYER "mlp.c_fc.bias", LAYER "mlp.linear_fc1.bias", NULL, false},
    {FILE_LAYER "mlp.c_proj.weight", LAYER "mlp.linear_fc2.weight", NULL, false},
    {FILE_LAYER "mlp.c_proj.bias", LAYER "mlp.linear_fc2.bias", NULL, false},
    {"model.norm.weight", "decoder.final_layernorm.weight", NULL, false},
    {"model.norm.bias", "decoder.final_layernorm.bias", NULL, false},
    {"lm_head.weight", "output_layer.weight", NULL, false},
};

static const struct tri_family_files files = {
    TRI_FAMILY_ROWS(tensors),
    .prefix = "model.",
};

const struct tri_family tri_family_starcoder2 = {
    .name = "starcoder2",
    .config = &config,
    .files = &files,
};
