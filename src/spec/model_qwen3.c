/* SPDX-License-Identifier: Apache-2.0 */
/* Family "qwen3": as qwen2, with norms of each head of q and k; biases are a choice. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"head_dim", TRI_HF_FIELD, "kv_channels", "128"},
    {"attention_bias", TRI_HF_FIELD, "add_qkv_bias", "false"},
    {"attention_bias", TRI_HF_FIELD, "add_proj_bias", "false"},
};

static const struct tri_hf_constant constants[] = {
    {"qk_layernorm", "true"},
};

static const struct tri_hf_family config = {
    .base = &tri_hf_qwen2,
    .model_type = "qwen3",
    .architecture = "Qwen3ForCausalLM",
    TRI_FAMILY_ROWS(keys),
    TRI_FAMILY_ROWS(constants),
};

const struct tri_family tri_family_qwen3 = {
    .name = "qwen3",
    .config = &config,
    .files = &tri_llama_files,
};
