/* SPDX-License-Identifier: Apache-2.0 */
/* Family "mistral": Llama without biases, with a window in every layer where one is given. */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "32000"},
    {"max_position_embeddings", TRI_HF_FIELD, "max_position_embeddings", "131072"},
    {"hidden_size", TRI_HF_FIELD, "hidden_size", "4096"},
    {"intermediate_size", TRI_HF_FIELD, "ffn_hidden_size", "14336"},
    {"num_hidden_layers", TRI_HF_FIELD, "num_layers", "32"},
    {"num_attention_heads", TRI_HF_FIELD, "num_attention_heads", "32"},
    {"num_key_value_heads", TRI_HF_FIELD, "num_query_groups", "8"},
    {"hidden_act", TRI_HF_ACTIVATION, "activation_func", "\"silu\""},
    {"initializer_range", TRI_HF_FIELD, "init_method_std", "0.02"},
    {"rms_norm_eps", TRI_HF_FIELD, "layernorm_epsilon", "1e-6"},
    {"rope_theta", TRI_HF_ROPE_THETA, "rotary_base", "10000.0"},
    {"attention_dropout", TRI_HF_FIELD, "attention_dropout", "0.0"},
    {"tie_word_embeddings", TRI_HF_NOT, "untie_embeddings_and_output_weights", "false"},
    {"head_dim", TRI_HF_FIELD, "kv_channels", "null"},
    {"sliding_window", TRI_HF_WINDOW, "window_size", "4096"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "1"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "2"},
};

static const struct tri_hf_constant constants[] = {
    {"normalization", "RMSNorm"},  {"position_embedding_type", "rope"},
    {"gated_linear_unit", "true"}, {"add_bias_linear", "false"},
    {"rotary_percent", "1.0"},     {"rotary_interleaved", "false"},
    {"hidden_dropout", "0"},
};

static const struct tri_hf_family config = {
    .model_type = "mistral",
    .architecture = "MistralForCausalLM",
    .keys = keys,
    .num_keys = sizeof(keys) / sizeof(keys[0]),
    .constants = constants,
    .num_constants = sizeof(constants) / sizeof(constants[0]),
};

static const char *const ignored[] = {"layers.{}.self_attn.rotary_emb.inv_freq", NULL};

const struct tri_family tri_family_mistral = {
    .name = "mistral",
    .config = &config,
    .tensors = tri_llama_tensors,
    .num_tensors = TRI_NUM_LLAMA_TENSORS,
    .prefix = "model.",
    .ignored = ignored,
};
