/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding windows of a config.json: how many keys (a window counts the token itself), whether it is on at
 * all, and which layers have it. A family's table has a row for each key that it knows:
 *
 *   TRI_HF_WINDOW         "sliding_window": keys, or null
 *   TRI_HF_WINDOW_SWITCH  "use_sliding_window": off, the window is only a number
 *   TRI_HF_WINDOW_FIRST   "max_window_layers": layers before it are without, where no list says else
 *   TRI_HF_WINDOW_EVERY   "sliding_window_pattern": every so many-th layer is without, where no list says else
 *   TRI_HF_LAYER_TYPES    "layer_types": "sliding_attention" or "full_attention" for each layer; its
 *                         default_json "n" means: every n-th layer is full where nothing is given
 *
 * Where a family has layers that do not turn by positions (TRI_HF_ROPE_LAYERS), those alone slide if no list
 * says else.
 */
#include "shape/hf_inner.h"

#include "shape/attention.h"

#include <stdio.h>
#include <string.h>

bool tri_hf_is_window_key(enum tri_hf_key_kind kind)
{
    return kind == TRI_HF_WINDOW || kind == TRI_HF_WINDOW_SWITCH || kind == TRI_HF_WINDOW_FIRST ||
           kind == TRI_HF_WINDOW_EVERY || kind == TRI_HF_LAYER_TYPES;
}

/* The value of the key of a kind, its default where absent; a new reference, NULL: no such key. */
static json_t *window_value(const struct tri_hf_keys *keys, const json_t *root,
                            enum tri_hf_key_kind kind)
{
    const struct tri_hf_key *key = tri_hf_key_of_kind(keys, kind);
    json_t *value = key ? json_object_get(root, key->name) : NULL;
    if (value)
        return json_incref(value);
    return key && key->default_json ? json_loads(key->default_json, JSON_DECODE_ANY, NULL) : NULL;
}

struct window {
    int64_t keys; /* 0: none */
    struct tri_option_list layers;
    const char *wanted; /* instead of the value that is wrong */
};

/* What root says, each value an own reference or NULL. */
struct window_values {
    json_t *keys, *is_on, *first, *every, *types;
    bool has_types; /* not by default */
};

static bool is_null(const json_t *value)
{
    return !value || json_is_null(value);
}

/* True when layer i slides; list is layer_types or NULL. */
static bool window_slides(const struct window_values *values, const json_t *list, int64_t i)
{
    int64_t every = json_integer_value(is_null(values->every) ? values->types : values->every);
    if (list)
        return strcmp(json_string_value(json_array_get(list, (size_t)i)), TRI_HF_SLIDING) == 0;
    return every > 0 ? (i + 1) % every != 0 : i >= json_integer_value(values->first);
}

static bool is_type_list(const json_t *list, int64_t num_layers)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        const char *type = json_string_value(item);
        if (!type || (strcmp(type, TRI_HF_SLIDING) != 0 && strcmp(type, TRI_HF_FULL) != 0))
            return false;
    }
    return (int64_t)json_array_size(list) == num_layers;
}

/* Returns the kind of the key that is wrong, TRI_HF_NONE: none; *wanted is what it should be. */
static enum tri_hf_key_kind window_find_wrong(const struct window_values *values,
                                              int64_t num_layers, const char **wanted)
{
    const json_t *keys = values->keys, *every = values->every, *types = values->types;
    bool is_used = !is_null(keys) && (!values->is_on || json_is_true(values->is_on));
    *wanted = "true or false";
    if (values->is_on && !json_is_boolean(values->is_on))
        return TRI_HF_WINDOW_SWITCH;
    *wanted = "a number of keys, 1 or more, or null";
    if (is_used && (!json_is_integer(keys) || json_integer_value(keys) < 1))
        return TRI_HF_WINDOW;
    *wanted = "a whole number";
    if (values->first && !json_is_integer(values->first))
        return TRI_HF_WINDOW_FIRST;
    *wanted = "a number of layers, 1 or more, or null";
    if (!is_null(every) && (!json_is_integer(every) || json_integer_value(every) < 1))
        return TRI_HF_WINDOW_EVERY;
    *wanted = "null or a list of \"" TRI_HF_SLIDING "\" and \"" TRI_HF_FULL "\" for each layer";
    if (values->has_types && !is_null(types) && !is_type_list(types, num_layers))
        return TRI_HF_LAYER_TYPES;
    return TRI_HF_NONE;
}

/* Reads the keys of root into window. Returns the kind of the key that is wrong, TRI_HF_NONE: none. */
static enum tri_hf_key_kind window_read(const struct tri_hf_keys *keys, const json_t *root,
                                        const struct tri_gpt_config *config, struct window *window)
{
    struct window_values values = {
        .keys = window_value(keys, root, TRI_HF_WINDOW),
        .is_on = window_value(keys, root, TRI_HF_WINDOW_SWITCH),
        .first = window_value(keys, root, TRI_HF_WINDOW_FIRST),
        .every = window_value(keys, root, TRI_HF_WINDOW_EVERY),
        .types = window_value(keys, root, TRI_HF_LAYER_TYPES),
        .has_types = json_object_get(root, "layer_types"),
    };
    int64_t num_layers = config->transformer.num_layers;
    const char *wanted;
    enum tri_hf_key_kind wrong = window_find_wrong(&values, num_layers, &wanted);
    const json_t *list = json_is_array(values.types) ? values.types : NULL;
    bool only_still = !list && tri_hf_key_of_kind(keys, TRI_HF_ROPE_LAYERS);
    *window = (struct window){.layers.num = num_layers, .wanted = wanted};
    if (!is_null(values.keys) && (!values.is_on || json_is_true(values.is_on)))
        window->keys = json_integer_value(values.keys);
    for (int64_t i = 0; i < num_layers && wrong == TRI_HF_NONE; i++)
        window->layers.value[i] =
            window_slides(&values, list, i) && !(only_still && tri_layer_turns(config, i));
    json_decref(values.keys);
    json_decref(values.is_on);
    json_decref(values.first);
    json_decref(values.every);
    json_decref(values.types);
    return wrong;
}

/* A list that slides although there is no window would be another function than its reader thinks. */
static bool window_contradicts(const struct window *window, const json_t *root)
{
    int64_t sliding = 0;
    for (int64_t i = 0; i < window->layers.num; i++)
        sliding += window->layers.value[i];
    return window->keys == 0 && sliding > 0 && json_is_array(json_object_get(root, "layer_types"));
}

int tri_hf_window_read(const struct tri_hf_keys *keys, const json_t *root, const char *name,
                       tri_error *err, struct tri_gpt_config *config)
{
    struct tri_attention_config *a = &config->transformer.attention;
    int64_t num_layers = config->transformer.num_layers;
    struct window window;
    if (!tri_hf_key_of_kind(keys, TRI_HF_WINDOW) || num_layers < 1 ||
        num_layers > TRI_OPTION_MAX_ITEMS)
        return 0;
    enum tri_hf_key_kind wrong = window_read(keys, root, config, &window);
    if (wrong != TRI_HF_NONE) {
        char text[96];
        const char *key = tri_hf_key_of_kind(keys, wrong)->name;
        tri_hf_json_text(json_object_get(root, key), text, sizeof(text));
        tri_error_add(err, TRI_INVALID, "%s: '%s' is %s; it must be %s", name, key, text,
                      window.wanted);
        return 1;
    }
    if (window_contradicts(&window, root)) {
        tri_error_add(err, TRI_INVALID,
                      "%s: 'layer_types' has \"" TRI_HF_SLIDING
                      "\", but 'sliding_window' is off; give a "
                      "number of keys, or make every layer \"" TRI_HF_FULL "\"",
                      name);
        return 1;
    }
    a->window_size = (struct tri_option_list){.num = 0};
    if (window.keys > 0)
        a->window_size = (struct tri_option_list){.num = 2, .value = {window.keys - 1, 0}};
    a->window_attn_skip_freq = window.layers;
    a->window_attn_skip_freq.num *= window.keys > 0;
    if (window.layers.num == 1) { /* a list of one would be a number */
        a->window_attn_skip_freq.num = 0;
        a->window_size.num *= window.layers.value[0] != 0;
    }
    return 0;
}

/* True when root's keys mean what config says. */
static bool window_agrees(const struct tri_hf_keys *keys, const struct tri_gpt_config *config,
                          const json_t *root)
{
    struct window window;
    if (window_read(keys, root, config, &window) != TRI_HF_NONE ||
        window_contradicts(&window, root))
        return false;
    for (int64_t i = 0; i < window.layers.num; i++)
        if (tri_layer_window(config, i) != (window.layers.value[i] ? window.keys : 0))
            return false;
    return true;
}

static int window_set(const struct tri_hf_keys *keys, enum tri_hf_key_kind kind, json_t *root,
                      json_t *value)
{
    const struct tri_hf_key *key = tri_hf_key_of_kind(keys, kind);
    if (key)
        return json_object_set_new(root, key->name, value);
    json_decref(value);
    return 0;
}

int tri_hf_window_write(const struct tri_hf_keys *keys, const struct tri_gpt_config *config,
                        json_t *root)
{
    int64_t num_layers = config->transformer.num_layers, width = 0, first = num_layers;
    const struct tri_hf_key *every = tri_hf_key_of_kind(keys, TRI_HF_WINDOW_EVERY);
    if (!tri_hf_key_of_kind(keys, TRI_HF_WINDOW) || num_layers > TRI_OPTION_MAX_ITEMS ||
        window_agrees(keys, config, root))
        return 0;
    json_t *types = json_array();
    for (int64_t i = num_layers - 1; i >= 0; i--) {
        int64_t window = tri_layer_window(config, i);
        width = window > 0 ? window : width;
        first = window > 0 ? i : first;
    }
    for (int64_t i = 0; i < num_layers; i++)
        json_array_append_new(
            types, json_string(tri_layer_window(config, i) > 0 ? TRI_HF_SLIDING : TRI_HF_FULL));
    if (every)
        json_object_del(root, every->name); /* the list goes before it */
    int failed = window_set(keys, TRI_HF_LAYER_TYPES, root, types);
    failed |= window_set(keys, TRI_HF_WINDOW_SWITCH, root, json_boolean(width > 0));
    failed |= window_set(keys, TRI_HF_WINDOW_FIRST, root, json_integer(first));
    failed |= window_set(keys, TRI_HF_WINDOW, root, width > 0 ? json_integer(width) : json_null());
    return failed;
}
