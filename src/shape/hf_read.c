/* SPDX-License-Identifier: Apache-2.0 */
/* config.json to gpt_config, by a family's table of keys. */
#include "shape/hf_inner.h"

#include "base/number.h"
#include "shape/check.h"
#include "shape/options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_TEXT 96

struct reader {
    const struct tri_hf_family *family;
    const json_t *root;
    const char *name; /* of the file, for messages */
    tri_error *err;
    int problems;
    struct tri_gpt_config config;
    struct tri_hf_keys keys;
    bool is_set[TRI_HF_MAX_KEYS]; /* by the file or by default */
    char defaulted[1024];         /* "rope_theta 10000.0, mlp_bias false" */
};

#define PROBLEM(reader, status, ...)                                                               \
    ((reader)->problems++, (void)tri_error_add((reader)->err, status, __VA_ARGS__))

/* Said once for a key that has several rows, one for each option that it sets. */
static void reader_wrong_type(struct reader *reader, const struct tri_hf_key *key,
                              const json_t *value, const char *wanted)
{
    char text[VALUE_TEXT];
    for (int i = 0; i < reader->keys.num && &reader->keys.rows[i] != key; i++)
        if (strcmp(reader->keys.rows[i].name, key->name) == 0)
            return;
    tri_hf_json_text(value, text, sizeof(text));
    PROBLEM(reader, TRI_INVALID, "%s: '%s' is %s; it must be %s", reader->name, key->name, text,
            wanted);
}

/* The earlier key of the table that has set the same option, or NULL. */
static const struct tri_hf_key *reader_twin(const struct reader *reader,
                                            const struct tri_hf_key *key)
{
    for (const struct tri_hf_key *other = reader->keys.rows; other < key; other++)
        if (reader->is_set[other - reader->keys.rows] && other->option &&
            strcmp(other->option, key->option) == 0)
            return other;
    return NULL;
}

/* Sets key's option from text with the checks of its row. */
static void reader_set(struct reader *reader, const struct tri_hf_key *key, const char *text)
{
    struct tri_hf_field field = tri_hf_field_find(&reader->config, key->option);
    const struct tri_hf_key *twin = reader_twin(reader, key);
    struct tri_option row = *field.row; /* called as in the file, for messages */
    char before[TRI_OPTION_TEXT], after[TRI_OPTION_TEXT];
    row.name = key->name;
    tri_option_format(field.row, field.base, before, sizeof(before));
    if (tri_option_set(&row, field.base, text, reader->name, reader->err) != TRI_OK) {
        reader->problems++;
        return;
    }
    reader->is_set[key - reader->keys.rows] = true;
    tri_option_format(field.row, field.base, after, sizeof(after));
    if (twin && strcmp(before, after) != 0)
        PROBLEM(reader, TRI_UNSUPPORTED,
                "%s: '%s' %s and '%s' %s differ, but both are '%s' here; only equal values work",
                reader->name, twin->name, before, key->name, after, key->option);
}

static void reader_field(struct reader *reader, const struct tri_hf_key *key, const json_t *value)
{
    struct tri_hf_field field = tri_hf_field_find(&reader->config, key->option);
    bool may_be_null = key->kind == TRI_HF_FIELD_OR_NULL ||
                       (key->default_json && strcmp(key->default_json, "null") == 0);
    char text[VALUE_TEXT];
    if (json_is_null(value) && may_be_null)
        return;
    if (field.row->type == TRI_OPTION_BOOL) {
        if (!json_is_boolean(value))
            reader_wrong_type(reader, key, value, "true or false");
        else
            reader_set(reader, key, json_is_true(value) ? "true" : "false");
        return;
    }
    if (field.row->type == TRI_OPTION_INT && json_is_integer(value))
        snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (field.row->type == TRI_OPTION_DOUBLE && json_is_number(value))
        tri_number_format_double(json_number_value(value), text);
    else {
        reader_wrong_type(reader, key, value,
                          field.row->type == TRI_OPTION_INT ? "a whole number" : "a number");
        return;
    }
    reader_set(reader, key, text);
}

static void reader_activation(struct reader *reader, const struct tri_hf_key *key,
                              const json_t *value)
{
    const char *name = json_string_value(value);
    const char *choice = name ? tri_hf_activation_choice(name) : NULL;
    if (choice)
        reader_set(reader, key, choice);
    else
        reader_wrong_type(reader, key, value, tri_hf_activation_list());
}

static void reader_token(struct reader *reader, const struct tri_hf_key *key, const json_t *value)
{
    char text[VALUE_TEXT];
    const json_t *first = json_is_array(value) ? json_array_get(value, 0) : value;
    if (json_is_null(value))
        return;
    size_t i;
    json_t *item;
    json_array_foreach(value, i, item) if (!json_is_integer(item) || json_integer_value(item) < 0)
        first = NULL;
    if (!first || !json_is_integer(first)) {
        reader_wrong_type(reader, key, value, "a token id, a list of them, or null");
        return;
    }
    snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(first));
    reader_set(reader, key, text);
}

static void reader_inverse_square(struct reader *reader, const struct tri_hf_key *key,
                                  const json_t *value)
{
    char text[VALUE_TEXT];
    if (json_is_null(value))
        return;
    if (!json_is_number(value) || !(json_number_value(value) > 0)) {
        reader_wrong_type(reader, key, value, "a number above 0");
        return;
    }
    snprintf(text, sizeof(text), "%.17g", 1 / sqrt(json_number_value(value)));
    reader_set(reader, key, text);
}

static void reader_fixed(struct reader *reader, const struct tri_hf_key *key, const json_t *value,
                         const json_t *wanted)
{
    char text[VALUE_TEXT];
    if (tri_hf_json_equal(value, wanted))
        return;
    tri_hf_json_text(value, text, sizeof(text));
    PROBLEM(reader, TRI_UNSUPPORTED, "%s: '%s' is %s; family '%s' is in this build with %s only",
            reader->name, key->name, text, reader->family->model_type, key->default_json);
}

static void reader_rope_layers(struct reader *reader, const struct tri_hf_key *key,
                               const json_t *value)
{
    struct tri_option_list *list = &reader->config.transformer.attention.no_rope_freq;
    const struct tri_hf_key *every_key = tri_hf_key_of_kind(&reader->keys, TRI_HF_ROPE_EVERY);
    const json_t *interval = every_key ? json_object_get(reader->root, every_key->name) : NULL;
    int64_t every = interval ? json_integer_value(interval) : 4;
    int64_t num = reader->config.transformer.num_layers;
    bool is_list = json_is_array(value) && (int64_t)json_array_size(value) >= num;
    if (num < 1 || num > TRI_OPTION_MAX_ITEMS) /* the shape's check tells that */
        return;
    if (every < 1) {
        reader_wrong_type(reader, every_key, interval, "a whole number above 0");
        return;
    }
    if (value && !json_is_null(value) && !is_list) {
        reader_wrong_type(reader, key, value, "null or a list of 0 and 1 for each layer");
        return;
    }
    list->num = num;
    for (int64_t i = 0; i < num; i++) {
        const json_t *item = json_array_get(value, (size_t)i);
        list->value[i] = is_list ? json_integer_value(item) == 0 : (i + 1) % every == 0;
        if (is_list && !json_is_integer(item))
            reader_wrong_type(reader, key, item, "null or a list of 0 and 1 for each layer");
    }
}

static void reader_value(struct reader *reader, const struct tri_hf_key *key, const json_t *value,
                         const json_t *wanted)
{
    switch (key->kind) {
    case TRI_HF_FIELD:
    case TRI_HF_FIELD_OR_NULL:
    case TRI_HF_ALIAS:
    case TRI_HF_TWIN:
    case TRI_HF_ROPE_THETA:
        reader_field(reader, key, value);
        break;
    case TRI_HF_NOT:
        if (!json_is_boolean(value))
            reader_wrong_type(reader, key, value, "true or false");
        else
            reader_set(reader, key, json_is_true(value) ? "false" : "true");
        break;
    case TRI_HF_ACTIVATION:
        reader_activation(reader, key, value);
        break;
    case TRI_HF_TOKEN:
        reader_token(reader, key, value);
        break;
    case TRI_HF_INVERSE_SQUARE:
        reader_inverse_square(reader, key, value);
        break;
    case TRI_HF_WINDOW:
    case TRI_HF_WINDOW_SWITCH:
    case TRI_HF_WINDOW_FIRST:
    case TRI_HF_WINDOW_EVERY:
    case TRI_HF_LAYER_TYPES:
    case TRI_HF_ROPE_LAYERS:
    case TRI_HF_ROPE_EVERY:
    case TRI_HF_NULL:
    case TRI_HF_NONE:
        break; /* at the end, when the number of layers is known */
    case TRI_HF_FIXED:
        reader_fixed(reader, key, value, wanted);
        break;
    }
}

/* The rotary base, wherever it stands; places that differ are a problem. NULL: nowhere. */
static const json_t *reader_rope_theta(struct reader *reader, const char *key)
{
    static const char *const objects[] = {"rope_parameters", "rope_scaling"};
    const json_t *found = json_object_get(reader->root, key);
    const char *found_at = "";
    if (json_is_null(found))
        found = NULL;
    for (int i = 0; i < 2; i++) {
        const json_t *object = json_object_get(reader->root, objects[i]);
        const json_t *theta = json_object_get(object, "rope_theta");
        if (!theta || json_is_null(theta))
            continue;
        if (found && !tri_hf_json_equal(found, theta)) {
            char first[VALUE_TEXT], second[VALUE_TEXT];
            tri_hf_json_text(found, first, sizeof(first));
            tri_hf_json_text(theta, second, sizeof(second));
            PROBLEM(reader, TRI_INVALID,
                    "%s: '%s%s' %s and '%s.rope_theta' %s differ; leave one of them out",
                    reader->name, found_at, found_at[0] ? "rope_theta" : key, first, objects[i],
                    second);
        }
        if (!found) {
            found = theta;
            found_at = i == 0 ? "rope_parameters." : "rope_scaling.";
        }
    }
    return found;
}

static void reader_note_default(struct reader *reader, const struct tri_hf_key *key)
{
    size_t used = strlen(reader->defaulted);
    if (strcmp(key->default_json, "null") != 0 && key->kind != TRI_HF_FIXED &&
        !tri_hf_is_window_key(key->kind))
        snprintf(reader->defaulted + used, sizeof(reader->defaulted) - used, "%s%s %s",
                 used ? ", " : "", key->name, key->default_json);
}

/* True when the file has the field of key under another name. */
static bool reader_has_alias(const struct reader *reader, const struct tri_hf_key *key)
{
    for (int i = 0; i < reader->keys.num && key->option; i++) {
        const struct tri_hf_key *other = &reader->keys.rows[i];
        if (other->kind == TRI_HF_ALIAS && strcmp(other->option, key->option) == 0 &&
            json_object_get(reader->root, other->name))
            return true;
    }
    return false;
}

static void reader_key(struct reader *reader, const struct tri_hf_key *key)
{
    const json_t *value = key->kind == TRI_HF_ROPE_THETA ? reader_rope_theta(reader, key->name)
                                                         : json_object_get(reader->root, key->name);
    json_t *standard =
        key->default_json ? json_loads(key->default_json, JSON_DECODE_ANY, NULL) : NULL;
    TRI_ASSERT(standard || !key->default_json);
    bool is_elsewhere = tri_hf_is_second(key) || reader_has_alias(reader, key);
    if (value)
        reader_value(reader, key, value, standard);
    else if (standard && !is_elsewhere) {
        reader_note_default(reader, key);
        reader_value(reader, key, standard, standard);
    } else if (!is_elsewhere)
        PROBLEM(reader, TRI_INVALID, "%s: '%s' is missing; family '%s' needs it", reader->name,
                key->name, reader->family->model_type);
    json_decref(standard);
}

static bool reader_knows(const struct reader *reader, const char *name)
{
    if (strcmp(name, "rope_parameters") == 0 || strcmp(name, "rope_scaling") == 0)
        return tri_hf_key_of_kind(&reader->keys, TRI_HF_ROPE_THETA) != NULL;
    for (int i = 0; i < reader->keys.num; i++)
        if (strcmp(reader->keys.rows[i].name, name) == 0)
            return true;
    return false;
}

/* Keys outside the family's table: kept, noted or refused. */
static void reader_others(struct reader *reader)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)reader->root, key, value)
    {
        char text[VALUE_TEXT];
        if (reader_knows(reader, key))
            continue;
        tri_hf_json_text(value, text, sizeof(text));
        struct tri_hf_other other = tri_hf_other_key(key, value);
        if (other.kind == TRI_HF_CHANGES)
            PROBLEM(reader, TRI_UNSUPPORTED,
                    "%s: '%s' %s changes what the model computes (a key of %s) and is not in this "
                    "build for family '%s'",
                    reader->name, key, text, other.text, reader->family->model_type);
        if (other.kind == TRI_HF_UNKNOWN)
            tri_error_note(reader->err, "%s: '%s' is not a key of family '%s'; kept, not used",
                           reader->name, key, reader->family->model_type);
    }
}

static void reader_note_padding(struct reader *reader)
{
    const json_t *value = json_object_get(reader->root, "pad_token_id");
    char text[VALUE_TEXT];
    tri_hf_json_text(value, text, sizeof(text));
    if (value && !json_is_null(value))
        tri_error_note(reader->err,
                       "%s: 'pad_token_id' %s keeps that row of the embedding from being "
                       "trained in transformers; here it is trained",
                       reader->name, text);
}

static tri_status reader_finish(struct reader *reader)
{
    if (reader->problems)
        return TRI_INVALID;
    snprintf(reader->config.family, sizeof(reader->config.family), "%s",
             reader->family->model_type);
    tri_gpt_config_resolve(&reader->config);
    TRI_TRY(tri_hf_check(&reader->keys, &reader->config, reader->name, reader->err));
    if (reader->defaulted[0])
        tri_error_note(reader->err, "%s does not say %s: the defaults of family '%s'", reader->name,
                       reader->defaulted, reader->family->model_type);
    return TRI_OK;
}

/* Constants of the base first, so that the family's own go over them. */
static void reader_constants(struct reader *reader, const struct tri_hf_family *family)
{
    if (family->base)
        reader_constants(reader, family->base);
    for (int i = 0; i < family->num_constants; i++) {
        struct tri_hf_field field = tri_hf_field_find(&reader->config, family->constants[i].option);
        TRI_ASSERT(tri_option_set(field.row, field.base, family->constants[i].text, reader->name,
                                  reader->err) == TRI_OK);
    }
}

static void reader_keys(struct reader *reader)
{
    const struct tri_hf_keys *keys = &reader->keys;
    const struct tri_hf_key *layers = tri_hf_key_of_kind(keys, TRI_HF_ROPE_LAYERS);
    for (int i = 0; i < keys->num; i++)
        reader_key(reader, &keys->rows[i]);
    if (layers)
        reader_rope_layers(reader, layers, json_object_get(reader->root, layers->name));
    if (tri_hf_key_of_kind(keys, TRI_HF_ROPE_THETA))
        reader->problems += tri_hf_rope_read(keys, reader->family->only_rope_type, reader->root,
                                             reader->name, reader->err, &reader->config);
    reader->problems +=
        tri_hf_window_read(keys, reader->root, reader->name, reader->err, &reader->config);
}

tri_status tri_hf_read_object(const struct tri_hf_family *family, const json_t *root,
                              const char *name, tri_error *err, struct tri_gpt_config *config)
{
    struct reader reader = {.family = family, .name = name, .err = err};
    tri_hf_list_keys(family, &reader.keys);
    json_t *flat = tri_hf_rope_flatten(&reader.keys, root, name, err);
    if (!flat)
        return TRI_INVALID;
    reader.root = flat;
    tri_gpt_config_set_defaults(&reader.config);
    reader_constants(&reader, family);
    reader_keys(&reader);
    reader_others(&reader);
    reader_note_padding(&reader);
    tri_status status = reader_finish(&reader);
    if (status == TRI_OK)
        *config = reader.config;
    json_decref(flat);
    return status;
}

tri_status tri_hf_config_read(const struct tri_hf_family *family, const char *text,
                              size_t text_bytes, const char *name, tri_error *err,
                              struct tri_gpt_config *config)
{
    json_t *root = tri_hf_parse(text, text_bytes, name, err);
    if (!root)
        return TRI_INVALID;
    tri_status status = tri_hf_read_object(family, root, name, err, config);
    json_decref(root);
    return status;
}
