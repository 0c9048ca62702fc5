/* SPDX-License-Identifier: Apache-2.0 */
/* Family "olmo2": norms behind attention and MLP instead of before them, and of all heads of q and k. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "50304"},
    {"rms_norm_eps", TRI_HF_FIELD, "layernorm_epsilon", "1e-5"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "null"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "50279"},
    {"pad_token_id", TRI_HF_NULL, NULL, "null"},
    {"mlp_bias", TRI_HF_NONE, NULL, NULL},
};

static const struct tri_hf_constant constants[] = {
    {"norm_position", "post"},
    {"qk_layernorm", "true"},
    {"qk_norm_across_heads", "true"},
};

static const struct tri_hf_family config = {
    .base = &tri_hf_llama,
    .model_type = "olmo2",
    .architecture = "Olmo2ForCausalLM",
    TRI_FAMILY_ROWS(keys),
    TRI_FAMILY_ROWS(constants),
};

#define FILE_LAYER "model.layers.{}."
#define LAYER      "decoder.layers.{}."
#define FC1        LAYER "mlp.linear_fc1."

static const struct tri_file_tensor tensors[] = {
    {"model.embed_tokens.weight", "embedding.word_embeddings.weight", NULL, false},
    TRI_LLAMA_ATTENTION_TENSORS,
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

static const struct tri_family_files files = {
    TRI_FAMILY_ROWS(tensors),
    .prefix = "model.",
};

const struct tri_family tri_family_olmo2 = {
    .name = "olmo2",
    .config = &config,
    .files = &files,
};
