/* SPDX-License-Identifier: Apache-2.0 */
/* Family "smollm3": as llama, with layers that do not turn by positions. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "128256"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "32768"},
    {"hidden_size", TRI_HF_FIELD, "hidden_size", "2048"},
    {"num_hidden_layers", TRI_HF_FIELD, "num_layers", "36"},
    {"num_attention_heads", TRI_HF_FIELD, "num_attention_heads", "16"},
    {"num_key_value_heads", TRI_HF_FIELD_OR_NULL, "num_query_groups", "4"},
    {"rope_theta", TRI_HF_ROPE_THETA, "rotary_base", "2000000.0"},
    {"no_rope_layers", TRI_HF_ROPE_LAYERS, "no_rope_freq", "null"},
    {"no_rope_layer_interval", TRI_HF_ROPE_EVERY, NULL, "null"},
    {"use_sliding_window", TRI_HF_WINDOW_SWITCH, NULL, "false"},
    {"sliding_window", TRI_HF_WINDOW, NULL, "null"},
    {"layer_types", TRI_HF_LAYER_TYPES, NULL, "null"},
    {"tie_word_embeddings", TRI_HF_NOT, "untie_embeddings_and_output_weights", "true"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "128000"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "128001"},
    {"pad_token_id", TRI_HF_NULL, NULL, "null"},
};

static const struct tri_hf_family config = {
    .base = &tri_hf_llama,
    .model_type = "smollm3",
    .architecture = "SmolLM3ForCausalLM",
    TRI_FAMILY_ROWS(keys),
};

const struct tri_family tri_family_smollm3 = {
    .name = "smollm3",
    .config = &config,
    .files = &tri_llama_files,
};
