/* SPDX-License-Identifier: Apache-2.0 */
/* Family "olmo2": norms behind attention and MLP instead of before them, and of all heads of q and k. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "50304"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "2048"},
    {"hidden_size", TRI_HF_FIELD, "hidden_size", "4096"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "11008"},
    {"num_hidden_layers", TRI_HF_FIELD, "num_layers", "32"},
    {"num_attention_heads", TRI_HF_FIELD, "num_attention_heads", "32"},
    {"num_key_value_heads", TRI_HF_FIELD, "num_query_groups", "null"},
    {"hidden_act", TRI_HF_ACTIVATION, "activation_func", "\"silu\""},
    {"initializer_range", TRI_HF_FIELD, "init_method_std", "0.02"},
    {"rms_norm_eps", TRI_HF_FIELD, "layernorm_epsilon", "1e-5"},
    {"rope_theta", TRI_HF_ROPE_THETA, "rotary_base", "10000.0"},
    {"attention_bias", TRI_HF_FIELD, "add_qkv_bias", "false"},
    {"attention_bias", TRI_HF_FIELD, "add_proj_bias", "false"},
    {"attention_dropout", TRI_HF_FIELD, "attention_dropout", "0.0"},
    {"tie_word_embeddings", TRI_HF_NOT, "untie_embeddings_and_output_weights", "false"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "null"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "50279"},
};

static const struct tri_hf_constant constants[] = {
    {"normalization", "RMSNorm"},  {"position_embedding_type", "rope"},
    {"gated_linear_unit", "true"}, {"add_bias_linear", "false"},
    {"hidden_dropout", "0"},       {"norm_position", "post"},
    {"qk_layernorm", "true"},      {"qk_norm_across_heads", "true"},
};

static const struct tri_hf_family config = {
    .model_type = "olmo2",
    .architecture = "Olmo2ForCausalLM",
    .keys = keys,
    .num_keys = sizeof(keys) / sizeof(keys[0]),
    .constants = constants,
    .num_constants = sizeof(constants) / sizeof(constants[0]),
};

#define FILE_LAYER "model.layers.{}."
#define LAYER      "decoder.layers.{}."
#define ATTENTION  LAYER "self_attention."
#define FC1        LAYER "mlp.linear_fc1."

static const struct tri_file_tensor tensors[] = {
    {"model.embed_tokens.weight", "embedding.word_embeddings.weight", NULL, false},
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
    {FILE_LAYER "mlp.gate_proj.weight", FC1 "weight", "gate", false},
    {FILE_LAYER "mlp.up_proj.weight", FC1 "weight", "up", false},
    {FILE_LAYER "mlp.down_proj.weight", LAYER "mlp.linear_fc2.weight", NULL, false},
    {FILE_LAYER "post_feedforward_layernorm.weight", LAYER "post_mlp_layernorm.weight", NULL,
     false},
    {"model.norm.weight", "decoder.final_layernorm.weight", NULL, false},
    {"lm_head.weight", "output_layer.weight", NULL, false},
};

const struct tri_family tri_family_olmo2 = {
    .name = "olmo2",
    .config = &config,
    .tensors = tensors,
    .num_tensors = sizeof(tensors) / sizeof(tensors[0]),
    .prefix = "model.",
};
