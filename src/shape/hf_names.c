/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vocabulary of config.json that all families share: names of nonlinearities, keys that change a
 * model's function unless they are off, keys that never do.
 */
#include "shape/hf_inner.h"

#include "shape/options.h"

#include <stdio.h>
#include <string.h>

/* The first name of a choice is the one written. gelu_fast is the tanh form with rounded constants. */
static const struct {
    const char *name, *choice;
} activations[] = {
    {"gelu", "gelu"},
    {"gelu_python", "gelu"},
    {"gelu_new", "gelu_tanh"},
    {"gelu_pytorch_tanh", "gelu_tanh"},
    {"gelu_fast", "gelu_tanh"},
    {"gelu_accurate", "gelu_tanh"},
    {"gelu_python_tanh", "gelu_tanh"},
    {"silu", "silu"},
    {"swish", "silu"},
    {"relu", "relu"},
    {"quick_gelu", "quick_gelu"},
    {"relu2", "squared_relu"},
};
enum { NUM_ACTIVATIONS = sizeof(activations) / sizeof(activations[0]) };

/* Keys that make some model compute something else, and the values that mean "off"; null always does. */
static const struct {
    const char *name, *off[2];
} changing_keys[] = {
    {"add_cross_attention", {"false"}},
    {"alibi", {"false"}},
    {"attention_chunk_size", {NULL}},
    {"attention_multiplier", {NULL}},
    {"attention_out_bias", {"false"}},
    {"attn_logit_softcapping", {NULL}},
    {"attn_temperature_tuning", {"false", "0"}},
    {"clip_qkv", {NULL}},
    {"cross_attention_hidden_size", {NULL}},
    {"decoder_sparse_step", {NULL}},
    {"embedding_multiplier", {"1"}},
    {"final_logit_softcapping", {NULL}},
    {"head_dim", {NULL}},
    {"is_encoder_decoder", {"false"}},
    {"kv_lora_rank", {NULL}},
    {"layer_types", {NULL}},
    {"logit_scale", {"1"}},
    {"logits_scaling", {"1"}},
    {"moe_intermediate_size", {NULL}},
    {"n_routed_experts", {"0"}},
    {"n_shared_experts", {"0"}},
    {"no_rope_layers", {NULL}},
    {"num_experts", {"0"}},
    {"num_kv_shared_layers", {"0"}},
    {"num_local_experts", {"0"}},
    {"num_nextn_predict_layers", {"0"}},
    {"parallel_attn", {"false"}},
    {"partial_rotary_factor", {"1"}},
    {"per_layer_config", {"{}"}},
    {"pruned_heads", {"{}"}},
    {"q_lora_rank", {NULL}},
    {"qk_layernorm", {"false"}},
    {"quantization_config", {NULL}},
    {"query_pre_attn_scalar", {NULL}},
    {"residual_multiplier", {"1"}},
    {"rope_interleave", {"false"}},
    {"rope_interleaved", {"false"}},
    {"rope_local_base_freq", {NULL}},
    {"rotary_pct", {"1"}},
    {"scale_attn_by_inverse_layer_idx", {"false"}},
    {"scale_attn_weights", {"true"}},
    {"sliding_window", {NULL}},
    {"use_parallel_residual", {"false"}},
    {"use_bidirectional_attention", {"false"}},
    {"use_mrope", {"false"}},
    {"use_qk_norm", {"false"}},
    {"use_sliding_window", {"false"}},
};
enum { NUM_CHANGING = sizeof(changing_keys) / sizeof(changing_keys[0]) };

/* Keys that concern other tasks, other tools or the way of computing; a trailing * stands for any rest. */
static const char *const harmless_keys[] = {
    "_*",
    "architectures",
    "auto_map",
    "attn_implementation",
    "bad_words_ids",
    "cache_implementation",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "do_sample",
    "dtype",
    "embd_pdrop",
    "finetuning_task",
    "gradient_checkpointing",
    "id2label",
    "is_decoder",
    "is_llama_config",
    "label2id",
    "max_length",
    "max_window_layers",
    "model_type",
    "n_ctx",
    "no_rope_layer_interval",
    "num_labels",
    "original_max_position_embeddings",
    "output_*",
    "pad_token_id",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "reorder_and_upcast_attn",
    "return_dict",
    "sep_token_id",
    "summary_*",
    "task_specific_params",
    "tie_last_hidden_states",
    "tokenizer_class",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "use_bfloat16",
    "use_cache",
    NULL,
};

struct tri_hf_field tri_hf_field_find(struct tri_gpt_config *config, const char *option)
{
    const struct {
        const struct tri_option_table *table;
        void *base;
    } levels[] = {{&tri_gpt_options, config},
                  {&tri_transformer_options, &config->transformer},
                  {&tri_attention_options, &config->transformer.attention},
                  {&tri_config_json_options, config}};
    struct tri_hf_field field = {0};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]) && !field.row; i++)
        field = (struct tri_hf_field){.row = tri_option_find(levels[i].table, option),
                                      .base = levels[i].base};
    TRI_ASSERT(field.row); /* a family's table names options of gpt_config only */
    return field;
}

bool tri_hf_same_option(const char *option, const struct tri_gpt_config *a,
                        const struct tri_gpt_config *b)
{
    char text_a[TRI_OPTION_LONG_TEXT], text_b[TRI_OPTION_LONG_TEXT];
    struct tri_hf_field field_a = tri_hf_field_find((struct tri_gpt_config *)a, option);
    struct tri_hf_field field_b = tri_hf_field_find((struct tri_gpt_config *)b, option);
    tri_option_format(field_a.row, field_a.base, text_a, sizeof(text_a));
    tri_option_format(field_b.row, field_b.base, text_b, sizeof(text_b));
    return strcmp(text_a, text_b) == 0;
}

const char *tri_hf_activation_choice(const char *name)
{
    for (int i = 0; i < NUM_ACTIVATIONS; i++)
        if (strcmp(activations[i].name, name) == 0)
            return activations[i].choice;
    return NULL;
}

const char *tri_hf_activation_name(const char *choice)
{
    for (int i = 0; i < NUM_ACTIVATIONS; i++)
        if (strcmp(activations[i].choice, choice) == 0)
            return activations[i].name;
    return NULL;
}

const char *tri_hf_activation_list(void)
{
    return "gelu, gelu_new, gelu_pytorch_tanh, silu, relu, quick_gelu or relu2";
}

bool tri_hf_json_equal(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

void tri_hf_json_text(const json_t *value, char *buffer, size_t bytes)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    snprintf(buffer, bytes, "%s", text ? text : "?");
    if (text && strlen(text) >= bytes && bytes > 4)
        memcpy(buffer + bytes - 4, "...", 4);
    free(text);
}

static bool is_off(int changing, const json_t *value)
{
    if (json_is_null(value))
        return true;
    for (int i = 0; i < 2 && changing_keys[changing].off[i]; i++) {
        json_t *off = json_loads(changing_keys[changing].off[i], JSON_DECODE_ANY, NULL);
        bool same = off && tri_hf_json_equal(off, value);
        json_decref(off);
        if (same)
            return true;
    }
    return false;
}

static bool is_all_full_attention(const json_t *list)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item) if (!json_is_string(item) ||
                                          strcmp(json_string_value(item), "full_attention") !=
                                              0) return false;
    return json_is_array(list);
}

enum tri_hf_other tri_hf_other_key(const char *name, const json_t *value)
{
    if (strcmp(name, "layer_types") == 0 && is_all_full_attention(value))
        return TRI_HF_OFF;
    for (int i = 0; i < NUM_CHANGING; i++)
        if (strcmp(changing_keys[i].name, name) == 0)
            return is_off(i, value) ? TRI_HF_OFF : TRI_HF_CHANGES;
    for (int i = 0; harmless_keys[i]; i++) {
        size_t length = strlen(harmless_keys[i]);
        bool any_rest = harmless_keys[i][length - 1] == '*';
        if (any_rest ? strncmp(harmless_keys[i], name, length - 1) == 0
                     : strcmp(harmless_keys[i], name) == 0)
            return TRI_HF_HARMLESS;
    }
    return TRI_HF_UNKNOWN;
}
