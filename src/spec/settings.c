/* SPDX-License-Identifier: Apache-2.0 */
/* Noting, comparing and formatting of settings. */
#include "spec/settings.h"

#include "spec/modules.h"
#include "spec/sizing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void settings_add(struct tri_settings *settings, const char *name, const char *word,
                         double number)
{
    TRI_ASSERT(settings->num < TRI_MAX_SETTINGS);
    settings->list[settings->num++] =
        (struct tri_setting){.name = name, .word = word, .number = number};
}

void tri_settings_number(struct tri_settings *settings, const char *name, double number)
{
    settings_add(settings, name, NULL, number);
}

void tri_settings_unless(struct tri_settings *settings, const char *name, double number,
                         double neutral)
{
    if (number != neutral)
        settings_add(settings, name, NULL, number);
}

void tri_settings_word(struct tri_settings *settings, const char *name, const char *word)
{
    settings_add(settings, name, word, NAN);
}

void tri_settings_flag(struct tri_settings *settings, const char *name, bool is_set)
{
    if (is_set)
        settings_add(settings, name, NULL, NAN);
}

void tri_settings_init(struct tri_settings *settings, const struct tri_linear_init *init)
{
    if (init->xavier)
        tri_settings_word(settings, "init", "xavier");
    else
        tri_settings_number(settings, "init", init->std);
}

void tri_settings_linear(struct tri_settings *settings, int64_t in, int64_t out, bool bias,
                         const struct tri_linear_init *init)
{
    tri_settings_number(settings, "in", (double)in);
    tri_settings_number(settings, "out", (double)out);
    tri_settings_flag(settings, "bias", bias);
    tri_settings_init(settings, init);
}

void tri_settings_norm(struct tri_settings *settings, const struct tri_norm_params *params)
{
    tri_settings_number(settings, "size", (double)params->size);
    tri_settings_number(settings, "eps", params->eps);
    tri_settings_unless(settings, "heads", (double)params->heads, 0);
    tri_settings_flag(settings, "bias", params->bias);
    tri_settings_flag(settings, "zero_centered", params->zero_centered);
}

void tri_module_spec_settings(const struct tri_module_spec *node, struct tri_settings *settings)
{
    /* every implementation has the parameters of the module that it is of */
    const struct tri_module_row *row = tri_module_row_find(node->module, node->implementation);
    if (!row || !row->settings)
        row = tri_module_row_find(node->module, NULL);
    settings->num = 0;
    if (row && row->settings)
        row->settings(node, settings);
}

bool tri_settings_equal(const struct tri_settings *a, const struct tri_settings *b)
{
    if (a->num != b->num)
        return false;
    for (int i = 0; i < a->num; i++) {
        const struct tri_setting *x = &a->list[i], *y = &b->list[i];
        bool same_word = x->word && y->word ? strcmp(x->word, y->word) == 0 : x->word == y->word;
        bool same_number = x->number == y->number || (isnan(x->number) && isnan(y->number));
        if (strcmp(x->name, y->name) != 0 || !same_word || !same_number)
            return false;
    }
    return true;
}

void tri_settings_format(const struct tri_settings *settings, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < settings->num && used < bytes; i++) {
        const struct tri_setting *setting = &settings->list[i];
        char value[48] = "";
        if (setting->word)
            snprintf(value, sizeof(value), " %s", setting->word);
        else if (!isnan(setting->number))
            snprintf(value, sizeof(value), " %.10g", setting->number);
        used += (size_t)snprintf(text + used, bytes - used, "%s%s%s", i ? ", " : "", setting->name,
                                 value);
    }
}
