/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family "llama": RMSNorm, rotary positions, gated MLP, grouped queries. attention_bias stands
 * for the biases of q, k, v and o, mlp_bias for those of the MLP.
 */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "32000"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "2048"},
    {"hidden_size", TRI_HF_FIELD, "hidden_size", "4096"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "11008"},
    {"num_hidden_layers", TRI_HF_FIELD, "num_layers", "32"},
    {"num_attention_heads", TRI_HF_FIELD, "num_attention_heads", "32"},
    {"num_key_value_heads", TRI_HF_FIELD, "num_query_groups", "null"},
    {"head_dim", TRI_HF_FIELD, "kv_channels", "null"},
    {"hidden_act", TRI_HF_ACTIVATION, "activation_func", "\"silu\""},
    {"initializer_range", TRI_HF_FIELD, "init_method_std", "0.02"},
    {"rms_norm_eps", TRI_HF_FIELD, "layernorm_epsilon", "1e-6"},
    {"rope_theta", TRI_HF_ROPE_THETA, "rotary_base", "10000.0"},
    {"attention_bias", TRI_HF_FIELD, "add_qkv_bias", "false"},
    {"attention_bias", TRI_HF_FIELD, "add_proj_bias", "false"},
    {"mlp_bias", TRI_HF_FIELD, "add_mlp_bias", "false"},
    {"attention_dropout", TRI_HF_FIELD, "attention_dropout", "0.0"},
    {"tie_word_embeddings", TRI_HF_NOT, "untie_embeddings_and_output_weights", "false"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "1"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "2"},
};

static const struct tri_hf_constant constants[] = {
    {"normalization", "RMSNorm"},  {"position_embedding_type", "rope"},
    {"gated_linear_unit", "true"}, {"add_bias_linear", "false"},
    {"rotary_percent", "1.0"},     {"rotary_interleaved", "false"},
    {"hidden_dropout", "0"},
};

const struct tri_hf_family tri_hf_llama = {
    .model_type = "llama",
    .architecture = "LlamaForCausalLM",
    TRI_FAMILY_ROWS(keys),
    TRI_FAMILY_ROWS(constants),
};

#define FILE_LAYER "model.layers.{}."
#define LAYER      "decoder.layers.{}."
#define FC1        LAYER "mlp.linear_fc1."

/* With the norms of heads that later families have. */
static const struct tri_file_tensor tensors[] = {
    {"model.embed_tokens.weight", "embedding.word_embeddings.weight", NULL, false},
    {FILE_LAYER "input_layernorm.weight", LAYER "input_layernorm.weight", NULL, false},
    TRI_LLAMA_ATTENTION_TENSORS,
    {FILE_LAYER "post_attention_layernorm.weight", LAYER "pre_mlp_layernorm.weight", NULL, false},
    {FILE_LAYER "mlp.gate_proj.weight", FC1 "weight", "gate", false},
    {FILE_LAYER "mlp.up_proj.weight", FC1 "weight", "up", false},
    {FILE_LAYER "mlp.gate_proj.bias", FC1 "bias", "gate", false},
    {FILE_LAYER "mlp.up_proj.bias", FC1 "bias", "up", false},
    {FILE_LAYER "mlp.down_proj.weight", LAYER "mlp.linear_fc2.weight", NULL, false},
    {FILE_LAYER "mlp.down_proj.bias", LAYER "mlp.linear_fc2.bias", NULL, false},
    {"model.norm.weight", "decoder.final_layernorm.weight", NULL, false},
    {"lm_head.weight", "output_layer.weight", NULL, false},
};

static const char *const ignored[] = {"layers.{}.self_attn.rotary_emb.inv_freq", NULL};

const struct tri_family_files tri_llama_files = {
    TRI_FAMILY_ROWS(tensors),
    .prefix = "model.",
    .ignored = ignored,
};

const struct tri_family tri_family_llama = {
    .name = "llama",
    .config = &tri_hf_llama,
    .files = &tri_llama_files,
};
