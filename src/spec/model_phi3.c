/* SPDX-License-Identifier: Apache-2.0 */
/* Family "phi3": as llama, with q, k, v in one file tensor and gate and up in another. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "32064"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "4096"},
    {"hidden_size", TRI_HF_FIELD, "hidden_size", "3072"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "8192"},
    {"rms_norm_eps", TRI_HF_FIELD, "layernorm_epsilon", "1e-5"},
    {"partial_rotary_factor", TRI_HF_FIELD, "rotary_percent", "1.0"},
    {"sliding_window", TRI_HF_WINDOW, NULL, "null"},
    {"resid_pdrop", TRI_HF_FIELD, "hidden_dropout", "0.0"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "32000"},
    {"pad_token_id", TRI_HF_NULL, NULL, "null"},
    {"attention_bias", TRI_HF_FIXED, NULL, "false"},
    {"mlp_bias", TRI_HF_NONE, NULL, NULL},
};

static const struct tri_hf_family config = {
    .base = &tri_hf_llama,
    .model_type = "phi3",
    .architecture = "Phi3ForCausalLM",
    TRI_FAMILY_ROWS(keys),
    .only_rope_type = "default",
};

#define FILE_LAYER "model.layers.{}."
#define LAYER      "decoder.layers.{}."
#define ATTENTION  LAYER "self_attention."

static const struct tri_file_tensor tensors[] = {
    {"model.embed_tokens.weight", "embedding.word_embeddings.weight", NULL, false},
    {FILE_LAYER "input_layernorm.weight", LAYER "input_layernorm.weight", NULL, false},
    {FILE_LAYER "self_attn.qkv_proj.weight", ATTENTION "linear_qkv.weight", NULL, false},
    {FILE_LAYER "self_attn.o_proj.weight", ATTENTION "linear_proj.weight", NULL, false},
    {FILE_LAYER "post_attention_layernorm.weight", LAYER "pre_mlp_layernorm.weight", NULL, false},
    {FILE_LAYER "mlp.gate_up_proj.weight", LAYER "mlp.linear_fc1.weight", NULL, false},
    {FILE_LAYER "mlp.down_proj.weight", LAYER "mlp.linear_fc2.weight", NULL, false},
    {"model.norm.weight", "decoder.final_layernorm.weight", NULL, false},
    {"lm_head.weight", "output_layer.weight", NULL, false},
};

static const struct tri_family_files files = {
    TRI_FAMILY_ROWS(tensors),
    .prefix = "model.",
};

const struct tri_family tri_family_phi3 = {
    .name = "phi3",
    .config = &config,
    .files = &files,
};
