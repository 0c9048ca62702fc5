/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family "gemma2": norms before and behind each half that multiply by 1 + weight, the embedding times the root
 * of the width, soft-capped scores and logits, every other layer with a sliding window.
 */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "256000"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "8192"},
    {"hidden_size", TRI_HF_FIELD, "hidden_size", "2304"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "9216"},
    {"num_hidden_layers", TRI_HF_FIELD, "num_layers", "26"},
    {"num_attention_heads", TRI_HF_FIELD, "num_attention_heads", "8"},
    {"num_key_value_heads", TRI_HF_FIELD_OR_NULL, "num_query_groups", "4"},
    {"head_dim", TRI_HF_FIELD, "kv_channels", "256"},
    {"hidden_act", TRI_HF_NONE, NULL, NULL},
    {"hidden_activation", TRI_HF_ACTIVATION, "activation_func", "\"gelu_pytorch_tanh\""},
    {"query_pre_attn_scalar", TRI_HF_INVERSE_SQUARE, "softmax_scale", "256"},
    {"attn_logit_softcapping", TRI_HF_FIELD_OR_NULL, "attn_logit_softcapping", "50.0"},
    {"final_logit_softcapping", TRI_HF_FIELD_OR_NULL, "final_logit_softcapping", "30.0"},
    {"sliding_window", TRI_HF_WINDOW, NULL, "4096"},
    {"layer_types", TRI_HF_LAYER_TYPES, NULL, "2"},
    {"tie_word_embeddings", TRI_HF_NOT, "untie_embeddings_and_output_weights", "true"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "2"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "1"},
    {"pad_token_id", TRI_HF_NULL, NULL, "null"},
    {"mlp_bias", TRI_HF_NONE, NULL, NULL},
};

static const struct tri_hf_constant constants[] = {
    {"layernorm_zero_centered_gamma", "true"},
    {"norm_position", "sandwich"},
    {"multiply_embedding_by_sqrt_hidden", "true"},
};

const struct tri_hf_family tri_hf_gemma2 = {
    .base = &tri_hf_llama,
    .model_type = "gemma2",
    .architecture = "Gemma2ForCausalLM",
    TRI_FAMILY_ROWS(keys),
    TRI_FAMILY_ROWS(constants),
};

#define FILE_LAYER "model.layers.{}."
#define LAYER      "decoder.layers.{}."
#define FC1        LAYER "mlp.linear_fc1."

/* With the norms of heads of gemma3_text. */
static const struct tri_file_tensor tensors[] = {
    {"model.embed_tokens.weight", "embedding.word_embeddings.weight", NULL, false},
    {FILE_LAYER "input_layernorm.weight", LAYER "input_layernorm.weight", NULL, false},
    TRI_LLAMA_ATTENTION_TENSORS,
    {FILE_LAYER "post_attention_layernorm.weight", LAYER "post_self_attn_layernorm.weight", NULL,
     false},
    {FILE_LAYER "pre_feedforward_layernorm.weight", LAYER "pre_mlp_layernorm.weight", NULL, false},
    {FILE_LAYER "mlp.gate_proj.weight", FC1 "weight", "gate", false},
    {FILE_LAYER "mlp.up_proj.weight", FC1 "weight", "up", false},
    {FILE_LAYER "mlp.down_proj.weight", LAYER "mlp.linear_fc2.weight", NULL, false},
    {FILE_LAYER "post_feedforward_layernorm.weight", LAYER "post_mlp_layernorm.weight", NULL,
     false},
    {"model.norm.weight", "decoder.final_layernorm.weight", NULL, false},
    {"lm_head.weight", "output_layer.weight", NULL, false},
};

const struct tri_family_files tri_gemma2_files = {
    TRI_FAMILY_ROWS(tensors),
    .prefix = "model.",
};

const struct tri_family tri_family_gemma2 = {
    .name = "gemma2",
    .config = &tri_hf_gemma2,
    .files = &tri_gemma2_files,
};
