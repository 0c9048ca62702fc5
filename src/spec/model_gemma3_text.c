/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family "gemma3_text": as gemma2, with norms of each head and without soft caps; of six layers five have a
 * sliding window, and those turn by frequencies of another base.
 */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "262208"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "131072"},
    {"rope_theta", TRI_HF_ROPE_THETA, "rotary_base", "1000000.0"},
    {"rope_local_base_freq", TRI_HF_FIELD, "rotary_base_local", "10000.0"},
    {"attn_logit_softcapping", TRI_HF_FIELD_OR_NULL, "attn_logit_softcapping", "null"},
    {"final_logit_softcapping", TRI_HF_FIELD_OR_NULL, "final_logit_softcapping", "null"},
    {"layer_types", TRI_HF_LAYER_TYPES, NULL, "6"},
    {"sliding_window_pattern", TRI_HF_WINDOW_EVERY, NULL, "null"},
};

static const struct tri_hf_constant constants[] = {
    {"qk_layernorm", "true"},
};

static const struct tri_hf_family config = {
    .base = &tri_hf_gemma2,
    .model_type = "gemma3_text",
    .architecture = "Gemma3ForCausalLM",
    TRI_FAMILY_ROWS(keys),
    TRI_FAMILY_ROWS(constants),
};

const struct tri_family tri_family_gemma3_text = {
    .name = "gemma3_text",
    .config = &config,
    .files = &tri_gemma2_files,
};
