/* SPDX-License-Identifier: Apache-2.0 */
/* Family "mistral": as llama without biases, with a window in every layer where one is given. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "131072"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "14336"},
    {"num_key_value_heads", TRI_HF_FIELD_OR_NULL, "num_query_groups", "8"},
    {"sliding_window", TRI_HF_WINDOW, "window_size", "4096"},
    {"attention_bias", TRI_HF_NONE, NULL, NULL},
    {"mlp_bias", TRI_HF_NONE, NULL, NULL},
};

static const struct tri_hf_family config = {
    .base = &tri_hf_llama,
    .model_type = "mistral",
    .architecture = "MistralForCausalLM",
    TRI_FAMILY_ROWS(keys),
};

const struct tri_family tri_family_mistral = {
    .name = "mistral",
    .config = &config,
    .files = &tri_llama_files,
};
