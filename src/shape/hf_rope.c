/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scaled rotary positions of a config.json: "rope_scaling" beside rope_theta (transformers 4) or
 * "rope_parameters" with rope_theta in it (5).
 *
 *   rope_type   options
 *   default     none
 *   linear      rotary_seq_len_interpolation_factor
 *   dynamic     rope_dynamic_factor
 *   llama3      use_rope_scaling, rope_scaling_factor, rope_low_freq_factor, rope_high_freq_factor,
 *               original_max_position_embeddings
 *   yarn        position_embedding_type yarn, rotary_scaling_factor, beta_fast, beta_slow, mscale,
 *               mscale_all_dim, yarn_attention_factor, yarn_correction_range_round_to_int,
 *               original_max_position_embeddings
 */
#include "shape/hf_inner.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const objects[] = {"rope_parameters", "rope_scaling"};
enum { NUM_OBJECTS = 2 };
#define ORIGINAL "original_max_position_embeddings"

struct rope_reader {
    const json_t *root;
    const char *name; /* of the file */
    tri_error *err;
    int problems;
    const char *type;
};

#define PROBLEM(reader, status, ...)                                                               \
    ((reader)->problems++, (void)tri_error_add((reader)->err, status, __VA_ARGS__))

/* The value of key in either object, *where is that one; null counts as absent. */
static const json_t *rope_get(struct rope_reader *reader, const char *key, const char **where)
{
    const json_t *found = NULL;
    for (int i = 0; i < NUM_OBJECTS; i++) {
        const json_t *value = json_object_get(json_object_get(reader->root, objects[i]), key);
        if (!value || json_is_null(value))
            continue;
        if (found && !tri_hf_json_equal(found, value)) {
            char first[96], second[96];
            tri_hf_json_text(found, first, sizeof(first));
            tri_hf_json_text(value, second, sizeof(second));
            PROBLEM(reader, TRI_INVALID,
                    "%s: '%s.%s' %s and '%s.%s' %s differ; leave one of them out", reader->name,
                    objects[0], key, first, objects[1], key, second);
        }
        if (!found && where)
            *where = objects[i];
        found = found ? found : value;
    }
    return found;
}

static void rope_wrong_type(struct rope_reader *reader, const char *key, const json_t *value,
                            const char *wanted)
{
    char text[96];
    tri_hf_json_text(value, text, sizeof(text));
    PROBLEM(reader, TRI_INVALID, "%s: '%s' is %s; it must be %s", reader->name, key, text, wanted);
}

/* The number of key; standard when absent, which NaN forbids. */
static double rope_number(struct rope_reader *reader, const char *key, double standard)
{
    const char *where = objects[1];
    const json_t *value = rope_get(reader, key, &where);
    char text[96];
    if (value && !json_is_number(value)) {
        tri_hf_json_text(value, text, sizeof(text));
        PROBLEM(reader, TRI_INVALID, "%s: '%s.%s' is %s; it must be a number", reader->name, where,
                key, text);
    } else if (value && !(json_number_value(value) > 0)) {
        PROBLEM(reader, TRI_INVALID, "%s: '%s.%s' is %g; it must be above 0", reader->name, where,
                key, json_number_value(value));
    } else if (!value && isnan(standard)) {
        PROBLEM(reader, TRI_INVALID, "%s: 'rope_scaling.%s' is missing; rope_type \"%s\" needs it",
                reader->name, key, reader->type);
    } else {
        return value ? json_number_value(value) : standard;
    }
    return 1;
}

/* The older models' number of positions, which stands outside in some files; there it goes before. */
static int64_t rope_positions(struct rope_reader *reader, int64_t standard)
{
    const json_t *outside = json_object_get(reader->root, ORIGINAL);
    if (!rope_get(reader, ORIGINAL, NULL) && json_is_integer(outside))
        standard = json_integer_value(outside);
    double positions =
        rope_number(reader, ORIGINAL, standard == TRI_UNSET ? NAN : (double)standard);
    if (json_is_integer(outside) && json_number_value(outside) != positions)
        PROBLEM(reader, TRI_INVALID,
                "%s: '" ORIGINAL "' is %g outside and %g inside the rotary "
                "settings; leave one of them out",
                reader->name, json_number_value(outside), positions);
    if (positions == floor(positions) && positions <= 2147483647.0)
        return (int64_t)positions;
    PROBLEM(reader, TRI_INVALID, "%s: '" ORIGINAL "' %g is no number of positions; use a whole one",
            reader->name, positions);
    return 1;
}

static void rope_llama3(struct rope_reader *reader, struct tri_attention_config *a)
{
    a->use_rope_scaling = true;
    a->rope_scaling_factor = rope_number(reader, "factor", NAN);
    a->rope_low_freq_factor = rope_number(reader, "low_freq_factor", NAN);
    a->rope_high_freq_factor = rope_number(reader, "high_freq_factor", NAN);
    a->original_max_position_embeddings = rope_positions(reader, TRI_UNSET);
}

static void rope_yarn(struct rope_reader *reader, struct tri_gpt_config *config)
{
    struct tri_attention_config *a = &config->transformer.attention;
    int64_t longest = config->max_position_embeddings;
    const json_t *truncate = rope_get(reader, "truncate", NULL);
    const json_t *factor = rope_get(reader, "attention_factor", NULL);
    const json_t *mscale = rope_get(reader, "mscale", NULL);
    const json_t *all_dim = rope_get(reader, "mscale_all_dim", NULL);
    config->position_embedding_type = TRI_POSITION_YARN;
    a->original_max_position_embeddings = rope_positions(reader, longest);
    a->rotary_scaling_factor = rope_number(
        reader, "factor", (double)longest / (double)a->original_max_position_embeddings);
    a->beta_fast = rope_number(reader, "beta_fast", 32);
    a->beta_slow = rope_number(reader, "beta_slow", 1);
    a->yarn_correction_range_round_to_int = !json_is_false(truncate);
    if (truncate && !json_is_boolean(truncate))
        rope_wrong_type(reader, "truncate", truncate, "true or false");
    if (factor)
        a->yarn_attention_factor = rope_number(reader, "attention_factor", 1);
    if (mscale && !json_is_number(mscale))
        rope_wrong_type(reader, "mscale", mscale, "a number");
    if (all_dim && !json_is_number(all_dim))
        rope_wrong_type(reader, "mscale_all_dim", all_dim, "a number");
    if (json_number_value(mscale) != 0 && json_number_value(all_dim) != 0) {
        a->mscale = rope_number(reader, "mscale", 1);
        a->mscale_all_dim = rope_number(reader, "mscale_all_dim", 1);
    }
}

/* Three sections, of which the positions of text make one: the function is that of rope. */
static void rope_sections(struct rope_reader *reader, struct tri_gpt_config *config)
{
    struct tri_option_list *list = &config->transformer.attention.mrope_section;
    const json_t *sections = rope_get(reader, "mrope_section", NULL);
    if (!sections)
        return;
    config->position_embedding_type = TRI_POSITION_MROPE;
    list->num = 0;
    size_t i;
    json_t *item;
    json_array_foreach(sections, i, item) if (i < 3 && json_is_integer(item))
        list->value[list->num++] = json_integer_value(item);
    if (json_array_size(sections) != 3 || list->num != 3)
        rope_wrong_type(reader, "mrope_section", sections, "three whole numbers");
}

/* The type in either spelling; "default" where none is given. */
static const char *rope_type(struct rope_reader *reader)
{
    const json_t *now = rope_get(reader, "rope_type", NULL), *once = rope_get(reader, "type", NULL);
    const char *type = json_string_value(now ? now : once);
    if ((now || once) && !type)
        rope_wrong_type(reader, now ? "rope_type" : "type", now ? now : once, "a text");
    else if (now && once && !json_equal(now, once) && strcmp(type, "default") != 0)
        PROBLEM(reader, TRI_INVALID,
                "%s: 'rope_type' \"%s\" and 'type' differ; leave one of them out", reader->name,
                type);
    return type ? type : "default";
}

/* Everything in an object must be known, else the function would be another. */
static void rope_check_object(struct rope_reader *reader, const char *where, const json_t *object)
{
    static const char *const known[] = {"rope_type",
                                        "type",
                                        "rope_theta",
                                        "factor",
                                        "original_max_position_embeddings",
                                        "low_freq_factor",
                                        "high_freq_factor",
                                        "beta_fast",
                                        "beta_slow",
                                        "truncate",
                                        "attention_factor",
                                        "mscale",
                                        "mscale_all_dim",
                                        "mrope_section",
                                        "partial_rotary_factor",
                                        "finetuned"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            is_known |= strcmp(known[i], key) == 0;
        char text[96];
        tri_hf_json_text(value, text, sizeof(text));
        if (!is_known && !json_is_null(value))
            PROBLEM(reader, TRI_UNSUPPORTED, "%s: '%s.%s' %s is not in this build; leave it out",
                    reader->name, where, key, text);
    }
}

/* Reads the type, which must be one of these, and that of the family if it has only one; false when it is none,
   and then its keys are not looked at. */
static bool rope_has_type(struct rope_reader *reader, const char *only)
{
    static const char *const types[] = {"default", "linear", "dynamic", "llama3", "yarn", "mrope"};
    reader->type = rope_type(reader);
    if (reader->problems)
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i], reader->type) == 0 && (!only || strcmp(types[i], only) == 0))
            return true;
    PROBLEM(reader, TRI_UNSUPPORTED, "%s: 'rope_type' \"%s\" is not in this build%s; %s%s",
            reader->name, reader->type, only ? " for this family" : "",
            only ? only : "default, linear, dynamic, llama3, yarn and mrope",
            only ? " works" : " work");
    return false;
}

static void rope_scaling(struct rope_reader *reader, struct tri_gpt_config *config)
{
    struct tri_attention_config *a = &config->transformer.attention;
    const char *type = reader->type;
    if (strcmp(type, "linear") == 0)
        a->rotary_seq_len_interpolation_factor = rope_number(reader, "factor", NAN);
    else if (strcmp(type, "dynamic") == 0)
        a->rope_dynamic_factor = rope_number(reader, "factor", NAN);
    else if (strcmp(type, "llama3") == 0)
        rope_llama3(reader, a);
    else if (strcmp(type, "yarn") == 0)
        rope_yarn(reader, config);
    else if (json_number_value(rope_get(reader, "factor", NULL)) > 1)
        PROBLEM(
            reader, TRI_INVALID,
            "%s: 'rope_scaling.factor' %g means nothing for rope_type \"%s\"; name the type that "
            "it is for, or leave it out",
            reader->name, json_number_value(rope_get(reader, "factor", NULL)), type);
    rope_sections(reader, config);
}

/* A share of channels stands beside the type in transformers 5; the family must know it. */
static void rope_partial(struct rope_reader *reader, bool can_be_partial,
                         struct tri_gpt_config *config)
{
    const char *where = objects[0];
    const json_t *share = rope_get(reader, "partial_rotary_factor", &where);
    if (!share)
        return;
    if (can_be_partial)
        config->rotary_percent = rope_number(reader, "partial_rotary_factor", 1);
    else if (json_number_value(share) != 1)
        PROBLEM(reader, TRI_UNSUPPORTED,
                "%s: '%s.partial_rotary_factor' %g is not in this build for this family; only all "
                "channels work",
                reader->name, where, json_number_value(share));
}

bool tri_hf_is_rope_key(const struct tri_hf_key *key)
{
    return key->option && (strcmp(key->option, "rotary_base") == 0 ||
                           strcmp(key->option, "rotary_base_local") == 0 ||
                           strcmp(key->option, "rotary_percent") == 0);
}

/* The settings of sliding layers may have another base, nothing else. */
static bool rope_check_sliding(const json_t *sliding, const char *name, tri_error *err)
{
    const char *key;
    json_t *value;
    bool good = true;
    json_object_foreach((json_t *)sliding, key, value)
    {
        bool is_type = strcmp(key, "rope_type") == 0 || strcmp(key, "type") == 0;
        bool is_default =
            is_type && json_is_string(value) && strcmp(json_string_value(value), "default") == 0;
        char text[96];
        if (is_default || json_is_null(value) || strcmp(key, "rope_theta") == 0)
            continue;
        tri_hf_json_text(value, text, sizeof(text));
        tri_error_add(err, TRI_UNSUPPORTED,
                      "%s: 'rope_parameters." TRI_HF_SLIDING
                      ".%s' %s is not in this build; layers with a "
                      "window turn by rope_type \"default\", their base is free",
                      name, key, text);
        good = false;
    }
    return good;
}

json_t *tri_hf_rope_flatten(const struct tri_hf_keys *keys, const json_t *root, const char *name,
                            tri_error *err)
{
    const struct tri_hf_key *local = tri_hf_key_of(keys, "rotary_base_local");
    const json_t *by_type = json_object_get(root, "rope_parameters");
    json_t *full = json_object_get(by_type, TRI_HF_FULL);
    json_t *sliding = json_object_get(by_type, TRI_HF_SLIDING);
    json_t *base = json_object_get(sliding, "rope_theta");
    if (!local || json_object_size(by_type) == 0)
        return json_incref((json_t *)root);
    if (json_object_size(by_type) != (full ? 1U : 0U) + (sliding ? 1U : 0U)) {
        tri_error_add(err, TRI_UNSUPPORTED,
                      "%s: 'rope_parameters' of this family are those of '" TRI_HF_FULL
                      "' and of '" TRI_HF_SLIDING "'; leave the rest out",
                      name);
        return NULL;
    }
    if (!rope_check_sliding(sliding, name, err))
        return NULL;
    json_t *flat = json_copy((json_t *)root);
    int failed = !flat || json_object_set_new(flat, "rope_parameters",
                                              full ? json_incref(full) : json_object());
    if (base)
        failed |= json_object_set(flat, local->name, base);
    if (!failed)
        return flat;
    json_decref(flat);
    tri_error_set(err, TRI_NOMEM, "out of memory while reading '%s'", name);
    return NULL;
}

int tri_hf_rope_read(const struct tri_hf_keys *keys, const char *only_type, const json_t *root,
                     const char *name, tri_error *err, struct tri_gpt_config *config)
{
    struct rope_reader reader = {.root = root, .name = name, .err = err};
    for (int i = 0; i < NUM_OBJECTS; i++) {
        const json_t *object = json_object_get(root, objects[i]);
        if (object && !json_is_null(object) && !json_is_object(object))
            rope_wrong_type(&reader, objects[i], object, "an object or null");
    }
    if (reader.problems || !rope_has_type(&reader, only_type))
        return reader.problems;
    for (int i = 0; i < NUM_OBJECTS; i++)
        rope_check_object(&reader, objects[i], json_object_get(root, objects[i]));
    if (reader.problems)
        return reader.problems;
    rope_scaling(&reader, config);
    rope_partial(&reader, tri_hf_key_of(keys, "rotary_percent") != NULL, config);
    return reader.problems;
}
