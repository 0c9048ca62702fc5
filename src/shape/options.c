/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of section "shape". */
#include "shape/options.h"

#include <math.h>
#include <string.h>

/* Sizes stay below this, so that products of two of them and a few bytes fit in int64_t. */
#define SIZE_MAX_OPTION 1073741824.0
#define IDS_MAX         2147483647.0 /* token ids and positions are int32 */

static const char *const normalizations[] = {"LayerNorm", "RMSNorm", NULL};
static const char *const normalization_aliases[] = {"layernorm", "LayerNorm", "rmsnorm", "RMSNorm",
                                                    NULL};
static const char *const activations[] = {"gelu", "gelu_tanh", "silu", "relu", NULL};
static const char *const activation_aliases[] = {
    "gelu_new", "gelu_tanh", "gelu_pytorch_tanh", "gelu_tanh", "swish", "silu", NULL};
static const char *const positions[] = {"learned_absolute", "rope", "none", NULL};

#define TRANSFORMER(field) offsetof(struct tri_transformer_config, field)
#define GPT(field)         offsetof(struct tri_gpt_config, field)
#define SHORT(field)       offsetof(struct tri_shape_short, field)

static const struct tri_option transformer_rows[] = {
    {.name = "num_layers",
     .type = TRI_OPTION_INT,
     .offset = TRANSFORMER(num_layers),
     .min = 1,
     .max = 1048576,
     .help = "Number of transformer layers."},
    {.name = "hidden_size",
     .type = TRI_OPTION_INT,
     .offset = TRANSFORMER(hidden_size),
     .min = 1,
     .max = SIZE_MAX_OPTION,
     .help = "Width of the residual stream."},
    {.name = "num_attention_heads",
     .type = TRI_OPTION_INT,
     .offset = TRANSFORMER(num_attention_heads),
     .min = 1,
     .max = SIZE_MAX_OPTION,
     .help = "Number of query heads."},
    {.name = "num_query_groups",
     .type = TRI_OPTION_INT,
     .offset = TRANSFORMER(num_query_groups),
     .help = "Number of key and value heads; unset: num_attention_heads."},
    {.name = "kv_channels",
     .type = TRI_OPTION_INT,
     .offset = TRANSFORMER(kv_channels),
     .min = 1,
     .max = SIZE_MAX_OPTION,
     .help = "Width of a head; unset: hidden_size / num_attention_heads."},
    {.name = "ffn_hidden_size",
     .type = TRI_OPTION_INT,
     .offset = TRANSFORMER(ffn_hidden_size),
     .min = 1,
     .max = SIZE_MAX_OPTION,
     .help =
         "Inner width of the MLP; unset: 4 x hidden_size, or two thirds of it rounded down to a "
         "multiple of 64 when gated."},
    {.name = "normalization",
     .type = TRI_OPTION_CHOICE,
     .offset = TRANSFORMER(normalization),
     .default_text = "LayerNorm",
     .choices = normalizations,
     .aliases = normalization_aliases,
     .help = "Kind of every norm."},
    {.name = "layernorm_epsilon",
     .type = TRI_OPTION_DOUBLE,
     .offset = TRANSFORMER(layernorm_epsilon),
     .default_text = "1e-5",
     .flags = TRI_OPTION_POSITIVE,
     .help = "Added to the variance or mean square in every norm."},
    {.name = "activation_func",
     .type = TRI_OPTION_CHOICE,
     .offset = TRANSFORMER(activation_func),
     .default_text = "gelu_tanh",
     .choices = activations,
     .aliases = activation_aliases,
     .help =
         "Nonlinearity of the MLP; gelu is the exact form, gelu_tanh what Megatron-LM's command "
         "line computes by default."},
    {.name = "gated_linear_unit",
     .type = TRI_OPTION_BOOL,
     .offset = TRANSFORMER(gated_linear_unit),
     .default_text = "false",
     .help = "Multiply the activation of one half of linear_fc1 with the other half."},
    {.name = "add_bias_linear",
     .type = TRI_OPTION_BOOL,
     .offset = TRANSFORMER(add_bias_linear),
     .default_text = "true",
     .help = "Give every linear of a layer a bias."},
    {.name = "add_qkv_bias",
     .type = TRI_OPTION_BOOL,
     .offset = TRANSFORMER(add_qkv_bias),
     .default_text = "false",
     .help = "Give queries, keys and values a bias even without add_bias_linear."},
    {.name = "hidden_dropout",
     .type = TRI_OPTION_DOUBLE,
     .offset = TRANSFORMER(hidden_dropout),
     .default_text = "0.1",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "Share of elements dropped after the embedding and before each residual sum."},
    {.name = "attention_dropout",
     .type = TRI_OPTION_DOUBLE,
     .offset = TRANSFORMER(attention_dropout),
     .default_text = "0.1",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "Share of attention probabilities dropped."},
    {.name = "init_method_std",
     .type = TRI_OPTION_DOUBLE,
     .offset = TRANSFORMER(init_method_std),
     .default_text = "0.02",
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help =
         "Standard deviation of initial weights; projections back into the residual stream get it "
         "over sqrt(2 x num_layers)."},
};

static const struct tri_option gpt_rows[] = {
    {.name = "vocab_size",
     .type = TRI_OPTION_INT,
     .offset = GPT(vocab_size),
     .min = 1,
     .max = IDS_MAX,
     .unit = "tokens",
     .help = "Number of token ids, without padding."},
    {.name = "seq_length",
     .type = TRI_OPTION_INT,
     .offset = GPT(seq_length),
     .min = 1,
     .max = IDS_MAX,
     .unit = "tokens",
     .help = "Length of a sample; unset: max_position_embeddings."},
    {.name = "max_position_embeddings",
     .type = TRI_OPTION_INT,
     .offset = GPT(max_position_embeddings),
     .min = 1,
     .max = IDS_MAX,
     .unit = "tokens",
     .help = "Number of positions the model knows; unset: seq_length."},
    {.name = "position_embedding_type",
     .type = TRI_OPTION_CHOICE,
     .offset = GPT(position_embedding_type),
     .default_text = "learned_absolute",
     .choices = positions,
     .help = "How positions enter: a learned table, rotary angles, or not at all."},
    {.name = "rotary_base",
     .type = TRI_OPTION_DOUBLE,
     .offset = GPT(rotary_base),
     .default_text = "10000",
     .flags = TRI_OPTION_POSITIVE,
     .help = "Base of the rotary frequencies."},
    {.name = "rotary_percent",
     .type = TRI_OPTION_DOUBLE,
     .offset = GPT(rotary_percent),
     .default_text = "1.0",
     .flags = TRI_OPTION_POSITIVE,
     .help = "Share of a head's channels that turn."},
    {.name = "rotary_interleaved",
     .type = TRI_OPTION_BOOL,
     .offset = GPT(rotary_interleaved),
     .default_text = "false",
     .help = "Turn neighbouring channels together instead of channel k with k + d/2."},
    {.name = "untie_embeddings_and_output_weights",
     .type = TRI_OPTION_BOOL,
     .offset = GPT(untie_embeddings_and_output_weights),
     .default_text = "false",
     .help = "Give the output layer a weight of its own."},
    {.name = "make_vocab_size_divisible_by",
     .type = TRI_OPTION_INT,
     .offset = GPT(make_vocab_size_divisible_by),
     .default_text = "128",
     .min = 1,
     .max = 65536,
     .flags = TRI_OPTION_HIDDEN,
     .unit = "tokens",
     .help = "The vocabulary is padded to a multiple of this times the tensor-parallel size; "
             "padding is "
             "masked and never saved."},
    {.name = "bos_token_id",
     .type = TRI_OPTION_INT,
     .offset = GPT(bos_token_id),
     .flags = TRI_OPTION_NON_NEGATIVE | TRI_OPTION_HIDDEN,
     .help = "Id of the begin-of-text token, for config.json."},
    {.name = "eos_token_id",
     .type = TRI_OPTION_INT,
     .offset = GPT(eos_token_id),
     .flags = TRI_OPTION_NON_NEGATIVE | TRI_OPTION_HIDDEN,
     .help = "Id of the end-of-text token, for config.json."},
    {.name = "family",
     .type = TRI_OPTION_STRING,
     .offset = GPT(family),
     .flags = TRI_OPTION_HIDDEN,
     .help = "Hugging Face family in which the model is saved; unset: the first that can hold it."},
};

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
    {.name = "norm_epsilon",
     .type = TRI_OPTION_DOUBLE,
     .offset = SHORT(norm_epsilon),
     .flags = TRI_OPTION_POSITIVE | TRI_OPTION_HIDDEN,
     .help = "Other name of layernorm_epsilon."},
};

#define NUM(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

const struct tri_option_table tri_transformer_options = {
    .section = "shape",
    .rows = transformer_rows,
    .num_rows = NUM(transformer_rows),
    .struct_bytes = sizeof(struct tri_transformer_config),
};
const struct tri_option_table tri_gpt_options = {
    .section = "shape",
    .rows = gpt_rows,
    .num_rows = NUM(gpt_rows),
    .struct_bytes = sizeof(struct tri_gpt_config),
};
const struct tri_option_table tri_shape_short_options = {
    .section = "shape",
    .rows = short_rows,
    .num_rows = NUM(short_rows),
    .struct_bytes = sizeof(struct tri_shape_short),
};

void tri_gpt_config_set_defaults(struct tri_gpt_config *config)
{
    memset(config, 0, sizeof(*config));
    tri_option_set_defaults(&tri_gpt_options, config);
    tri_option_set_defaults(&tri_transformer_options, &config->transformer);
}

/* Sets the field called name from the short form that stands for it. */
static void short_apply(const char *short_name, const struct tri_option_table *table, void *config,
                        const unsigned char *origin, const char *name, const char *text,
                        tri_error *err)
{
    const struct tri_option *row = tri_option_find(table, name);
    TRI_ASSERT(row);
    char before[TRI_OPTION_TEXT], after[TRI_OPTION_TEXT];
    tri_option_format(row, config, before, sizeof(before));
    TRI_ASSERT(tri_option_set(row, config, text, short_name, err) == TRI_OK);
    tri_option_format(row, config, after, sizeof(after));
    if (origin && origin[row - table->rows] && strcmp(before, after) != 0)
        tri_error_add(err, TRI_INVALID,
                      "'%s' means '%s' %s, but '%s' %s was given as well; leave one of them out",
                      short_name, name, after, name, before);
}

tri_status tri_shape_apply_short(const struct tri_shape_short *given,
                                 const unsigned char *transformer_origin,
                                 const unsigned char *gpt_origin, struct tri_gpt_config *config,
                                 tri_error *err)
{
    const struct tri_option_table *inner = &tri_transformer_options;
    void *transformer = &config->transformer;
    int problems = tri_error_count(err);
    if (given->swiglu) {
        short_apply("swiglu", inner, transformer, transformer_origin, "activation_func", "silu",
                    err);
        short_apply("swiglu", inner, transformer, transformer_origin, "gated_linear_unit", "true",
                    err);
    }
    if (given->disable_bias_linear)
        short_apply("disable_bias_linear", inner, transformer, transformer_origin,
                    "add_bias_linear", "false", err);
    if (given->group_query_attention && config->transformer.num_query_groups == TRI_UNSET)
        config->transformer.num_query_groups = 1;
    if (given->use_rotary_position_embeddings)
        short_apply("use_rotary_position_embeddings", &tri_gpt_options, config, gpt_origin,
                    "position_embedding_type", "rope", err);
    if (!isnan(given->norm_epsilon)) {
        char text[64];
        snprintf(text, sizeof(text), "%.17g", given->norm_epsilon);
        short_apply("norm_epsilon", inner, transformer, transformer_origin, "layernorm_epsilon",
                    text, err);
    }
    return tri_error_count(err) > problems ? TRI_INVALID : TRI_OK;
}
