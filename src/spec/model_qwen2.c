/* SPDX-License-Identifier: Apache-2.0 */
/* Family "qwen2": Llama with biases on q, k and v, never on o, and windows by layer. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "151936"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "32768"},
    {"hidden_size", TRI_HF_FIELD, "hidden_size", "4096"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "22016"},
    {"num_hidden_layers", TRI_HF_FIELD, "num_layers", "32"},
    {"num_attention_heads", TRI_HF_FIELD, "num_attention_heads", "32"},
    {"num_key_value_heads", TRI_HF_FIELD, "num_query_groups", "32"},
    {"hidden_act", TRI_HF_ACTIVATION, "activation_func", "\"silu\""},
    {"initializer_range", TRI_HF_FIELD, "init_method_std", "0.02"},
    {"rms_norm_eps", TRI_HF_FIELD, "layernorm_epsilon", "1e-6"},
    {"rope_theta", TRI_HF_ROPE_THETA, "rotary_base", "10000.0"},
    {"attention_dropout", TRI_HF_FIELD, "attention_dropout", "0.0"},
    {"tie_word_embeddings", TRI_HF_NOT, "untie_embeddings_and_output_weights", "false"},
    {"use_sliding_window", TRI_HF_WINDOW_SWITCH, NULL, "false"},
    {"sliding_window", TRI_HF_WINDOW, "window_size", "4096"},
    {"max_window_layers", TRI_HF_WINDOW_FIRST, NULL, "28"},
    {"layer_types", TRI_HF_LAYER_TYPES, "window_attn_skip_freq", "null"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "null"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "null"},
};

static const struct tri_hf_constant constants[] = {
    {"normalization", "RMSNorm"},  {"position_embedding_type", "rope"},
    {"gated_linear_unit", "true"}, {"add_bias_linear", "false"},
    {"rotary_percent", "1.0"},     {"rotary_interleaved", "false"},
    {"hidden_dropout", "0"},       {"add_qkv_bias", "true"},
};

static const struct tri_hf_family config = {
    .model_type = "qwen2",
    .architecture = "Qwen2ForCausalLM",
    .keys = keys,
    .num_keys = sizeof(keys) / sizeof(keys[0]),
    .constants = constants,
    .num_constants = sizeof(constants) / sizeof(constants[0]),
};

static const char *const ignored[] = {"layers.{}.self_attn.rotary_emb.inv_freq", NULL};

const struct tri_family tri_family_qwen2 = {
    .name = "qwen2",
    .config = &config,
    .tensors = tri_llama_tensors,
    .num_tensors = TRI_NUM_LLAMA_TENSORS,
    .prefix = "model.",
    .ignored = ignored,
};
