/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a case of Megatron-LM's: what each key of its case.json is here. Names are those of
 * Megatron-LM's TransformerConfig and GPTModel; a key that is not there has Megatron-LM's default, which
 * is trine's.
 */
#include "train/case.h"

#include "base/json.h"
#include "explain/megatron.h"
#include "shape/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL  "model."
#define CONFIG MODEL "config."

static const char moe[] = "mixture of experts is not built yet";
static const char mtp[] = "multi-token prediction is not built yet";

/* What becomes of a key. */
enum key_use {
    KEY_OPTION, /* the option of that name */
    KEY_NOT,    /* the same, the other way round */
    KEY_TRUE,   /* "option=value" where it is true */
    KEY_READ,   /* no shape: a size of the batch, a result, a remark */
    KEY_LATER,  /* refused: there is no such thing yet */
};

/* In the order of setting: a later row goes over an earlier one. */
static const struct case_key {
    const char *path;
    enum key_use use;
    const char *text; /* the option, or why not */
} keys[] = {
    {"name", KEY_READ, NULL},
    {"megatron", KEY_READ, NULL},
    {"loss", KEY_READ, NULL},
    {"grad_norm", KEY_READ, NULL},
    {"tracked_moe_losses", KEY_LATER, moe},
    {"largest_gradient_change_from_auxiliary_losses", KEY_LATER, moe},
    {"mtp_loss_per_depth", KEY_LATER, mtp},
    {MODEL "seq", KEY_OPTION, "seq_length"},
    {MODEL "mbs", KEY_READ, NULL},
    {MODEL "vocab_size", KEY_READ, NULL},
    /* Megatron-LM counts padded columns as logits like any other. */
    {MODEL "padded_vocab_size", KEY_OPTION, "vocab_size"},
    {MODEL "make_vocab_size_divisible_by", KEY_READ, NULL},
    {MODEL "num_layers", KEY_OPTION, "num_layers"},
    {MODEL "hidden_size", KEY_OPTION, "hidden_size"},
    {MODEL "num_attention_heads", KEY_OPTION, "num_attention_heads"},
    {MODEL "num_query_groups", KEY_OPTION, "num_query_groups"},
    {MODEL "kv_channels", KEY_OPTION, "kv_channels"},
    {MODEL "ffn_hidden_size", KEY_OPTION, "ffn_hidden_size"},
    {"num_query_groups", KEY_OPTION, "num_query_groups"},
    {"kv_channels", KEY_OPTION, "kv_channels"},
    {"ffn_hidden_size", KEY_OPTION, "ffn_hidden_size"},
    {MODEL "normalization", KEY_OPTION, "normalization"},
    {MODEL "layernorm_epsilon", KEY_OPTION, "layernorm_epsilon"},
    {MODEL "qk_layernorm", KEY_OPTION, "qk_layernorm"},
    {MODEL "add_bias_linear", KEY_OPTION, "add_bias_linear"},
    {MODEL "add_qkv_bias", KEY_OPTION, "add_qkv_bias"},
    {MODEL "activation", KEY_OPTION, "activation_func"},
    {MODEL "tanh_gelu", KEY_TRUE, "activation_func=gelu_tanh"},
    {MODEL "gated_linear_unit", KEY_OPTION, "gated_linear_unit"},
    {MODEL "tied", KEY_NOT, "untie_embeddings_and_output_weights"},
    {MODEL "max_position_embeddings", KEY_OPTION, "max_position_embeddings"},
    {MODEL "position_embedding_type", KEY_OPTION, "position_embedding_type"},
    {MODEL "rotary_percent", KEY_OPTION, "rotary_percent"},
    {MODEL "rotary_base", KEY_OPTION, "rotary_base"},
    {MODEL "rope_scaling", KEY_OPTION, "use_rope_scaling"},
    {MODEL "rope_scaling_factor", KEY_OPTION, "rope_scaling_factor"},
    {MODEL "document_mask", KEY_LATER, "a mask by documents is not built yet"},
    {CONFIG "num_moe_experts", KEY_LATER, moe},
};
enum { NUM_KEYS = sizeof keys / sizeof keys[0], PATH_BYTES = 128, WHERE_BYTES = 1024 };

struct shape_reader {
    const char *file;
    struct tri_option_binding levels[4];
    tri_error *err;
};

static const struct case_key *find_key(const char *path)
{
    for (int i = 0; i < NUM_KEYS; i++)
        if (strcmp(keys[i].path, path) == 0)
            return &keys[i];
    return NULL;
}

/* The option called name on the level that has it; NULL: none has. */
static const struct tri_option *find_option(const struct shape_reader *reader, const char *name,
                                            void **config)
{
    for (int i = 0; i < 4; i++) {
        const struct tri_option *row = tri_option_find(reader->levels[i].table, name);
        if (row) {
            *config = reader->levels[i].config;
            return row;
        }
    }
    return NULL;
}

/* Sets the option called name; path is the key that asks for it. */
static void set_option(const struct shape_reader *reader, const char *path, const char *name,
                       const char *text)
{
    char where[WHERE_BYTES];
    void *config;
    const struct tri_option *row = find_option(reader, name, &config);
    TRI_ASSERT(row);
    snprintf(where, sizeof where, "'%s': '%s'", reader->file, path);
    tri_option_set(row, config, text, where, reader->err);
}

/* A value as a run file has it; the caller's to free(). */
static char *value_text(const json_t *value)
{
    return json_is_string(value) ? strdup(json_string_value(value))
                                 : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

static void set_truth(const struct shape_reader *reader, const struct case_key *key,
                      const json_t *value)
{
    char option[PATH_BYTES];
    const char *equals = strchr(key->text, '=');
    if (!json_is_boolean(value)) {
        tri_error_add(reader->err, TRI_INVALID, "'%s': '%s' is neither true nor false",
                      reader->file, key->path);
    } else if (key->use == KEY_NOT) {
        set_option(reader, key->path, key->text, json_is_true(value) ? "false" : "true");
    } else if (json_is_true(value)) {
        snprintf(option, sizeof option, "%.*s", (int)(equals - key->text), key->text);
        set_option(reader, key->path, option, equals + 1);
    }
}

static void set_text(const struct shape_reader *reader, const char *path, const char *name,
                     const json_t *value)
{
    char *text = value_text(value);
    if (text)
        set_option(reader, path, name, text);
    else
        tri_error_add(reader->err, TRI_NOMEM, "out of memory for '%s'", path);
    free(text);
}

/* A key of "config" without a row is the shape option of its name. */
static void set_config(const struct shape_reader *reader, const char *path, const json_t *value)
{
    const char *name = path + strlen(CONFIG), *why = tri_megatron_why(name);
    void *config;
    if (find_option(reader, name, &config))
        set_text(reader, path, name, value);
    else if (why)
        tri_error_add(reader->err, TRI_UNSUPPORTED, "'%s': trine has no '%s': %s", reader->file,
                      path, why);
    else
        tri_error_add(reader->err, TRI_INVALID, "'%s': unknown key '%s'", reader->file, path);
}

/* Every key that no row takes. */
static void check_keys(const struct shape_reader *reader, const char *prefix, const json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s%s", prefix, name);
        const struct case_key *key = find_key(path);
        if (json_is_null(value))
            continue; /* as if it were not there */
        bool is_level = strcmp(path, "model") == 0 || strcmp(path, MODEL "config") == 0;
        if (is_level && !json_is_object(value))
            tri_error_add(reader->err, TRI_INVALID, "'%s': '%s' is no object", reader->file, path);
        else if (key && key->use == KEY_LATER && !json_is_false(value))
            tri_error_add(reader->err, TRI_UNSUPPORTED, "'%s': trine has no '%s': %s", reader->file,
                          path, key->text);
        else if (!key && !is_level && strcmp(prefix, CONFIG) == 0)
            set_config(reader, path, value);
        else if (!key && !is_level)
            tri_error_add(reader->err, TRI_INVALID, "'%s': unknown key '%s'", reader->file, path);
    }
}

/* The value under path, NULL when there is none. */
static const json_t *find_value(const json_t *root, const char *path)
{
    const json_t *object = root;
    if (strncmp(path, MODEL, strlen(MODEL)) == 0) {
        object = json_object_get(object, "model");
        path += strlen(MODEL);
    }
    const json_t *value = json_object_get(object, path);
    return json_is_null(value) ? NULL : value;
}

static void set_keys(const struct shape_reader *reader, const json_t *root)
{
    for (int i = 0; i < NUM_KEYS; i++) {
        const struct case_key *key = &keys[i];
        const json_t *value = find_value(root, key->path);
        if (value && key->use == KEY_OPTION)
            set_text(reader, key->path, key->text, value);
        else if (value && (key->use == KEY_NOT || key->use == KEY_TRUE))
            set_truth(reader, key, value);
    }
}

tri_status tri_case_read_shape(const char *path, struct tri_gpt_config *shape, tri_error *err)
{
    json_t *root = NULL;
    TRI_TRY(tri_json_read_file(path, 16u << 20, err, &root));
    struct shape_reader reader = {
        .file = path,
        .levels = {{.table = &tri_gpt_options, .config = shape},
                   {.table = &tri_transformer_options, .config = &shape->transformer},
                   {.table = &tri_attention_options, .config = &shape->transformer.attention},
                   {.table = &tri_padding_options, .config = shape}},
        .err = err,
    };
    int problems = tri_error_count(err);
    const json_t *model = json_object_get(root, "model");
    if (!model) {
        tri_error_add(err, TRI_INVALID, "'%s' has no 'model' that says a shape", path);
    } else {
        check_keys(&reader, CONFIG, json_object_get(model, "config"));
        check_keys(&reader, MODEL, model);
        check_keys(&reader, "", root);
        set_keys(&reader, root);
    }
    json_decref(root);
    return tri_error_count(err) > problems ? TRI_INVALID : TRI_OK;
}

bool tri_case_is_shape(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "case.json") == 0;
}

void tri_case_shape_path(const char *dir, char *path, size_t bytes)
{
    snprintf(path, bytes, "%s/model", dir);
    if (access(path, F_OK) == 0)
        return;
    snprintf(path, bytes, "%s/case.json", dir);
    if (access(path, F_OK) != 0)
        snprintf(path, bytes, "%s/model", dir);
}
