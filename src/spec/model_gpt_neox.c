/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family "gpt_neox": LayerNorm, attention and MLP side by side, rotary positions over a part of the channels. A
 * head's rows of q, k and v lie together in the file.
 */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "50432"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "2048"},
    {"hidden_size", TRI_HF_FIELD, "hidden_size", "6144"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "24576"},
    {"num_hidden_layers", TRI_HF_FIELD, "num_layers", "44"},
    {"num_attention_heads", TRI_HF_FIELD, "num_attention_heads", "64"},
    {"hidden_act", TRI_HF_ACTIVATION, "activation_func", "\"gelu\""},
    {"initializer_range", TRI_HF_FIELD, "init_method_std", "0.02"},
    {"layer_norm_eps", TRI_HF_FIELD, "layernorm_epsilon", "1e-5"},
    {"rotary_emb_base", TRI_HF_ROPE_THETA, "rotary_base", "10000.0"},
    {"rotary_pct", TRI_HF_FIELD, "rotary_percent", "0.25"},
    {"rope_theta", TRI_HF_TWIN, "rotary_base", NULL},
    {"partial_rotary_factor", TRI_HF_TWIN, "rotary_percent", NULL},
    {"use_parallel_residual", TRI_HF_FIELD, "use_parallel_residual", "true"},
    {"attention_bias", TRI_HF_FIELD, "add_qkv_bias", "true"},
    {"attention_bias", TRI_HF_FIELD, "add_proj_bias", "true"},
    {"hidden_dropout", TRI_HF_FIELD, "hidden_dropout", "0.0"},
    {"attention_dropout", TRI_HF_FIELD, "attention_dropout", "0.0"},
    {"tie_word_embeddings", TRI_HF_NOT, "untie_embeddings_and_output_weights", "false"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "0"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "2"},
};

static const struct tri_hf_constant constants[] = {
    {"normalization", "LayerNorm"},
    {"position_embedding_type", "rope"},
    {"add_bias_linear", "false"},
    {"add_mlp_bias", "true"},
};

static const struct tri_hf_family config = {
    .model_type = "gpt_neox",
    .architecture = "GPTNeoXForCausalLM",
    TRI_FAMILY_ROWS(keys),
    TRI_FAMILY_ROWS(constants),
};

#define FILE_LAYER "gpt_neox.layers.{}."
#define LAYER      "decoder.layers.{}."
#define ATTENTION  LAYER "self_attention."

static const struct tri_file_tensor tensors[] = {
    {"gpt_neox.embed_in.weight", "embedding.word_embeddings.weight", NULL, false},
    {FILE_LAYER "input_layernorm.weight", LAYER "input_layernorm.weight", NULL, false},
    {FILE_LAYER "input_layernorm.bias", LAYER "input_layernorm.bias", NULL, false},
    {FILE_LAYER "attention.query_key_value.weight", ATTENTION "linear_qkv.weight",
     TRI_PART_INTERLEAVED, false},
    {FILE_LAYER "attention.query_key_value.bias", ATTENTION "linear_qkv.bias", TRI_PART_INTERLEAVED,
     false},
    {FILE_LAYER "attention.dense.weight", ATTENTION "linear_proj.weight", NULL, false},
    {FILE_LAYER "attention.dense.bias", ATTENTION "linear_proj.bias", NULL, false},
    {FILE_LAYER "post_attention_layernorm.weight", LAYER "pre_mlp_layernorm.weight", NULL, false},
    {FILE_LAYER "post_attention_layernorm.bias", LAYER "pre_mlp_layernorm.bias", NULL, false},
    {FILE_LAYER "mlp.dense_h_to_4h.weight", LAYER "mlp.linear_fc1.weight", NULL, false},
    {FILE_LAYER "mlp.dense_h_to_4h.bias", LAYER "mlp.linear_fc1.bias", NULL, false},
    {FILE_LAYER "mlp.dense_4h_to_h.weight", LAYER "mlp.linear_fc2.weight", NULL, false},
    {FILE_LAYER "mlp.dense_4h_to_h.bias", LAYER "mlp.linear_fc2.bias", NULL, false},
    {"gpt_neox.final_layer_norm.weight", "decoder.final_layernorm.weight", NULL, false},
    {"gpt_neox.final_layer_norm.bias", "decoder.final_layernorm.bias", NULL, false},
    {"embed_out.weight", "output_layer.weight", NULL, false},
};

static const char *const ignored[] = {"layers.{}.attention.bias", "layers.{}.attention.masked_bias",
                                      "layers.{}.attention.rotary_emb.inv_freq", NULL};

static const struct tri_family_files files = {
    TRI_FAMILY_ROWS(tensors),
    .prefix = "gpt_neox.",
    .ignored = ignored,
};

const struct tri_family tri_family_gpt_neox = {
    .name = "gpt_neox",
    .config = &config,
    .files = &files,
};
