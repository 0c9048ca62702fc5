/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpt_config to config.json: what the model came from, with the keys set anew that are no longer true. What
 * is written is read back and compared: a shape that a family cannot say is refused instead of saved as another
 * one.
 */
#include "shape/hf_inner.h"

#include "shape/attention.h"
#include "shape/check.h"
#include "shape/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options that are no part of the function that a config.json describes. */
static const char *const not_compared[] = {
    "hidden_dropout",
    "attention_dropout",
    "init_method_std",
    "embedding_init_method_std",
    "init_method_xavier_uniform",
    "seq_length",
    NULL,
};
/* Options that say nothing unless positions are rotary, or scaled in one way. */
static const char *const rotary_only[] = {"rotary_base", "rotary_percent", "rotary_interleaved",
                                          "no_rope_freq", NULL};
static const char *const llama3_only[] = {"rope_scaling_factor", "rope_low_freq_factor",
                                          "rope_high_freq_factor", NULL};
static const char *const yarn_only[] = {"rotary_scaling_factor",
                                        "beta_fast",
                                        "beta_slow",
                                        "mscale",
                                        "mscale_all_dim",
                                        "yarn_attention_factor",
                                        "yarn_correction_range_round_to_int",
                                        NULL};

static bool is_listed(const char *const *list, const char *name)
{
    for (; *list; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

json_t *tri_hf_write_field(const struct tri_gpt_config *config, const char *option)
{
    struct tri_hf_field field = tri_hf_field_find((struct tri_gpt_config *)config, option);
    const char *at = (const char *)field.base + field.row->offset;
    int64_t whole;
    double real;
    bool flag;
    switch (field.row->type) {
    case TRI_OPTION_INT:
        memcpy(&whole, at, sizeof(whole));
        return whole == TRI_UNSET ? json_null() : json_integer(whole);
    case TRI_OPTION_DOUBLE:
        memcpy(&real, at, sizeof(real));
        return isnan(real) ? json_null() : json_real(real);
    case TRI_OPTION_BOOL:
        memcpy(&flag, at, sizeof(flag));
        return json_boolean(flag);
    case TRI_OPTION_CHOICE:
    case TRI_OPTION_STRING:
    case TRI_OPTION_STRINGS:
    case TRI_OPTION_JSON:
    case TRI_OPTION_INTS:
    case TRI_OPTION_MAP:
        break;
    }
    TRI_ASSERT(!"a key of a family's table is a number or a boolean");
    return NULL;
}

/* 1 / scale^2, whole where it nearly is. */
static json_t *write_inverse_square(double scale)
{
    double value = 1 / (scale * scale), whole = round(value);
    return fabs(value - whole) < 1e-9 * whole ? json_integer((json_int_t)whole) : json_real(value);
}

/* True when option, left unset, would become what it is. */
static bool is_derived(const struct tri_gpt_config *config, const char *option)
{
    struct tri_gpt_config other = *config;
    struct tri_hf_field field = tri_hf_field_find(&other, option);
    int64_t unset = TRI_UNSET, before, after;
    char *at = (char *)field.base + field.row->offset;
    memcpy(&before, at, sizeof(before));
    memcpy(at, &unset, sizeof(unset));
    tri_gpt_config_resolve(&other);
    memcpy(&after, at, sizeof(after));
    return before == after;
}

static json_t *write_rope_layers(const struct tri_gpt_config *config)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < config->transformer.num_layers; i++)
        json_array_append_new(list, json_integer(tri_layer_turns(config, i)));
    return list;
}

/* transformers' name of config's nonlinearity. */
static json_t *write_activation(const struct tri_gpt_config *config, const char *option)
{
    struct tri_hf_field field = tri_hf_field_find((struct tri_gpt_config *)config, option);
    char choice[TRI_OPTION_TEXT];
    tri_option_format(field.row, field.base, choice, sizeof(choice));
    return json_string(tri_hf_activation_name(choice));
}

static bool is_null_default(const struct tri_hf_key *key)
{
    return key->default_json && strcmp(key->default_json, "null") == 0;
}

/* The value of key for config; a new reference. */
static json_t *write_key(const struct tri_hf_key *key, const struct tri_gpt_config *config)
{
    json_t *value = NULL;
    switch (key->kind) {
    case TRI_HF_FIELD_OR_NULL:
        if (is_null_default(key) && is_derived(config, key->option))
            return json_null();
        return tri_hf_write_field(config, key->option);
    case TRI_HF_FIELD:
    case TRI_HF_ALIAS:
    case TRI_HF_TWIN:
    case TRI_HF_TOKEN:
        return tri_hf_write_field(config, key->option);
    case TRI_HF_NOT:
        value = tri_hf_write_field(config, key->option);
        return json_is_true(value) ? json_false() : json_true();
    case TRI_HF_ACTIVATION:
        return write_activation(config, key->option);
    case TRI_HF_ROPE_LAYERS:
        return write_rope_layers(config);
    case TRI_HF_INVERSE_SQUARE:
        return write_inverse_square(tri_softmax_scale(config));
    case TRI_HF_NULL:
        return json_null();
    case TRI_HF_FIXED:
        return json_loads(key->default_json, JSON_DECODE_ANY, NULL);
    case TRI_HF_ROPE_THETA:
    case TRI_HF_WINDOW:
    case TRI_HF_WINDOW_SWITCH:
    case TRI_HF_WINDOW_FIRST:
    case TRI_HF_WINDOW_EVERY:
    case TRI_HF_LAYER_TYPES:
    case TRI_HF_ROPE_EVERY:
    case TRI_HF_NONE:
        break; /* in hf_rope_write.c and hf_window.c, or not at all */
    }
    return NULL;
}

/* True for keys that write_keys() sets itself. */
static bool is_own(const struct tri_hf_key *key)
{
    return !tri_hf_is_rope_key(key) && !tri_hf_is_window_key(key->kind) &&
           key->kind != TRI_HF_ROPE_EVERY;
}

/* Sets the keys of root that do not say what config says; was is what root says, NULL: nothing yet. */
static int write_keys(const struct tri_hf_keys *keys, const struct tri_gpt_config *config,
                      const struct tri_gpt_config *was, json_t *root)
{
    int failed = 0;
    for (int i = 0; i < keys->num; i++) {
        const struct tri_hf_key *key = &keys->rows[i];
        bool is_true = was && (!key->option || tri_hf_same_option(key->option, was, config));
        bool is_wanted = !tri_hf_is_second(key) || json_object_get(root, key->name);
        if (is_own(key) && is_wanted && !is_true)
            failed |= json_object_set_new(root, key->name, write_key(key, config));
    }
    failed |= tri_hf_rope_write(keys, config, was, root);
    return failed | tri_hf_window_write(keys, config, root);
}

/* The type of the weights in whichever of its two names root has; where it has none, the type is float32. */
static int write_dtype(const char *dtype, bool is_new, json_t *root)
{
    bool has_new = json_object_get(root, "dtype"), has_old = json_object_get(root, "torch_dtype");
    int failed = 0;
    if (has_new)
        failed |= json_object_set_new(root, "dtype", json_string(dtype));
    if (has_old || (!has_new && (is_new || strcmp(dtype, "float32") != 0)))
        failed |= json_object_set_new(root, "torch_dtype", json_string(dtype));
    return failed;
}

/* The object of original and what it says, in *was; NULL when it is none of this family. */
static json_t *write_original(const struct tri_hf_family *family, const char *original,
                              struct tri_gpt_config *was)
{
    json_t *root = original ? json_loads(original, 0, NULL) : NULL;
    const char *type = json_string_value(json_object_get(root, "model_type"));
    tri_error *unused = tri_error_create(); /* it was read before */
    bool good = json_is_object(root) && (!type || strcmp(type, family->model_type) == 0) &&
                tri_hf_read_object(family, root, "", unused, was) == TRI_OK;
    tri_error_destroy(&unused);
    if (good)
        return root;
    json_decref(root);
    return NULL;
}

/* The whole object; NULL when out of memory. */
static json_t *write_object(const struct tri_hf_family *family, const struct tri_gpt_config *config,
                            const char *dtype, const char *original)
{
    struct tri_gpt_config was;
    struct tri_hf_keys keys;
    json_t *root = write_original(family, original, &was);
    bool is_new = !root;
    root = is_new ? json_object() : root;
    tri_hf_list_keys(family, &keys);
    int failed = write_keys(&keys, config, is_new ? NULL : &was, root);
    failed |= write_dtype(dtype, is_new, root);
    failed |= json_object_set_new(root, "model_type", json_string(family->model_type));
    failed |= json_object_set_new(root, "architectures", json_pack("[s]", family->architecture));
    if (failed) {
        json_decref(root);
        return NULL;
    }
    return root;
}

/* True when option name says nothing under config. */
static bool is_unused(const struct tri_gpt_config *config, const char *name)
{
    bool is_yarn = config->position_embedding_type == TRI_POSITION_YARN;
    bool is_llama3 = config->transformer.attention.use_rope_scaling;
    bool is_positions = strcmp(name, "original_max_position_embeddings") == 0;
    return is_listed(not_compared, name) ||
           (!tri_is_rotary(config) && is_listed(rotary_only, name)) ||
           (!is_yarn && is_listed(yarn_only, name)) ||
           (!is_llama3 && is_listed(llama3_only, name)) || (!is_yarn && !is_llama3 && is_positions);
}

/* What the family cannot say: added to err, and named in text. */
struct misfits {
    const char *family;
    tri_error *err;
    char *text; /* "'window_size', 'qk_layernorm'"; NULL: not wanted */
    size_t bytes;
    int num;
};

static void add_misfit(struct misfits *misfits, const char *option, const char *wanted,
                       const char *got)
{
    size_t length = misfits->text ? strlen(misfits->text) : 0;
    if (misfits->text)
        snprintf(misfits->text + length, misfits->bytes - length, "%s'%s'",
                 misfits->num ? ", " : "", option);
    misfits->num++;
    tri_error_add(misfits->err, TRI_UNSUPPORTED,
                  "family '%s' cannot hold '%s' %s; its models have %s", misfits->family, option,
                  wanted, got);
}

/* Compares the options of one table. */
static void compare_table(const struct tri_option_table *table, const void *wanted, const void *got,
                          const struct tri_gpt_config *config, struct misfits *misfits)
{
    for (int i = 0; i < table->num_rows; i++) {
        const struct tri_option *row = &table->rows[i];
        char a[TRI_OPTION_TEXT], b[TRI_OPTION_TEXT];
        if (is_unused(config, row->name))
            continue;
        tri_option_format(row, wanted, a, sizeof(a));
        tri_option_format(row, got, b, sizeof(b));
        if (strcmp(a, b) != 0)
            add_misfit(misfits, row->name, a, b);
    }
}

/* Reads root back and compares it with config. */
static tri_status write_compare(const struct tri_hf_family *family,
                                const struct tri_gpt_config *config, const json_t *root,
                                struct misfits *misfits)
{
    struct tri_gpt_config wanted = *config, got;
    tri_error *inner = tri_error_create(); /* notes about defaults are of no interest here */
    tri_status status = tri_hf_read_object(family, root, "config.json", inner, &got);
    if (status != TRI_OK)
        tri_error_append(misfits->err, inner);
    tri_error_destroy(&inner);
    TRI_TRY(status);
    misfits->family = family->model_type;
    compare_table(&tri_gpt_options, &wanted, &got, config, misfits);
    compare_table(&tri_transformer_options, &wanted.transformer, &got.transformer, config, misfits);
    compare_table(&tri_attention_options, &wanted.transformer.attention, &got.transformer.attention,
                  config, misfits);
    return misfits->num ? TRI_UNSUPPORTED : TRI_OK;
}

/* The shortest precision at which every real number reads back to itself. */
static char *write_text(const json_t *root)
{
    for (int precision = 15; precision <= 17; precision++) {
        char *text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS |
                                          JSON_REAL_PRECISION((size_t)precision));
        json_t *back = text ? json_loads(text, 0, NULL) : NULL;
        bool same = back && json_equal(back, root);
        json_decref(back);
        if (same || precision == 17)
            return text;
        free(text);
    }
    return NULL;
}

tri_status tri_hf_config_write(const struct tri_hf_family *family,
                               const struct tri_gpt_config *config, const char *dtype,
                               const char *original, tri_error *err, char **text)
{
    json_t *root = write_object(family, config, dtype, original);
    if (!root)
        return tri_error_set(err, TRI_NOMEM, "out of memory while making config.json");
    struct misfits misfits = {.err = err};
    tri_status status = write_compare(family, config, root, &misfits);
    char *body = status == TRI_OK ? write_text(root) : NULL;
    json_decref(root);
    TRI_TRY(status);
    size_t length = body ? strlen(body) : 0;
    char *whole = body ? realloc(body, length + 2) : NULL;
    if (!whole) {
        free(body);
        return tri_error_set(err, TRI_NOMEM, "out of memory while making config.json");
    }
    memcpy(whole + length, "\n", 2);
    *text = whole;
    return TRI_OK;
}

int tri_hf_config_misfits(const struct tri_hf_family *family, const struct tri_gpt_config *config,
                          char *text, size_t bytes)
{
    json_t *root = write_object(family, config, "float32", NULL);
    struct misfits misfits = {.text = text, .bytes = bytes};
    if (text)
        text[0] = '\0';
    tri_status status = root ? write_compare(family, config, root, &misfits) : TRI_NOMEM;
    json_decref(root);
    return status == TRI_OK || misfits.num > 0 ? misfits.num : -1;
}
