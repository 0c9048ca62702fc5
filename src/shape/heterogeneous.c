/* SPDX-License-Identifier: Apache-2.0 */
/* The reader behind shape/heterogeneous.h. */
#include "shape/heterogeneous.h"

#include "base/file.h"
#include "base/json.h"
#include "shape/check.h"
#include "shape/hf_inner.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_FILE ((size_t)4 << 20)

struct blocks {
    const char *place;  /* the file, or the option that has the text */
    const char *option; /* that asks for the blocks */
    tri_status fault;   /* of what is wrong with the JSON */
    struct tri_transformer_config *config;
    tri_error *err;
    size_t layer;
};

int64_t tri_layer_query_groups(const struct tri_transformer_config *config, int64_t layer)
{
    const struct tri_option_list *list = &config->layer_query_groups;
    return layer < list->num ? list->value[layer] : config->num_query_groups;
}

int64_t tri_layer_ffn_size(const struct tri_transformer_config *config, int64_t layer)
{
    const struct tri_option_list *list = &config->layer_ffn_sizes;
    return layer < list->num ? list->value[layer] : config->ffn_hidden_size;
}

/* One half of a layer: the object in the file, NULL where there is none, and what messages call it. */
struct half {
    const char *name;
    const json_t *part;
};

/* The number that key gives, 0 when it is null or absent; problems are noted. */
static double block_number(const struct blocks *blocks, const struct half *half, const char *key,
                           bool is_whole)
{
    const json_t *value = json_object_get(half->part, key);
    double number = json_number_value(value);
    if (!value || json_is_null(value))
        return 0;
    if (number > 0 && number < 1e9 && (!is_whole || number == floor(number)))
        return number;
    tri_error_add(blocks->err, blocks->fault,
                  "%s: '%s.%s' of layer %zu must be a %s above 0, or null", blocks->place,
                  half->name, key, blocks->layer, is_whole ? "whole number" : "number");
    return 0;
}

static bool block_flag(const struct blocks *blocks, const struct half *half, const char *key)
{
    const json_t *value = json_object_get(half->part, key);
    if (value && !json_is_boolean(value) && !json_is_null(value))
        tri_error_add(blocks->err, blocks->fault,
                      "%s: '%s.%s' of layer %zu must be true, false or null", blocks->place,
                      half->name, key, blocks->layer);
    return json_is_true(value);
}

/* Nemotron-NAS files have more keys, which say nothing while they are null or false; what they would change
   is not built. */
static void block_other_keys(const struct blocks *blocks, const struct half *half,
                             const char *const *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)half->part, key, value)
    {
        int i = 0;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i] && !json_is_null(value) && !json_is_false(value))
            tri_error_add(blocks->err, blocks->fault,
                          "%s: '%s.%s' of layer %zu is not known and may change the model; leave "
                          "it null, or out",
                          blocks->place, half->name, key, blocks->layer);
    }
}

/* The entry when the part is left out or replaced, or size, or usual when that is 0. */
static int64_t block_entry(const struct blocks *blocks, const struct half *half, double size,
                           int64_t usual)
{
    bool no_op = block_flag(blocks, half, "no_op");
    bool linear = block_flag(blocks, half, "replace_with_linear");
    if (no_op + linear + (size > 0) > 1)
        tri_error_add(blocks->err, blocks->fault,
                      "%s: '%s' of layer %zu has more than one of a size, 'no_op' and "
                      "'replace_with_linear'; leave one",
                      blocks->place, half->name, blocks->layer);
    return no_op ? TRI_LAYER_NO_OP : linear ? TRI_LAYER_LINEAR : size > 0 ? (int64_t)size : usual;
}

/* "attention", or whichever of two names the layer has its MLP under; an object. */
static struct half block_half(const struct blocks *blocks, const json_t *block, const char *name,
                              const char *other)
{
    const json_t *part = json_object_get(block, name), *second = json_object_get(block, other);
    struct half half = {.name = part || !second ? name : other, .part = part ? part : second};
    if (part && second && part != second)
        tri_error_add(blocks->err, blocks->fault,
                      "%s: layer %zu has both '%s' and '%s', which are the same; leave one",
                      blocks->place, blocks->layer, name, other);
    if (half.part && !json_is_object(half.part)) {
        tri_error_add(blocks->err, blocks->fault, "%s: '%s' of layer %zu must be an object",
                      blocks->place, half.name, blocks->layer);
        half.part = NULL;
    }
    return half;
}

static int64_t block_attention(const struct blocks *blocks, const json_t *block)
{
    static const char *const known[] = {"n_heads_in_group", "num_query_groups", "no_op",
                                        "replace_with_linear", NULL};
    struct half half = block_half(blocks, block, "attention", "attention");
    const struct tri_transformer_config *t = blocks->config;
    int64_t heads = t->num_attention_heads;
    double in_group = block_number(blocks, &half, "n_heads_in_group", true);
    double groups = block_number(blocks, &half, "num_query_groups", true);
    block_other_keys(blocks, &half, known);
    if (in_group > 0 && fmod((double)heads, in_group) != 0)
        tri_error_add(blocks->err, blocks->fault,
                      "%s: 'attention.n_heads_in_group' %g of layer %zu does not divide "
                      "'num_attention_heads' %" PRId64 "; use one of its divisors",
                      blocks->place, in_group, blocks->layer, heads);
    if (in_group > 0 && groups > 0 && groups * in_group != (double)heads)
        tri_error_add(blocks->err, blocks->fault,
                      "%s: 'attention.n_heads_in_group' %g and 'num_query_groups' %g of layer %zu "
                      "do not make %" PRId64 " heads; leave one of them out",
                      blocks->place, in_group, groups, blocks->layer, heads);
    if (in_group > 0)
        groups = (double)heads / in_group;
    else if (groups > 0 && fmod((double)heads, groups) != 0)
        tri_error_add(blocks->err, blocks->fault,
                      "%s: '%s.num_query_groups' %g of layer %zu does not divide "
                      "'num_attention_heads' %" PRId64 "; use one of its divisors",
                      blocks->place, half.name, groups, blocks->layer, heads);
    return block_entry(blocks, &half, groups,
                       t->num_query_groups == TRI_UNSET ? heads : t->num_query_groups);
}

/* A width is two thirds of ffn_mult times the model's, rounded down, and up to a multiple of 256, as in
   Megatron-LM; without one it is the model's own. */
static int64_t block_ffn(const struct blocks *blocks, const json_t *block)
{
    static const char *const known[] = {"ffn_mult", "ffn_hidden_size", "no_op",
                                        "replace_with_linear", NULL};
    struct half half = block_half(blocks, block, "ffn", "mlp");
    const struct tri_transformer_config *t = blocks->config;
    double mult = block_number(blocks, &half, "ffn_mult", false);
    double size = block_number(blocks, &half, "ffn_hidden_size", true);
    block_other_keys(blocks, &half, known);
    if (mult > 0 && size == 0) /* a size of its own goes first, as in Megatron-LM */
        size = (double)(((int64_t)(2 * mult * (double)t->hidden_size / 3) + 255) / 256 * 256);
    return block_entry(blocks, &half, size, tri_ffn_size(t));
}

static void blocks_fill(struct blocks *blocks, const json_t *list)
{
    static const char *const halves[] = {"attention", "ffn", "mlp", NULL};
    struct tri_transformer_config *t = blocks->config;
    const json_t *block;
    json_array_foreach(list, blocks->layer, block)
    {
        const struct half whole = {.name = "block_configs", .part = block};
        block_other_keys(blocks, &whole, halves);
        if (!json_is_object(block))
            tri_error_add(blocks->err, blocks->fault, "%s: layer %zu must be an object",
                          blocks->place, blocks->layer);
        t->layer_query_groups.value[blocks->layer] = block_attention(blocks, block);
        t->layer_ffn_sizes.value[blocks->layer] = block_ffn(blocks, block);
    }
    t->layer_query_groups.num = t->layer_ffn_sizes.num = (int64_t)json_array_size(list);
}

static tri_status blocks_check(const struct blocks *blocks, const json_t *list)
{
    const struct tri_transformer_config *t = blocks->config;
    tri_error *err = blocks->err;
    TRI_CHECK(
        t->layer_query_groups.num == 0 && t->layer_ffn_sizes.num == 0, err, TRI_INVALID,
        "'%s' and 'layer_query_groups' or 'layer_ffn_sizes' say the same; leave one of them out",
        blocks->option);
    TRI_CHECK(t->hidden_size > 0 && t->num_attention_heads > 0, err, TRI_INVALID,
              "'%s' needs 'hidden_size' and 'num_attention_heads'", blocks->option);
    TRI_CHECK(json_is_array(list) && json_array_size(list) >= 1 &&
                  json_array_size(list) <= TRI_OPTION_MAX_ITEMS,
              err, blocks->fault, "%s: 'block_configs' must be a list of 1 to %d layers",
              blocks->place, TRI_OPTION_MAX_ITEMS);
    TRI_CHECK(t->num_layers == TRI_UNSET || t->num_layers == (int64_t)json_array_size(list), err,
              blocks->fault,
              "%s: 'block_configs' has %zu layers but 'num_layers' is %" PRId64
              "; use the same number",
              blocks->place, json_array_size(list), t->num_layers);
    return TRI_OK;
}

/* Such a file is a whole config.json: what it says of the model besides its blocks must be what the shape says. */
static void blocks_compare(const struct blocks *blocks, const json_t *root)
{
    const struct tri_transformer_config *t = blocks->config;
    int64_t heads = t->num_attention_heads;
    int64_t groups = t->num_query_groups == TRI_UNSET ? heads : t->num_query_groups;
    int64_t width = t->kv_channels == TRI_UNSET ? t->hidden_size / heads : t->kv_channels;
    const struct {
        const char *key, *option;
        int64_t own;
    } numbers[] = {
        {"hidden_size", "hidden_size", t->hidden_size},
        {"num_hidden_layers", "num_layers", t->num_layers},
        {"num_attention_heads", "num_attention_heads", heads},
        {"num_key_value_heads", "num_query_groups", groups},
        {"head_dim", "kv_channels", width},
        {"intermediate_size", "ffn_hidden_size", tri_ffn_size(t)},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const json_t *value = json_object_get(root, numbers[i].key);
        if (!value || json_is_null(value) ||
            (json_is_integer(value) && json_integer_value(value) == numbers[i].own))
            continue;
        char text[64];
        tri_hf_json_text(value, text, sizeof(text));
        tri_error_add(blocks->err, blocks->fault,
                      "%s: '%s' is %s, but '%s' of the shape is %" PRId64 "; use the same number",
                      blocks->place, numbers[i].key, text, numbers[i].option, numbers[i].own);
    }
}

/* text is the JSON. */
static tri_status blocks_read(struct blocks *blocks, const char *text, size_t bytes)
{
    json_t *root;
    tri_error *err = blocks->err, *found = tri_error_create();
    tri_status status = tri_json_read_text(text, bytes, blocks->place, found, &root);
    if (status != TRI_OK)
        status = tri_error_add(err, status == TRI_INVALID ? blocks->fault : status, "%s",
                               tri_error_message(found, 0));
    tri_error_destroy(&found);
    TRI_TRY(status);
    const json_t *list = json_object_get(root, "block_configs");
    int problems = tri_error_count(err);
    status = blocks_check(blocks, list);
    if (status == TRI_OK) {
        blocks_fill(blocks, list);
        blocks->config->num_layers = blocks->config->layer_ffn_sizes.num;
        blocks_compare(blocks, root);
        status = tri_error_count(err) > problems ? blocks->fault : TRI_OK;
    }
    json_decref(root);
    return status;
}

tri_status tri_heterogeneous_read(const char *path, struct tri_transformer_config *config,
                                  tri_error *err)
{
    struct blocks blocks = {.place = path,
                            .option = "heterogeneous_layers_config_path",
                            .fault = TRI_IO,
                            .config = config,
                            .err = err};
    char *text;
    size_t bytes;
    TRI_TRY(tri_file_read(path, LARGEST_FILE, err, &text, &bytes));
    tri_status status = blocks_read(&blocks, text, bytes);
    free(text);
    return status;
}

tri_status tri_heterogeneous_read_text(const char *text, struct tri_transformer_config *config,
                                       tri_error *err)
{
    struct blocks blocks = {.place = "heterogeneous_layers_config_encoded_json",
                            .option = "heterogeneous_layers_config_encoded_json",
                            .fault = TRI_INVALID,
                            .config = config,
                            .err = err};
    return blocks_read(&blocks, text, strlen(text));
}
