/* SPDX-License-Identifier: Apache-2.0 */
/* The derivations and the rules of shape/check.h: one small function per rule. */
#include "shape/check.h"

#include "shape/attention.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Sizes beyond this overflow when they meet each other. */
#define LARGEST_SIZE ((int64_t)1 << 31)

static bool is_size(int64_t value)
{
    return value >= 1 && value <= LARGEST_SIZE;
}

int64_t tri_ffn_size(const struct tri_transformer_config *t)
{
    if (t->ffn_hidden_size != TRI_UNSET || !is_size(t->hidden_size))
        return t->ffn_hidden_size;
    return t->gated_linear_unit ? 8 * t->hidden_size / 3 / 64 * 64 : 4 * t->hidden_size;
}

void tri_gpt_config_resolve(struct tri_gpt_config *config)
{
    struct tri_transformer_config *t = &config->transformer;
    if (t->num_query_groups == TRI_UNSET)
        t->num_query_groups = t->num_attention_heads;
    if (t->kv_channels == TRI_UNSET && is_size(t->hidden_size) && is_size(t->num_attention_heads) &&
        t->hidden_size % t->num_attention_heads == 0)
        t->kv_channels = t->hidden_size / t->num_attention_heads;
    t->ffn_hidden_size = tri_ffn_size(t);
    if (t->add_bias_linear)
        t->add_qkv_bias = t->add_proj_bias = t->add_mlp_bias = true;
    t->add_bias_linear = t->add_qkv_bias && t->add_proj_bias && t->add_mlp_bias;
    if (t->use_mup && t->mup_base_hidden_size == TRI_UNSET)
        t->mup_base_hidden_size = t->hidden_size;
    if (config->seq_length == TRI_UNSET)
        config->seq_length = config->max_position_embeddings;
    if (config->max_position_embeddings == TRI_UNSET)
        config->max_position_embeddings = config->seq_length;
    tri_attention_resolve(config);
}

struct check {
    tri_error *err;
    const struct tri_gpt_config *config;
    int problems;
};

#define PROBLEM(check, ...)                                                                        \
    ((check)->problems++, (void)tri_error_add((check)->err, TRI_INVALID, __VA_ARGS__))

void tri_list_divisors(int64_t n, char *text, size_t bytes)
{
    int64_t found[10];
    int count = 0, more = 0;
    for (int64_t d = 1; d <= n / d; d++) {
        if (n % d != 0)
            continue;
        if (count < 9)
            found[count++] = d;
        else
            more++;
    }
    for (int i = count - 1; i >= 0 && count < 10 && !more; i--)
        if (found[i] != n / found[i])
            found[count++] = n / found[i];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count && used + 24 < bytes; i++) {
        const char *joint = i == 0 ? "" : i == count - 1 ? " or " : ", ";
        used += (size_t)snprintf(text + used, bytes - used, "%s%" PRId64, joint, found[i]);
    }
}

/* Each size must be there, whole and not absurd; what other rules divide by. */
static void check_sizes(struct check *check)
{
    const struct tri_gpt_config *c = check->config;
    const struct tri_transformer_config *t = &c->transformer;
    const struct {
        const char *name;
        int64_t value;
        const char *way_out;
    } sizes[] = {
        {"num_layers", t->num_layers, "set it in section shape"},
        {"hidden_size", t->hidden_size, "set it in section shape"},
        {"num_attention_heads", t->num_attention_heads, "set it in section shape"},
        {"vocab_size", c->vocab_size, "set it in section shape or name a tokenizer"},
        {"seq_length", c->seq_length, "set it in section shape"},
        {"make_vocab_size_divisible_by", c->make_vocab_size_divisible_by, "128 is usual"},
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i].value == TRI_UNSET)
            PROBLEM(check, "'%s' is not set; %s", sizes[i].name, sizes[i].way_out);
        else if (!is_size(sizes[i].value))
            PROBLEM(check, "'%s' %" PRId64 " is not between 1 and %" PRId64 "; %s", sizes[i].name,
                    sizes[i].value, LARGEST_SIZE, sizes[i].way_out);
    }
    if (is_size(t->hidden_size) && t->ffn_hidden_size != TRI_UNSET && !is_size(t->ffn_hidden_size))
        PROBLEM(check,
                "'ffn_hidden_size' %" PRId64 " is not between 1 and %" PRId64 "; set it, %" PRId64
                " is usual",
                t->ffn_hidden_size, LARGEST_SIZE, 4 * t->hidden_size);
}

static void check_heads(struct check *check)
{
    const struct tri_transformer_config *t = &check->config->transformer;
    char works[256];
    if (!is_size(t->num_attention_heads))
        return;
    tri_list_divisors(t->num_attention_heads, works, sizeof(works));
    if (!is_size(t->num_query_groups) || t->num_attention_heads % t->num_query_groups != 0)
        PROBLEM(check,
                "'num_query_groups' %" PRId64
                " must be at least 1 and divide 'num_attention_heads' %" PRId64 "; use %s",
                t->num_query_groups, t->num_attention_heads, works);
    if (!is_size(t->hidden_size))
        return;
    tri_list_divisors(t->hidden_size, works, sizeof(works));
    if (t->kv_channels == TRI_UNSET)
        PROBLEM(check,
                "'num_attention_heads' %" PRId64 " does not divide 'hidden_size' %" PRId64
                "; use %s, or set 'kv_channels'",
                t->num_attention_heads, t->hidden_size, works);
    else if (!is_size(t->kv_channels))
        PROBLEM(check,
                "'kv_channels' %" PRId64 " is not between 1 and %" PRId64
                "; leave it unset for hidden_size / num_attention_heads",
                t->kv_channels, LARGEST_SIZE);
    else if (t->num_attention_heads > LARGEST_SIZE / 4 / t->kv_channels)
        PROBLEM(check,
                "'num_attention_heads' %" PRId64 " times 'kv_channels' %" PRId64
                " is beyond %" PRId64 "; use smaller ones",
                t->num_attention_heads, t->kv_channels, LARGEST_SIZE / 4);
}

static void check_positions(struct check *check)
{
    const struct tri_gpt_config *c = check->config;
    if (!is_size(c->seq_length))
        return;
    if (!is_size(c->max_position_embeddings))
        PROBLEM(check,
                "'max_position_embeddings' %" PRId64 " is not between 1 and %" PRId64
                "; leave it unset for 'seq_length'",
                c->max_position_embeddings, LARGEST_SIZE);
    else if (c->seq_length > c->max_position_embeddings &&
             !(tri_is_rotary(c) && c->transformer.attention.rope_dynamic_factor > 0))
        PROBLEM(check,
                "'seq_length' %" PRId64 " is beyond 'max_position_embeddings' %" PRId64
                "; use at most %" PRId64,
                c->seq_length, c->max_position_embeddings, c->max_position_embeddings);
}

static void check_attention(struct check *check)
{
    check->problems += tri_attention_check(check->config, check->err);
}

/* Layers that say their own sizes: as many entries as layers, groups that divide the heads. */
static void check_layer_sizes(struct check *check)
{
    const struct tri_transformer_config *t = &check->config->transformer;
    const struct {
        const char *name;
        const struct tri_option_list *list;
    } lists[] = {{"layer_query_groups", &t->layer_query_groups},
                 {"layer_ffn_sizes", &t->layer_ffn_sizes}};
    char works[256] = "1";
    if (t->layer_query_groups.num > 0 && is_size(t->num_attention_heads))
        tri_list_divisors(t->num_attention_heads, works, sizeof(works));
    for (int l = 0; l < 2; l++) {
        const struct tri_option_list *list = lists[l].list;
        if (list->num != 0 && list->num != t->num_layers)
            PROBLEM(check,
                    "'%s' has %" PRId64 " entries for %" PRId64
                    " layers ('num_layers'); give one for each, or none",
                    lists[l].name, list->num, t->num_layers);
        for (int64_t i = 0; i < list->num; i++) {
            int64_t value = list->value[i];
            bool is_kind = value == TRI_LAYER_NO_OP || value == TRI_LAYER_LINEAR;
            bool divides = l == 1 || (is_size(value) && is_size(t->num_attention_heads) &&
                                      t->num_attention_heads % value == 0);
            if (!is_kind && (!is_size(value) || !divides))
                PROBLEM(check,
                        "'%s' %" PRId64 " of layer %" PRId64
                        " is no size that works; use %s, 0 for none or -1 for a linear",
                        lists[l].name, value, i, l == 0 ? works : "1 or more");
        }
    }
}

static void check_structure(struct check *check)
{
    const struct tri_transformer_config *t = &check->config->transformer;
    if (t->use_parallel_residual && t->norm_position != TRI_NORM_PRE)
        PROBLEM(check,
                "'use_parallel_residual' goes with 'norm_position' pre only; set one of them");
    if (!t->gated_linear_unit && !isnan(t->activation_func_clamp_value))
        PROBLEM(check,
                "'activation_func_clamp_value' %g bounds the halves of a gated unit; set "
                "'gated_linear_unit', or leave it unset",
                t->activation_func_clamp_value);
    if (!t->gated_linear_unit && t->glu_linear_offset != 0)
        PROBLEM(check,
                "'glu_linear_offset' %g moves one half of a gated unit; set "
                "'gated_linear_unit', or leave it 0",
                t->glu_linear_offset);
}

static void check_numbers(struct check *check)
{
    const struct tri_transformer_config *t = &check->config->transformer;
    const struct {
        const char *name;
        double value;
    } dropouts[] = {{"hidden_dropout", t->hidden_dropout},
                    {"attention_dropout", t->attention_dropout}};
    for (size_t i = 0; i < 2; i++)
        if (!(dropouts[i].value >= 0 && dropouts[i].value < 1))
            PROBLEM(check, "'%s' %g must be at least 0 and below 1; 0 turns it off",
                    dropouts[i].name, dropouts[i].value);
    if (!(t->layernorm_epsilon > 0) || isinf(t->layernorm_epsilon))
        PROBLEM(check, "'layernorm_epsilon' %g must be above 0 and finite; 1e-5 is usual",
                t->layernorm_epsilon);
    const struct {
        const char *name;
        double value;
    } factors[] = {{"residual_multiplier", t->residual_multiplier},
                   {"embedding_multiplier", check->config->embedding_multiplier},
                   {"logits_scaling", check->config->logits_scaling},
                   {"mup_embedding_mult", t->mup_embedding_mult},
                   {"mup_output_mult", t->mup_output_mult}};
    for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
        if (!(factors[i].value > 0) || isinf(factors[i].value))
            PROBLEM(check, "'%s' %g must be above 0 and finite; 1 turns it off", factors[i].name,
                    factors[i].value);
    if (check->config->final_logit_softcapping <= 0 ||
        isinf(check->config->final_logit_softcapping))
        PROBLEM(check, "'final_logit_softcapping' %g must be above 0 and finite; none turns it off",
                check->config->final_logit_softcapping);
    if (t->embedding_init_method_std < 0 || isinf(t->embedding_init_method_std))
        PROBLEM(check, "'embedding_init_method_std' %g must be 0 or more and finite",
                t->embedding_init_method_std);
    if (t->use_mup && (!is_size(t->mup_base_hidden_size) ||
                       (t->mup_base_head_dim != TRI_UNSET && !is_size(t->mup_base_head_dim))))
        PROBLEM(check,
                "'mup_base_hidden_size' %" PRId64 " and 'mup_base_head_dim' must be 1 or more",
                t->mup_base_hidden_size);
    if (isinf(t->activation_func_clamp_value) || t->activation_func_clamp_value <= 0)
        PROBLEM(check,
                "'activation_func_clamp_value' %g must be above 0 and finite; none turns it off",
                t->activation_func_clamp_value);
    if (!isfinite(t->glu_linear_offset))
        PROBLEM(check, "'glu_linear_offset' %g must be finite; 0 turns it off",
                t->glu_linear_offset);
    if (!(t->init_method_std >= 0) || isinf(t->init_method_std))
        PROBLEM(check, "'init_method_std' %g must be 0 or more and finite; 0.02 is usual",
                t->init_method_std);
}

static void check_choices(struct check *check)
{
    const struct tri_gpt_config *c = check->config;
    const struct {
        const char *name;
        int64_t value, count;
    } choices[] = {
        {"normalization", c->transformer.normalization, TRI_NORM_RMSNORM + 1},
        {"activation_func", c->transformer.activation_func, TRI_ACT_SQUARED_RELU + 1},
        {"position_embedding_type", c->position_embedding_type, TRI_POSITION_NONE + 1},
        {"norm_position", c->transformer.norm_position, TRI_NORM_SANDWICH + 1},
    };
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        if (choices[i].value < 0 || choices[i].value >= choices[i].count)
            PROBLEM(check,
                    "'%s' is number %" PRId64 " of its list, which has %" PRId64
                    " entries; use one of them",
                    choices[i].name, choices[i].value, choices[i].count);
}

static void (*const rules[])(struct check *check) = {
    check_sizes,       check_heads,     check_positions, check_attention,
    check_layer_sizes, check_structure, check_numbers,   check_choices,
};

tri_status tri_gpt_config_check(const struct tri_gpt_config *config, tri_error *err)
{
    struct check check = {.err = err, .config = config};
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        rules[i](&check);
    return check.problems ? TRI_INVALID : TRI_OK;
}
