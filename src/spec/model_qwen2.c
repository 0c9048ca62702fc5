/* SPDX-License-Identifier: Apache-2.0 */
/* Family "qwen2": as llama, with biases on q, k and v and nowhere else, and windows by layer. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "151936"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "32768"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "22016"},
    {"num_key_value_heads", TRI_HF_FIELD_OR_NULL, "num_query_groups", "32"},
    {"use_sliding_window", TRI_HF_WINDOW_SWITCH, NULL, "false"},
    {"sliding_window", TRI_HF_WINDOW, "window_size", "4096"},
    {"max_window_layers", TRI_HF_WINDOW_FIRST, NULL, "28"},
    {"layer_types", TRI_HF_LAYER_TYPES, "window_attn_skip_freq", "null"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "null"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "null"},
    {"attention_bias", TRI_HF_NONE, NULL, NULL},
    {"mlp_bias", TRI_HF_NONE, NULL, NULL},
};

static const struct tri_hf_constant constants[] = {
    {"add_qkv_bias", "true"},
};

const struct tri_hf_family tri_hf_qwen2 = {
    .base = &tri_hf_llama,
    .model_type = "qwen2",
    .architecture = "Qwen2ForCausalLM",
    TRI_FAMILY_ROWS(keys),
    TRI_FAMILY_ROWS(constants),
};

const struct tri_family tri_family_qwen2 = {
    .name = "qwen2",
    .config = &tri_hf_qwen2,
    .files = &tri_llama_files,
};
