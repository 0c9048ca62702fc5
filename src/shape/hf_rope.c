/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scaled rotary positions of a config.json: "rope_scaling" beside rope_theta (transformers 4) or
 * "rope_parameters" with rope_theta in it (5). Written is the older form, which both read.
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
        if (found && !tri_hf_json_equal(found, value))
            PROBLEM(reader, TRI_INVALID, "%s: '%s.%s' and '%s.%s' differ; leave one of them out",
                    reader->name, objects[0], key, objects[1], key);
        if (!found && where)
            *where = objects[i];
        found = found ? found : value;
    }
    return found;
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

static int64_t rope_positions(struct rope_reader *reader, int64_t standard)
{
    double positions = rope_number(reader, "original_max_position_embeddings",
                                   standard == TRI_UNSET ? NAN : (double)standard);
    if (positions == floor(positions) && positions <= 2147483647.0)
        return (int64_t)positions;
    PROBLEM(reader, TRI_INVALID,
            "%s: 'original_max_position_embeddings' %g is no number of positions; use a whole one",
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
    if (factor)
        a->yarn_attention_factor = rope_number(reader, "attention_factor", 1);
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
        PROBLEM(reader, TRI_INVALID, "%s: 'mrope_section' must be three whole numbers",
                reader->name);
}

/* The type in either spelling; "default" where none is given. */
static const char *rope_type(struct rope_reader *reader)
{
    const json_t *now = rope_get(reader, "rope_type", NULL), *once = rope_get(reader, "type", NULL);
    const char *type = json_string_value(now ? now : once);
    if (now && once && !json_equal(now, once) && strcmp(type ? type : "", "default") != 0)
        PROBLEM(reader, TRI_INVALID, "%s: 'rope_type' and 'type' differ; leave one of them out",
                reader->name);
    if ((now || once) && !type)
        PROBLEM(reader, TRI_INVALID, "%s: 'rope_type' must be a text", reader->name);
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

static void rope_scaling(struct rope_reader *reader, struct tri_gpt_config *config)
{
    struct tri_attention_config *a = &config->transformer.attention;
    const char *type = reader->type = rope_type(reader);
    if (strcmp(type, "linear") == 0)
        a->rotary_seq_len_interpolation_factor = rope_number(reader, "factor", NAN);
    else if (strcmp(type, "dynamic") == 0)
        a->rope_dynamic_factor = rope_number(reader, "factor", NAN);
    else if (strcmp(type, "llama3") == 0)
        rope_llama3(reader, a);
    else if (strcmp(type, "yarn") == 0)
        rope_yarn(reader, config);
    else if (strcmp(type, "default") != 0 && strcmp(type, "mrope") != 0)
        PROBLEM(
            reader, TRI_UNSUPPORTED,
            "%s: 'rope_type' \"%s\" is not in this build; default, linear, dynamic, llama3, yarn "
            "and mrope work",
            reader->name, type);
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

json_t *tri_hf_rope_flatten(const struct tri_hf_family *family, const json_t *root)
{
    bool has_local = false;
    for (int i = 0; i < family->num_keys; i++)
        has_local |= strcmp(family->keys[i].name, "rope_local_base_freq") == 0;
    const json_t *by_type = json_object_get(root, "rope_parameters");
    json_t *full = json_object_get(by_type, "full_attention");
    json_t *sliding = json_object_get(by_type, "sliding_attention");
    if (!has_local || !json_is_object(full))
        return json_incref((json_t *)root);
    json_t *flat = json_copy((json_t *)root);
    json_t *base = json_object_get(sliding, "rope_theta");
    if (flat && base)
        json_object_set(flat, "rope_local_base_freq", base);
    if (flat)
        json_object_set(flat, "rope_parameters", full);
    return flat;
}

int tri_hf_rope_read(const struct tri_hf_family *family, const json_t *root, const char *name,
                     tri_error *err, struct tri_gpt_config *config)
{
    struct rope_reader reader = {.root = root, .name = name, .err = err};
    bool can_be_partial = false;
    for (int i = 0; i < family->num_keys; i++)
        can_be_partial |=
            family->keys[i].option && strcmp(family->keys[i].option, "rotary_percent") == 0;
    for (int i = 0; i < NUM_OBJECTS; i++) {
        const json_t *object = json_object_get(root, objects[i]);
        char text[96];
        if (!object || json_is_null(object))
            continue;
        tri_hf_json_text(object, text, sizeof(text));
        if (!json_is_object(object))
            PROBLEM(&reader, TRI_INVALID, "%s: '%s' is %s; it must be an object or null", name,
                    objects[i], text);
        rope_check_object(&reader, objects[i], object);
    }
    if (reader.problems)
        return reader.problems;
    rope_scaling(&reader, config);
    rope_partial(&reader, can_be_partial, config);
    return reader.problems;
}

/* Adds an object of what makes a type. */
static json_t *write_yarn(const struct tri_attention_config *a)
{
    json_t *object =
        json_pack("{ss sf sI sf sf sb}", "rope_type", "yarn", "factor", a->rotary_scaling_factor,
                  "original_max_position_embeddings",
                  (json_int_t)a->original_max_position_embeddings, "beta_fast", a->beta_fast,
                  "beta_slow", a->beta_slow, "truncate", a->yarn_correction_range_round_to_int);
    if (!isnan(a->yarn_attention_factor))
        json_object_set_new(object, "attention_factor", json_real(a->yarn_attention_factor));
    if (a->mscale != 0 && a->mscale_all_dim != 0) {
        json_object_set_new(object, "mscale", json_real(a->mscale));
        json_object_set_new(object, "mscale_all_dim", json_real(a->mscale_all_dim));
    }
    return object;
}

json_t *tri_hf_rope_write(const struct tri_gpt_config *config)
{
    const struct tri_attention_config *a = &config->transformer.attention;
    json_t *object = NULL;
    if (config->position_embedding_type == TRI_POSITION_YARN)
        object = write_yarn(a);
    else if (!isnan(a->rotary_seq_len_interpolation_factor))
        object = json_pack("{ss sf}", "rope_type", "linear", "factor",
                           a->rotary_seq_len_interpolation_factor);
    else if (!isnan(a->rope_dynamic_factor))
        object = json_pack("{ss sf}", "rope_type", "dynamic", "factor", a->rope_dynamic_factor);
    else if (a->use_rope_scaling)
        object =
            json_pack("{ss sf sf sf sI}", "rope_type", "llama3", "factor", a->rope_scaling_factor,
                      "low_freq_factor", a->rope_low_freq_factor, "high_freq_factor",
                      a->rope_high_freq_factor, "original_max_position_embeddings",
                      (json_int_t)a->original_max_position_embeddings);
    const int64_t *sections = a->mrope_section.value;
    if (config->position_embedding_type == TRI_POSITION_MROPE && a->mrope_section.num == 3) {
        object = object ? object : json_pack("{ss}", "rope_type", "default");
        json_object_set_new(object, "mrope_section",
                            json_pack("[III]", (json_int_t)sections[0], (json_int_t)sections[1],
                                      (json_int_t)sections[2]));
    }
    return object;
}
