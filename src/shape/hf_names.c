/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What config.json and shape options call the same things: names of nonlinearities, the option of a field, values
 * as JSON. Keys outside a family's table are in shape/hf_others.c.
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
