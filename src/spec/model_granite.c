/* SPDX-License-Identifier: Apache-2.0 */
/* Family "granite": as llama, with factors of embedding, scores, residual sums and logits. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"embedding_multiplier", TRI_HF_FIELD, "embedding_multiplier", "1.0"},
    {"attention_multiplier", TRI_HF_FIELD, "softmax_scale", "1.0"},
    {"residual_multiplier", TRI_HF_FIELD, "residual_multiplier", "1.0"},
    {"logits_scaling", TRI_HF_FIELD, "logits_scaling", "1.0"},
};

static const struct tri_hf_family config = {
    .base = &tri_hf_llama,
    .model_type = "granite",
    .architecture = "GraniteForCausalLM",
    TRI_FAMILY_ROWS(keys),
};

const struct tri_family tri_family_granite = {
    .name = "granite",
    .config = &config,
    .files = &tri_llama_files,
};
