/* SPDX-License-Identifier: Apache-2.0 */
/* The short forms of Megatron-LM's command line: their rows, and how they become fields. */
#include "shape/options.h"

#include "shape/heterogeneous.h"

#include <math.h>
#include <string.h>

#define SHORT(field) offsetof(struct tri_shape_short, field)

static const struct tri_option short_rows[] = {
    {.name = "swiglu",
     .type = TRI_OPTION_BOOL,
     .offset = SHORT(swiglu),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "Short for activation_func silu with gated_linear_unit."},
    {.name = "disable_bias_linear",
     .type = TRI_OPTION_BOOL,
     .offset = SHORT(disable_bias_linear),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "Short for add_bias_linear false."},
    {.name = "group_query_attention",
     .type = TRI_OPTION_BOOL,
     .offset = SHORT(group_query_attention),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "Use num_query_groups, 1 unless given."},
    {.name = "use_rotary_position_embeddings",
     .type = TRI_OPTION_BOOL,
     .offset = SHORT(use_rotary_position_embeddings),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "Short for position_embedding_type rope."},
    {.name = "apply_layernorm_1p",
     .type = TRI_OPTION_BOOL,
     .offset = SHORT(apply_layernorm_1p),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "Short for layernorm_zero_centered_gamma."},
    {.name = "squared_relu",
     .type = TRI_OPTION_BOOL,
     .offset = SHORT(squared_relu),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "Short for activation_func squared_relu."},
    {.name = "quick_geglu",
     .type = TRI_OPTION_BOOL,
     .offset = SHORT(quick_geglu),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "Short for activation_func quick_gelu with gated_linear_unit."},
    {.name = "heterogeneous_layers_config_path",
     .type = TRI_OPTION_STRING,
     .offset = SHORT(heterogeneous_layers_config_path),
     .flags = TRI_OPTION_HIDDEN,
     .help = "JSON file whose block_configs give layer_query_groups and layer_ffn_sizes."},
    {.name = "heterogeneous_layers_config_encoded_json",
     .type = TRI_OPTION_JSON,
     .offset = SHORT(heterogeneous_layers_config_encoded_json),
     .flags = TRI_OPTION_HIDDEN,
     .help = "The text of such a file itself."},
    {.name = "norm_epsilon",
     .type = TRI_OPTION_DOUBLE,
     .offset = SHORT(norm_epsilon),
     .flags = TRI_OPTION_POSITIVE | TRI_OPTION_HIDDEN,
     .help = "Other name of layernorm_epsilon."},
    {.name = "openai_gelu",
     .type = TRI_OPTION_BOOL,
     .offset = SHORT(openai_gelu),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "Short for activation_func gelu_tanh."},
    {.name = "no_position_embedding",
     .type = TRI_OPTION_BOOL,
     .offset = SHORT(no_position_embedding),
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "No learned table of positions: none at all, unless others are asked for."},
    {.name = "yarn_original_max_position_embeddings",
     .type = TRI_OPTION_DOUBLE,
     .offset = SHORT(yarn_original_max_position_embeddings),
     .flags = TRI_OPTION_POSITIVE | TRI_OPTION_HIDDEN,
     .help = "Other name of original_max_position_embeddings.",
     .when = TRI_WHEN_YARN " or " TRI_WHEN_LLAMA3},
    {.name = "yarn_beta_fast",
     .type = TRI_OPTION_DOUBLE,
     .offset = SHORT(yarn_beta_fast),
     .flags = TRI_OPTION_POSITIVE | TRI_OPTION_HIDDEN,
     .help = "Other name of beta_fast.",
     .when = TRI_WHEN_YARN},
    {.name = "yarn_beta_slow",
     .type = TRI_OPTION_DOUBLE,
     .offset = SHORT(yarn_beta_slow),
     .flags = TRI_OPTION_POSITIVE | TRI_OPTION_HIDDEN,
     .help = "Other name of beta_slow.",
     .when = TRI_WHEN_YARN},
};

const struct tri_option_table tri_shape_short_options = {
    .section = "shape",
    .rows = short_rows,
    .num_rows = sizeof(short_rows) / sizeof(short_rows[0]),
    .struct_bytes = sizeof(struct tri_shape_short),
};

/* A level of the shape while short forms are turned into its fields. */
struct level {
    const struct tri_option_table *table;
    void *config;
    const unsigned char *origin;
};

/* Sets the field called name, on whichever level has it, from the short form that stands for it. */
static void short_apply(const struct level *levels, const char *short_name, const char *name,
                        const char *text, tri_error *err)
{
    while (!tri_option_find(levels->table, name))
        levels++;
    const struct tri_option *row = tri_option_find(levels->table, name);
    char before[TRI_OPTION_TEXT], after[TRI_OPTION_TEXT];
    tri_option_format(row, levels->config, before, sizeof(before));
    if (tri_option_set(row, levels->config, text, short_name, err) != TRI_OK)
        return;
    tri_option_format(row, levels->config, after, sizeof(after));
    if (levels->origin && levels->origin[row - levels->table->rows] && strcmp(before, after) != 0)
        tri_error_add(err, TRI_INVALID,
                      "'%s' means '%s' %s, but '%s' %s was given as well; leave one of them out",
                      short_name, name, after, name, before);
}

struct form {
    bool is_given;
    const char *name, *option, *text;
};

/* True when a form before forms[i] gives its option another value; then err says so. */
static bool form_clashes(const struct form *forms, int i, tri_error *err)
{
    for (int k = 0; k < i; k++) {
        if (!forms[k].is_given || strcmp(forms[k].option, forms[i].option) != 0 ||
            strcmp(forms[k].text, forms[i].text) == 0)
            continue;
        tri_error_add(err, TRI_INVALID,
                      "'%s' means '%s' %s, but '%s' means %s; leave one of them out", forms[i].name,
                      forms[i].option, forms[i].text, forms[k].name, forms[k].text);
        return true;
    }
    return false;
}

/* --no-position-embedding turns off the learned table, and is written beside rotary positions. */
static bool wants_no_positions(const struct tri_shape_short *given,
                               const struct tri_gpt_config *config)
{
    return given->no_position_embedding && !given->use_rotary_position_embeddings &&
           config->position_embedding_type == TRI_POSITION_LEARNED;
}

static void apply_flags(const struct tri_shape_short *given, const struct tri_gpt_config *config,
                        const struct level *levels, tri_error *err)
{
    const struct form forms[] = {
        {given->swiglu, "swiglu", "activation_func", "silu"},
        {given->swiglu, "swiglu", "gated_linear_unit", "true"},
        {given->quick_geglu, "quick_geglu", "activation_func", "quick_gelu"},
        {given->quick_geglu, "quick_geglu", "gated_linear_unit", "true"},
        {given->squared_relu, "squared_relu", "activation_func", "squared_relu"},
        {given->openai_gelu, "openai_gelu", "activation_func", "gelu_tanh"},
        {given->disable_bias_linear, "disable_bias_linear", "add_bias_linear", "false"},
        {given->apply_layernorm_1p, "apply_layernorm_1p", "layernorm_zero_centered_gamma", "true"},
        {given->use_rotary_position_embeddings, "use_rotary_position_embeddings",
         "position_embedding_type", "rope"},
        {wants_no_positions(given, config), "no_position_embedding", "position_embedding_type",
         "none"},
    };
    for (int i = 0; i < (int)(sizeof(forms) / sizeof(forms[0])); i++)
        if (forms[i].is_given && !form_clashes(forms, i, err))
            short_apply(levels, forms[i].name, forms[i].option, forms[i].text, err);
}

static void apply_numbers(const struct tri_shape_short *given, const struct level *levels,
                          tri_error *err)
{
    const struct {
        double value;
        const char *name, *option;
    } forms[] = {
        {given->norm_epsilon, "norm_epsilon", "layernorm_epsilon"},
        {given->yarn_original_max_position_embeddings, "yarn_original_max_position_embeddings",
         "original_max_position_embeddings"},
        {given->yarn_beta_fast, "yarn_beta_fast", "beta_fast"},
        {given->yarn_beta_slow, "yarn_beta_slow", "beta_slow"},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%.17g", forms[i].value);
        if (!isnan(forms[i].value))
            short_apply(levels, forms[i].name, forms[i].option, text, err);
    }
}

static void apply_blocks(const struct tri_shape_short *given, struct tri_transformer_config *t,
                         tri_error *err)
{
    const char *path = given->heterogeneous_layers_config_path;
    const char *text = given->heterogeneous_layers_config_encoded_json;
    if (path[0] && text[0])
        tri_error_add(err, TRI_INVALID,
                      "'heterogeneous_layers_config_path' and "
                      "'heterogeneous_layers_config_encoded_json' say the same; leave one of them "
                      "out");
    else if (path[0])
        tri_heterogeneous_read(path, t, err);
    else if (text[0])
        tri_heterogeneous_read_text(text, t, err);
}

tri_status tri_shape_apply_short(const struct tri_shape_short *given,
                                 const struct tri_shape_origins *origins,
                                 struct tri_gpt_config *config, tri_error *err)
{
    const struct level levels[] = {
        {&tri_transformer_options, &config->transformer, origins->transformer},
        {&tri_attention_options, &config->transformer.attention, origins->attention},
        {&tri_gpt_options, config, origins->gpt},
    };
    int problems = tri_error_count(err);
    apply_flags(given, config, levels, err);
    apply_numbers(given, levels, err);
    if (given->group_query_attention && config->transformer.num_query_groups == TRI_UNSET)
        config->transformer.num_query_groups = 1;
    apply_blocks(given, &config->transformer, err);
    return tri_error_count(err) > problems ? TRI_INVALID : TRI_OK;
}
