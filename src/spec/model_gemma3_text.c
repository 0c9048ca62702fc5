/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family "gemma3_text": as gemma2, with norms of each head and without soft caps; of six layers five have a
 * sliding window, and those turn by frequencies of another base.
 */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "262208"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "131072"},
    {"hidden_size", TRI_HF_FIELD, "hidden_size", "2304"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "9216"},
    {"num_hidden_layers", TRI_HF_FIELD, "num_layers", "26"},
    {"num_attention_heads", TRI_HF_FIELD, "num_attention_heads", "8"},
    {"num_key_value_heads", TRI_HF_FIELD, "num_query_groups", "4"},
    {"head_dim", TRI_HF_FIELD, "kv_channels", "256"},
    {"hidden_activation", TRI_HF_ACTIVATION, "activation_func", "\"gelu_pytorch_tanh\""},
    {"initializer_range", TRI_HF_FIELD, "init_method_std", "0.02"},
    {"rms_norm_eps", TRI_HF_FIELD, "layernorm_epsilon", "1e-6"},
    {"rope_theta", TRI_HF_ROPE_THETA, "rotary_base", "1000000.0"},
    {"rope_local_base_freq", TRI_HF_FIELD, "rotary_base_local", "10000.0"},
    {"query_pre_attn_scalar", TRI_HF_INVERSE_SQUARE, "softmax_scale", "256"},
    {"attn_logit_softcapping", TRI_HF_FIELD_OR_NULL, "attn_logit_softcapping", "null"},
    {"final_logit_softcapping", TRI_HF_FIELD_OR_NULL, "final_logit_softcapping", "null"},
    {"sliding_window", TRI_HF_WINDOW, NULL, "4096"},
    {"layer_types", TRI_HF_LAYER_TYPES, NULL, "6"},
    {"attention_bias", TRI_HF_FIELD, "add_qkv_bias", "false"},
    {"attention_bias", TRI_HF_FIELD, "add_proj_bias", "false"},
    {"attention_dropout", TRI_HF_FIELD, "attention_dropout", "0.0"},
    {"tie_word_embeddings", TRI_HF_NOT, "untie_embeddings_and_output_weights", "true"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "2"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "1"},
};

static const struct tri_hf_constant constants[] = {
    {"normalization", "RMSNorm"},
    {"layernorm_zero_centered_gamma", "true"},
    {"norm_position", "sandwich"},
    {"qk_layernorm", "true"},
    {"multiply_embedding_by_sqrt_hidden", "true"},
    {"position_embedding_type", "rope"},
    {"gated_linear_unit", "true"},
    {"add_bias_linear", "false"},
    {"hidden_dropout", "0"},
};

static const struct tri_hf_family config = {
    .model_type = "gemma3_text",
    .architecture = "Gemma3ForCausalLM",
    .keys = keys,
    .num_keys = sizeof(keys) / sizeof(keys[0]),
    .constants = constants,
    .num_constants = sizeof(constants) / sizeof(constants[0]),
};

const struct tri_family tri_family_gemma3_text = {
    .name = "gemma3_text",
    .config = &config,
    .tensors = tri_gemma_tensors,
    .num_tensors = TRI_NUM_GEMMA_TENSORS,
    .prefix = "model.",
};
