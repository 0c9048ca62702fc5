/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Family "gpt2": LayerNorm, learned positions, biases everywhere, tied output. Its files hold weights of
 * linears as [in, out], and queries, keys and values side by side in one tensor, all heads of each.
 */
#include "spec/families.h"

static const struct tri_hf_key keys[] = {
    {"vocab_size", TRI_HF_FIELD, "vocab_size", "50257"},
    {"n_positions", TRI_HF_FIELD, "max_position_embeddings", "1024"},
    {"n_embd", TRI_HF_FIELD, "hidden_size", "768"},
    {"n_layer", TRI_HF_FIELD, "num_layers", "12"},
    {"n_head", TRI_HF_FIELD, "num_attention_heads", "12"},
    {"max_position_embeddings", TRI_HF_ALIAS, "max_position_embeddings", NULL},
    {"hidden_size", TRI_HF_ALIAS, "hidden_size", NULL},
    {"num_hidden_layers", TRI_HF_ALIAS, "num_layers", NULL},
    {"num_attention_heads", TRI_HF_ALIAS, "num_attention_heads", NULL},
    {"n_inner", TRI_HF_FIELD_OR_NULL, "ffn_hidden_size", "null"},
    {"activation_function", TRI_HF_ACTIVATION, "activation_func", "\"gelu_new\""},
    {"resid_pdrop", TRI_HF_FIELD, "hidden_dropout", "0.1"},
    {"embd_pdrop", TRI_HF_FIELD, "hidden_dropout", "0.1"},
    {"attn_pdrop", TRI_HF_FIELD, "attention_dropout", "0.1"},
    {"layer_norm_epsilon", TRI_HF_FIELD, "layernorm_epsilon", "1e-5"},
    {"initializer_range", TRI_HF_FIELD, "init_method_std", "0.02"},
    {"tie_word_embeddings", TRI_HF_NOT, "untie_embeddings_and_output_weights", "true"},
    {"bos_token_id", TRI_HF_TOKEN, "bos_token_id", "50256"},
    {"eos_token_id", TRI_HF_TOKEN, "eos_token_id", "50256"},
    {"scale_attn_weights", TRI_HF_FIXED, NULL, "true"},
    {"scale_attn_by_inverse_layer_idx", TRI_HF_FIXED, NULL, "false"},
    {"add_cross_attention", TRI_HF_FIXED, NULL, "false"},
};

static const struct tri_hf_constant constants[] = {
    {"normalization", "LayerNorm"},
    {"position_embedding_type", "learned_absolute"},
    {"gated_linear_unit", "false"},
    {"add_bias_linear", "true"},
};

static const struct tri_hf_family config = {
    .model_type = "gpt2",
    .architecture = "GPT2LMHeadModel",
    TRI_FAMILY_ROWS(keys),
    TRI_FAMILY_ROWS(constants),
};

#define LAYER "decoder.layers.{}."

static const struct tri_file_tensor tensors[] = {
    {"transformer.wte.weight", "embedding.word_embeddings.weight", NULL, false},
    {"transformer.wpe.weight", "embedding.position_embeddings.weight", NULL, false},
    {"transformer.h.{}.ln_1.weight", LAYER "input_layernorm.weight", NULL, false},
    {"transformer.h.{}.ln_1.bias", LAYER "input_layernorm.bias", NULL, false},
    {"transformer.h.{}.attn.c_attn.weight", LAYER "self_attention.linear_qkv.weight", NULL, true},
    {"transformer.h.{}.attn.c_attn.bias", LAYER "self_attention.linear_qkv.bias", NULL, false},
    {"transformer.h.{}.attn.c_proj.weight", LAYER "self_attention.linear_proj.weight", NULL, true},
    {"transformer.h.{}.attn.c_proj.bias", LAYER "self_attention.linear_proj.bias", NULL, false},
    {"transformer.h.{}.ln_2.weight", LAYER "pre_mlp_layernorm.weight", NULL, false},
    {"transformer.h.{}.ln_2.bias", LAYER "pre_mlp_layernorm.bias", NULL, false},
    {"transformer.h.{}.mlp.c_fc.weight", LAYER "mlp.linear_fc1.weight", NULL, true},
    {"transformer.h.{}.mlp.c_fc.bias", LAYER "mlp.linear_fc1.bias", NULL, false},
    {"transformer.h.{}.mlp.c_proj.weight", LAYER "mlp.linear_fc2.weight", NULL, true},
    {"transformer.h.{}.mlp.c_proj.bias", LAYER "mlp.linear_fc2.bias", NULL, false},
    {"transformer.ln_f.weight", "decoder.final_layernorm.weight", NULL, false},
    {"transformer.ln_f.bias", "decoder.final_layernorm.bias", NULL, false},
    {"lm_head.weight", "output_layer.weight", NULL, false},
};

static const char *const ignored[] = {"h.{}.attn.bias", "h.{}.attn.masked_bias", NULL};

static const struct tri_family_files files = {
    TRI_FAMILY_ROWS(tensors),
    .prefix = "transformer.",
    .ignored = ignored,
};

const struct tri_family tri_family_gpt2 = {
    .name = "gpt2",
    .config = &config,
    .files = &files,
};
