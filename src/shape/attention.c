/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of shape/attention.h. */
#include "shape/attention.h"

#include "shape/check.h"
#include "shape/mup.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define LARGEST_WIDTH ((int64_t)1 << 31)

bool tri_is_rotary(const struct tri_gpt_config *config)
{
    int64_t type = config->position_embedding_type;
    return type == TRI_POSITION_ROPE || type == TRI_POSITION_YARN || type == TRI_POSITION_MROPE;
}

int64_t tri_rotary_width(const struct tri_gpt_config *config)
{
    if (!tri_is_rotary(config))
        return 0;
    double width = (double)config->transformer.kv_channels * config->rotary_percent;
    return width > 0 && width <= (double)LARGEST_WIDTH ? (int64_t)width : 0;
}

bool tri_layer_turns(const struct tri_gpt_config *config, int64_t layer)
{
    const struct tri_option_list *list = &config->transformer.attention.no_rope_freq;
    if (!tri_is_rotary(config) || list->num == 0)
        return tri_is_rotary(config);
    if (list->num == 1)
        return list->value[0] < 1 || (layer + 1) % list->value[0] != 0;
    return layer >= list->num || list->value[layer] == 0;
}

int64_t tri_layer_window(const struct tri_gpt_config *config, int64_t layer)
{
    const struct tri_attention_config *a = &config->transformer.attention;
    const struct tri_option_list *list = &a->window_attn_skip_freq;
    bool has_window = list->num == 0   ? true
                      : list->num == 1 ? list->value[0] > 0 && (layer + 1) % list->value[0] != 0
                                       : layer < list->num && list->value[layer] != 0;
    return has_window && a->window_size.num > 0 ? a->window_size.value[0] + 1 : 0;
}

static double default_scale(const struct tri_transformer_config *t)
{
    double head_dim = t->mup_base_head_dim == TRI_UNSET ? 1 : (double)t->mup_base_head_dim;
    double width = (double)t->kv_channels;
    return t->use_mup ? sqrt(head_dim) / pow(width, t->mup_attn_scale_power) : 1 / sqrt(width);
}

double tri_softmax_scale(const struct tri_gpt_config *config)
{
    double given = config->transformer.attention.softmax_scale;
    if (!isnan(given))
        return given;
    return config->transformer.use_mup ? tri_mup_attention_scale(config)
                                       : default_scale(&config->transformer);
}

/* A list of 0 and 1 for each layer that the number n says as well, with value at every n-th layer and the
   other one elsewhere, becomes the number. */
static void resolve_pattern(struct tri_option_list *list, int64_t num_layers, int64_t value,
                            bool must_divide)
{
    if (list->num < 2 || list->num != num_layers)
        return;
    for (int64_t n = 1; n <= num_layers; n++) {
        int64_t i = 0;
        while (i < num_layers && (list->value[i] != 0) == (((i + 1) % n == 0) == (value != 0)))
            i++;
        if (i < num_layers || (must_divide && num_layers % n != 0))
            continue;
        *list = (struct tri_option_list){.num = 1, .value = {n}};
        return;
    }
}

/* What means every layer or none says so shortly. */
static void resolve_window(struct tri_gpt_config *config)
{
    struct tri_attention_config *a = &config->transformer.attention;
    int64_t num_layers = config->transformer.num_layers, windowed = 0;
    if (a->window_size.num == 0)
        return; /* a pattern of no windows is a problem */
    if (a->window_size.num == 1)
        a->window_size.value[a->window_size.num++] = 0;
    if (a->window_size.num == 2 && a->window_size.value[0] < 0)
        a->window_size = (struct tri_option_list){.num = 0};
    const struct tri_option_list *pattern = &a->window_attn_skip_freq;
    if ((pattern->num > 1 && pattern->num != num_layers) ||
        (pattern->num == 1 && pattern->value[0] < 1))
        return; /* problems */
    for (int64_t layer = 0; layer < num_layers && layer <= TRI_OPTION_MAX_ITEMS; layer++)
        windowed += tri_layer_window(config, layer) > 0;
    if (windowed == 0 && a->window_size.num > 0 && num_layers > 0)
        a->window_size = (struct tri_option_list){.num = 0};
    if (a->window_size.num == 0 || windowed == num_layers)
        a->window_attn_skip_freq = (struct tri_option_list){.num = 0};
    resolve_pattern(&a->window_attn_skip_freq, num_layers, 0, false);
}

void tri_attention_resolve(struct tri_gpt_config *config)
{
    struct tri_attention_config *a = &config->transformer.attention;
    if (a->original_max_position_embeddings == TRI_UNSET) {
        if (config->position_embedding_type == TRI_POSITION_YARN)
            a->original_max_position_embeddings = 4096;
        else if (a->use_rope_scaling)
            a->original_max_position_embeddings = 8192;
    }
    if (a->rotary_seq_len_interpolation_factor == 1)
        a->rotary_seq_len_interpolation_factor = NAN;
    if (config->transformer.kv_channels > 0 &&
        a->softmax_scale == default_scale(&config->transformer) && !config->transformer.use_mup)
        a->softmax_scale = NAN;
    if (a->no_rope_freq.num == config->transformer.num_layers && a->no_rope_freq.num > 1) {
        int64_t skipped = 0;
        for (int64_t i = 0; i < a->no_rope_freq.num; i++)
            skipped += a->no_rope_freq.value[i] != 0;
        if (skipped == 0)
            a->no_rope_freq = (struct tri_option_list){.num = 0};
        resolve_pattern(&a->no_rope_freq, config->transformer.num_layers, 1, true);
    }
    resolve_window(config);
}

struct check {
    tri_error *err;
    const struct tri_gpt_config *config;
    int problems;
};

#define PROBLEM(check, ...)                                                                        \
    ((check)->problems++, (void)tri_error_add((check)->err, TRI_INVALID, __VA_ARGS__))

/* Head widths near channels whose turning part is even, "6 or 10". Empty: none is near. */
static void list_even_widths(const struct tri_gpt_config *config, char *text, size_t bytes)
{
    struct tri_gpt_config other = *config;
    int64_t channels = config->transformer.kv_channels;
    size_t used = 0;
    text[0] = '\0';
    for (int step = -1; step <= 1; step += 2)
        for (int64_t i = 1; i <= 65536; i++) {
            int64_t width = other.transformer.kv_channels = channels + step * i;
            if (width < 1 || tri_rotary_width(&other) < 2 || tri_rotary_width(&other) % 2 != 0)
                continue;
            used += (size_t)snprintf(text + used, bytes - used, "%s%" PRId64, used ? " or " : "",
                                     width);
            break;
        }
}

static void check_width(struct check *check)
{
    const struct tri_gpt_config *c = check->config;
    int64_t channels = c->transformer.kv_channels;
    if (!(c->rotary_base > 0) || isinf(c->rotary_base))
        PROBLEM(check, "'rotary_base' %g must be above 0 and finite; 10000 is usual",
                c->rotary_base);
    if (!(c->rotary_percent > 0) || c->rotary_percent > 1) {
        PROBLEM(check, "'rotary_percent' %g must be above 0 and at most 1; 1.0 turns every channel",
                c->rotary_percent);
        return;
    }
    int64_t width = tri_rotary_width(c);
    char works[64];
    if (channels < 1 || channels > LARGEST_WIDTH || (width >= 2 && width % 2 == 0))
        return;
    list_even_widths(c, works, sizeof(works));
    PROBLEM(check,
            "'rotary_percent' %g of 'kv_channels' %" PRId64 " turns %" PRId64
            " channels, which must be an even number of at least 2; use 'kv_channels' %s, or "
            "another 'rotary_percent'",
            c->rotary_percent, channels, width, works[0] ? works : "that are more");
}

/* At most one way of scaling, with numbers that have a meaning. */
static void check_scaling(struct check *check)
{
    const struct tri_gpt_config *c = check->config;
    const struct tri_attention_config *a = &c->transformer.attention;
    bool is_linear = !isnan(a->rotary_seq_len_interpolation_factor);
    bool is_dynamic = !isnan(a->rope_dynamic_factor);
    bool is_yarn = c->position_embedding_type == TRI_POSITION_YARN;
    if (is_linear + is_dynamic + a->use_rope_scaling + is_yarn > 1)
        PROBLEM(
            check,
            "rotary frequencies can be scaled in one way only; keep one of "
            "'rotary_seq_len_interpolation_factor', 'rope_dynamic_factor', 'use_rope_scaling' and "
            "'position_embedding_type' yarn");
    if (a->use_rope_scaling && !(a->rope_low_freq_factor < a->rope_high_freq_factor))
        PROBLEM(
            check,
            "'rope_low_freq_factor' %g must be below 'rope_high_freq_factor' %g; 1 and 4 are usual",
            a->rope_low_freq_factor, a->rope_high_freq_factor);
    if (is_yarn && !(a->beta_slow <= a->beta_fast))
        PROBLEM(check, "'beta_slow' %g must not be above 'beta_fast' %g; 1 and 32 are usual",
                a->beta_slow, a->beta_fast);
    if (is_dynamic && (a->rope_dynamic_factor < 1 || tri_rotary_width(c) == 2))
        PROBLEM(
            check,
            "'rope_dynamic_factor' %g needs to be 1 or more and to turn 4 channels or more; this "
            "shape turns %" PRId64,
            a->rope_dynamic_factor, tri_rotary_width(c));
    if ((is_yarn || a->use_rope_scaling) && a->original_max_position_embeddings < 1)
        PROBLEM(check, "'original_max_position_embeddings' %" PRId64 " is below 1; 4096 is usual",
                a->original_max_position_embeddings);
}

static void check_sections(struct check *check)
{
    const struct tri_gpt_config *c = check->config;
    const struct tri_option_list *sections = &c->transformer.attention.mrope_section;
    int64_t pairs = tri_rotary_width(c) / 2, sum = 0;
    bool is_mrope = c->position_embedding_type == TRI_POSITION_MROPE, is_below = false;
    if (!is_mrope)
        return;
    for (int64_t i = 0; i < sections->num; i++) {
        sum += sections->value[i];
        is_below |= sections->value[i] < 0;
    }
    if (sections->num != 3 || sum != pairs || is_below)
        PROBLEM(check,
                "'mrope_section' has %" PRId64 " numbers that add up to %" PRId64
                "; mrope needs three that add up to %" PRId64 " pairs of channels",
                sections->num, sum, pairs);
}

/* A pattern over layers: one number of at least 1, or one entry for each layer. */
static void check_pattern(struct check *check, const char *name, const struct tri_option_list *list,
                          bool must_divide)
{
    int64_t num_layers = check->config->transformer.num_layers;
    if (list->num > 1 && list->num != num_layers)
        PROBLEM(check,
                "'%s' has %" PRId64 " entries for %" PRId64
                " layers ('num_layers'); give one number, or one entry for each layer",
                name, list->num, num_layers);
    else if (list->num == 1 && list->value[0] < 1)
        PROBLEM(check, "'%s' %" PRId64 " must be at least 1; n means every n-th layer", name,
                list->value[0]);
    else if (list->num == 1 && must_divide && num_layers > 0 && num_layers % list->value[0] != 0) {
        char works[256];
        tri_list_divisors(num_layers, works, sizeof(works));
        PROBLEM(check,
                "'%s' %" PRId64 " does not divide 'num_layers' %" PRId64
                "; use %s, or one entry for each layer",
                name, list->value[0], num_layers, works);
    }
}

static void check_windows(struct check *check)
{
    const struct tri_attention_config *a = &check->config->transformer.attention;
    const struct tri_option_list *window = &a->window_size;
    if (window->num > 2)
        PROBLEM(check,
                "'window_size' has %" PRId64 " numbers; give those to the left and right, [127, 0]",
                window->num);
    else if (window->num > 0 && (window->value[0] > LARGEST_WIDTH || window->value[1] != 0))
        PROBLEM(check,
                "'window_size' %" PRId64 ",%" PRId64
                " would look ahead or is too large; the second number must be 0",
                window->value[0], window->value[1]);
    if (window->num == 0 && a->window_attn_skip_freq.num > 0)
        PROBLEM(check,
                "'window_attn_skip_freq' says which layers have a window, but there is none; "
                "set 'window_size', or leave the pattern out");
    check_pattern(check, "window_attn_skip_freq", &a->window_attn_skip_freq, false);
    check_pattern(check, "no_rope_freq", &a->no_rope_freq, true);
}

static void check_scores(struct check *check)
{
    const struct tri_attention_config *a = &check->config->transformer.attention;
    if (a->qk_norm_across_heads &&
        (!a->qk_layernorm || check->config->transformer.normalization != TRI_NORM_RMSNORM ||
         check->config->transformer.layernorm_zero_centered_gamma))
        PROBLEM(check, "'qk_norm_across_heads' needs 'qk_layernorm' and 'normalization' RMSNorm "
                       "without 'layernorm_zero_centered_gamma'");
    if (a->qk_layernorm && a->qk_l2_norm)
        PROBLEM(check, "'qk_layernorm' and 'qk_l2_norm' exclude each other; keep one of them");
    if (a->softmax_type < 0 || a->softmax_type > TRI_SOFTMAX_LEARNABLE)
        PROBLEM(check, "'softmax_type' is number %" PRId64 " of a list of 3; use one of them",
                a->softmax_type);
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"softmax_scale", a->softmax_scale},
                   {"attn_logit_softcapping", a->attn_logit_softcapping}};
    for (int i = 0; i < 2; i++)
        if (!isnan(numbers[i].value) && (!(numbers[i].value > 0) || isinf(numbers[i].value)))
            PROBLEM(check, "'%s' %g must be above 0 and finite; leave it unset", numbers[i].name,
                    numbers[i].value);
}

int tri_attention_check(const struct tri_gpt_config *config, tri_error *err)
{
    struct check check = {.err = err, .config = config};
    if (tri_is_rotary(config)) {
        check_width(&check);
        check_scaling(&check);
        check_sections(&check);
    }
    check_windows(&check);
    check_scores(&check);
    return check.problems;
}
