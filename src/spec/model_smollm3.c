/* SPDX-License-Identifier: Apache-2.0 */
/* Family "smollm3": as llama, with layers that do not turn by positions. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "128256"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "32768"},
    {"hidden_size", TRI_HF_FIELD, "hidden_size", "2048"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "11008"},
    {"num_hidden_layers", TRI_HF_FIELD, "num_layers", "36"},
    {"num_attention_heads", TRI_HF_FIELD, "num_attention_heads", "16"},
    {"num_key_value_heads", TRI_HF_FIELD, "num_query_groups", "4"},
    {"hidden_act", TRI_HF_ACTIVATION, "activation_func", "\"silu\""},
    {"initializer_range", TRI_HF_FIELD, "init_method_std", "0.02"},
    {"rms_norm_eps", TRI_HF_FIELD, "layernorm_epsilon", "1e-6"},
    {"rope_theta", TRI_HF_ROPE_THETA, "rotary_base", "2000000.0"},
    {"no_rope_layers", TRI_HF_ROPE_LAYERS, "no_rope_freq", "null"},
    {"sliding_window", TRI_HF_WINDOW, NULL, "null"},
    {"use_sliding_window", TRI_HF_WINDOW_SWITCH, NULL, "false"},
    {"layer_types", TRI_HF_LAYER_TYPES, NULL, "null"},
    {"attention_bias", TRI_HF_FIELD, "add_qkv_bias", "false"},
    {"attention_bias", TRI_HF_FIELD, "add_proj_bias", "false"},
    {"mlp_bias", TRI_HF_FIELD, "add_mlp_bias", "false"},
    {"attention_dropout", TRI_HF_FIELD, "attention_dropout", "0.0"},
    {"tie_word_embeddings", TRI_HF_NOT, "untie_embeddings_and_output_weights", "true"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "128000"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "128001"},
};

static const struct tri_hf_constant constants[] = {
    {"normalization", "RMSNorm"},  {"position_embedding_type", "rope"},
    {"gated_linear_unit", "true"}, {"add_bias_linear", "false"},
    {"rotary_percent", "1.0"},     {"rotary_interleaved", "false"},
    {"hidden_dropout", "0"},
};

static const struct tri_hf_family config = {
    .model_type = "smollm3",
    .architecture = "SmolLM3ForCausalLM",
    .keys = keys,
    .num_keys = sizeof(keys) / sizeof(keys[0]),
    .constants = constants,
    .num_constants = sizeof(constants) / sizeof(constants[0]),
};

const struct tri_family tri_family_smollm3 = {
    .name = "smollm3",
    .config = &config,
    .tensors = tri_llama_tensors,
    .num_tensors = TRI_NUM_LLAMA_TENSORS,
    .prefix = "model.",
};
