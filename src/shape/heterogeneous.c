/* SPDX-License-Identifier: Apache-2.0 */
/* The reader behind shape/heterogeneous.h. */
#include "shape/heterogeneous.h"

#include "base/file.h"
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define LARGEST_FILE ((size_t)4 << 20)

struct blocks {
    const char *path;
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

/* The size that key gives, 0 when it is null or absent; problems are noted. */
static double block_number(const struct blocks *blocks, const json_t *part, const char *name,
                           const char *key)
{
    const json_t *value = json_object_get(part, key);
    if (!value || json_is_null(value))
        return 0;
    if (json_is_number(value) && json_number_value(value) > 0 && json_number_value(value) < 1e9)
        return json_number_value(value);
    tri_error_add(blocks->err, TRI_INVALID,
                  "%s: '%s.%s' of layer %zu must be a number above 0, or null", blocks->path, name,
                  key, blocks->layer);
    return 0;
}

/* The entry when the part is left out or replaced, or fallback. has_size: it gives a size as well. */
static int64_t block_variant(const struct blocks *blocks, const json_t *part, const char *name,
                             bool has_size, int64_t fallback)
{
    bool no_op = json_is_true(json_object_get(part, "no_op"));
    bool linear = json_is_true(json_object_get(part, "replace_with_linear"));
    if (no_op + linear + has_size > 1)
        tri_error_add(blocks->err, TRI_INVALID,
                      "%s: '%s' of layer %zu has more than one of a size, 'no_op' and "
                      "'replace_with_linear'; leave one",
                      blocks->path, name, blocks->layer);
    return no_op ? TRI_LAYER_NO_OP : linear ? TRI_LAYER_LINEAR : fallback;
}

static int64_t block_attention(const struct blocks *blocks, const json_t *part)
{
    const struct tri_transformer_config *t = blocks->config;
    int64_t heads = t->num_attention_heads;
    double in_group = block_number(blocks, part, "attention", "n_heads_in_group");
    double groups = block_number(blocks, part, "attention", "num_query_groups");
    int64_t usual = t->num_query_groups == TRI_UNSET ? heads : t->num_query_groups;
    if (in_group > 0) {
        groups = (double)heads / in_group;
        if (groups != floor(groups))
            tri_error_add(blocks->err, TRI_INVALID,
                          "%s: 'attention.n_heads_in_group' %g of layer %zu does not divide "
                          "'num_attention_heads' %" PRId64 "; use one of its divisors",
                          blocks->path, in_group, blocks->layer, heads);
    }
    return block_variant(blocks, part, "attention", groups > 0,
                         groups > 0 ? (int64_t)groups : usual);
}

/* Two thirds of ffn_mult times the width, rounded up to a multiple of 256. */
static int64_t block_ffn(const struct blocks *blocks, const json_t *part)
{
    const struct tri_transformer_config *t = blocks->config;
    double mult = block_number(blocks, part, "ffn", "ffn_mult");
    double size = block_number(blocks, part, "ffn", "ffn_hidden_size");
    int64_t usual = t->ffn_hidden_size == TRI_UNSET ? 4 * t->hidden_size : t->ffn_hidden_size;
    if (mult > 0)
        size = (double)(((int64_t)(2 * mult * (double)t->hidden_size / 3) + 255) / 256 * 256);
    return block_variant(blocks, part, "ffn", size > 0, size > 0 ? (int64_t)size : usual);
}

static void blocks_fill(struct blocks *blocks, const json_t *list)
{
    struct tri_transformer_config *t = blocks->config;
    const json_t *block;
    json_array_foreach(list, blocks->layer, block)
    {
        const json_t *ffn = json_object_get(block, "ffn");
        t->layer_query_groups.value[blocks->layer] =
            block_attention(blocks, json_object_get(block, "attention"));
        t->layer_ffn_sizes.value[blocks->layer] =
            block_ffn(blocks, ffn ? ffn : json_object_get(block, "mlp"));
    }
    t->layer_query_groups.num = t->layer_ffn_sizes.num = (int64_t)json_array_size(list);
}

static tri_status blocks_check(const struct blocks *blocks, const json_t *list)
{
    const struct tri_transformer_config *t = blocks->config;
    tri_error *err = blocks->err;
    TRI_CHECK(
        t->layer_query_groups.num == 0 && t->layer_ffn_sizes.num == 0, err, TRI_INVALID,
        "'heterogeneous_layers_config_path' and 'layer_query_groups' or 'layer_ffn_sizes' say "
        "the same; leave one of them out");
    TRI_CHECK(t->hidden_size > 0 && t->num_attention_heads > 0, err, TRI_INVALID,
              "'heterogeneous_layers_config_path' needs 'hidden_size' and 'num_attention_heads'");
    TRI_CHECK(json_is_array(list) && json_array_size(list) >= 1 &&
                  json_array_size(list) <= TRI_OPTION_MAX_ITEMS,
              err, TRI_INVALID, "%s: 'block_configs' must be a list of 1 to %d layers",
              blocks->path, TRI_OPTION_MAX_ITEMS);
    TRI_CHECK(t->num_layers == TRI_UNSET || t->num_layers == (int64_t)json_array_size(list), err,
              TRI_INVALID,
              "%s: 'block_configs' has %zu layers but 'num_layers' is %" PRId64
              "; use the same number",
              blocks->path, json_array_size(list), t->num_layers);
    return TRI_OK;
}

tri_status tri_heterogeneous_read(const char *path, struct tri_transformer_config *config,
                                  tri_error *err)
{
    char *text;
    size_t bytes;
    json_t *root;
    TRI_TRY(tri_file_read(path, LARGEST_FILE, err, &text, &bytes));
    tri_status status = tri_json_read_text(text, bytes, path, err, &root);
    free(text);
    TRI_TRY(status);
    struct blocks blocks = {.path = path, .config = config, .err = err};
    const json_t *list = json_object_get(root, "block_configs");
    int problems = tri_error_count(err);
    status = blocks_check(&blocks, list);
    if (status == TRI_OK) {
        blocks_fill(&blocks, list);
        config->num_layers = config->layer_ffn_sizes.num;
        status = tri_error_count(err) > problems ? TRI_INVALID : TRI_OK;
    }
    json_decref(root);
    return status;
}
