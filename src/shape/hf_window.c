/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding windows of a config.json: how many keys (a window counts the token itself), whether it is on at
 * all, and which layers have it. A family's table has a row for each key that it knows:
 *
 *   TRI_HF_WINDOW         "sliding_window": keys, or null
 *   TRI_HF_WINDOW_SWITCH  "use_sliding_window": off, the window is only a number
 *   TRI_HF_WINDOW_FIRST   "max_window_layers": layers before it are without, where no list says else
 *   TRI_HF_LAYER_TYPES    "layer_types": "sliding_attention" or "full_attention" for each layer; its
 *                         default_json "n" means: every n-th layer is full where no list is given
 *
 * What was read is kept and written again where it still says what the options say.
 */
#include "shape/hf_inner.h"

#include "shape/attention.h"

#include <stdio.h>
#include <string.h>

#define SLIDING "sliding_attention"
#define FULL    "full_attention"

static const struct tri_hf_key *window_key(const struct tri_hf_family *family,
                                           enum tri_hf_key_kind kind)
{
    for (int i = 0; i < family->num_keys; i++)
        if (family->keys[i].kind == kind)
            return &family->keys[i];
    return NULL;
}

bool tri_hf_is_window_key(enum tri_hf_key_kind kind)
{
    return kind == TRI_HF_WINDOW || kind == TRI_HF_WINDOW_SWITCH || kind == TRI_HF_WINDOW_FIRST ||
           kind == TRI_HF_LAYER_TYPES;
}

/* The value of the family's key of a kind, its default where absent; a new reference, NULL: no such key. */
static json_t *window_value(const struct tri_hf_family *family, const json_t *root,
                            enum tri_hf_key_kind kind)
{
    const struct tri_hf_key *key = window_key(family, kind);
    json_t *value = key ? json_object_get(root, key->name) : NULL;
    if (value)
        return json_incref(value);
    return key && key->default_json ? json_loads(key->default_json, JSON_DECODE_ANY, NULL) : NULL;
}

struct window {
    int64_t keys; /* 0: none */
    struct tri_option_list layers;
};

/* layers[i] = 1 where layer i slides; types is the list, a number, or null. False: neither. */
static bool window_layers(struct window *window, const json_t *types, int64_t first,
                          int64_t num_layers)
{
    struct tri_option_list *list = &window->layers;
    int64_t every = json_is_integer(types) ? json_integer_value(types) : 0;
    bool is_list = json_is_array(types);
    if (num_layers > TRI_OPTION_MAX_ITEMS ||
        (is_list && (int64_t)json_array_size(types) != num_layers))
        return false;
    list->num = num_layers;
    for (int64_t i = 0; i < num_layers; i++) {
        const char *type = json_string_value(json_array_get(types, (size_t)i));
        if (is_list && (!type || (strcmp(type, SLIDING) != 0 && strcmp(type, FULL) != 0)))
            return false;
        list->value[i] = is_list     ? strcmp(type, SLIDING) == 0
                         : every > 0 ? (i + 1) % every != 0
                                     : i >= first;
    }
    return true;
}

/* Reads the keys of root. Returns the name of the key that is wrong, NULL: none. */
static const char *window_read(const struct tri_hf_family *family, const json_t *root,
                               int64_t num_layers, struct window *window)
{
    json_t *keys = window_value(family, root, TRI_HF_WINDOW);
    json_t *is_on = window_value(family, root, TRI_HF_WINDOW_SWITCH);
    json_t *first = window_value(family, root, TRI_HF_WINDOW_FIRST);
    json_t *types = window_value(family, root, TRI_HF_LAYER_TYPES);
    const char *wrong = NULL;
    bool no_keys = !keys || json_is_null(keys) || (is_on && !json_is_true(is_on));
    *window = (struct window){.keys = no_keys ? 0 : json_integer_value(keys)};
    if (!no_keys && (!json_is_integer(keys) || window->keys < 1))
        wrong = window_key(family, TRI_HF_WINDOW)->name;
    else if (is_on && !json_is_boolean(is_on))
        wrong = window_key(family, TRI_HF_WINDOW_SWITCH)->name;
    else if (first && !json_is_integer(first))
        wrong = window_key(family, TRI_HF_WINDOW_FIRST)->name;
    else if (!window_layers(window, types, first ? json_integer_value(first) : 0, num_layers))
        wrong = window_key(family, TRI_HF_LAYER_TYPES) ? "layer_types" : "num_hidden_layers";
    json_decref(keys);
    json_decref(is_on);
    json_decref(first);
    json_decref(types);
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

int tri_hf_window_read(const struct tri_hf_family *family, const json_t *root, const char *name,
                       tri_error *err, struct tri_gpt_config *config, json_t *extra)
{
    struct tri_attention_config *a = &config->transformer.attention;
    struct window window;
    if (!window_key(family, TRI_HF_WINDOW) || config->transformer.num_layers < 1)
        return 0;
    const char *wrong = window_read(family, root, config->transformer.num_layers, &window);
    if (wrong) {
        char text[96] = "absent";
        if (json_object_get(root, wrong))
            tri_hf_json_text(json_object_get(root, wrong), text, sizeof(text));
        tri_error_add(err, TRI_INVALID,
                      "%s: '%s' is %s; windows need a number of keys (1 or more) or null, and "
                      "\"" SLIDING "\" or \"" FULL "\" for each of %lld layers",
                      name, wrong, text, (long long)config->transformer.num_layers);
        return 1;
    }
    if (window_contradicts(&window, root)) {
        tri_error_add(err, TRI_INVALID,
                      "%s: 'layer_types' has \"" SLIDING "\", but 'sliding_window' is off; give a "
                      "number of keys, or make every layer \"" FULL "\"",
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
    for (int i = 0; i < family->num_keys; i++) {
        json_t *value = json_object_get(root, family->keys[i].name);
        if (tri_hf_is_window_key(family->keys[i].kind) && value)
            json_object_set(extra, family->keys[i].name, value);
    }
    return 0;
}

/* True when root's keys mean what config says. */
static bool window_agrees(const struct tri_hf_family *family, const struct tri_gpt_config *config,
                          const json_t *root)
{
    struct window window;
    int64_t num_layers = config->transformer.num_layers;
    if (window_read(family, root, num_layers, &window) || window_contradicts(&window, root))
        return false;
    for (int64_t i = 0; i < num_layers; i++)
        if (tri_layer_window(config, i) != (window.layers.value[i] ? window.keys : 0))
            return false;
    return true;
}

static int window_set(const struct tri_hf_family *family, enum tri_hf_key_kind kind, json_t *root,
                      json_t *value)
{
    const struct tri_hf_key *key = window_key(family, kind);
    if (key)
        return json_object_set_new(root, key->name, value);
    json_decref(value);
    return 0;
}

int tri_hf_window_write(const struct tri_hf_family *family, const struct tri_gpt_config *config,
                        json_t *root)
{
    int64_t num_layers = config->transformer.num_layers, keys = 0, first = num_layers;
    if (!window_key(family, TRI_HF_WINDOW) || window_agrees(family, config, root))
        return 0;
    json_t *types = json_array();
    for (int64_t i = num_layers - 1; i >= 0; i--) {
        int64_t window = tri_layer_window(config, i);
        keys = window > 0 ? window : keys;
        first = window > 0 ? i : first;
    }
    for (int64_t i = 0; i < num_layers; i++)
        json_array_append_new(types, json_string(tri_layer_window(config, i) > 0 ? SLIDING : FULL));
    int failed = window_set(family, TRI_HF_LAYER_TYPES, root, types);
    failed |= window_set(family, TRI_HF_WINDOW_SWITCH, root, json_boolean(keys > 0));
    failed |= window_set(family, TRI_HF_WINDOW_FIRST, root, json_integer(first));
    failed |= window_set(family, TRI_HF_WINDOW, root, keys > 0 ? json_integer(keys) : json_null());
    return failed;
}
