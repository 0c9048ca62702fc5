/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotary positions of a gpt_config to config.json, in either spelling: that of the file if it has one,
 * else the older.
 *
 *   transformers 4   rope_theta, partial_rotary_factor, rope_local_base_freq by the family's keys, rope_scaling
 *   transformers 5   rope_parameters with all of them, for each kind of layer where the family's layers differ
 */
#include "shape/hf_inner.h"

#include <math.h>
#include <string.h>

/* Everything that the two spellings spell. */
static const char *const options[] = {
    "position_embedding_type",
    "rotary_base",
    "rotary_base_local",
    "rotary_percent",
    "rotary_seq_len_interpolation_factor",
    "rope_dynamic_factor",
    "use_rope_scaling",
    "rope_scaling_factor",
    "rope_low_freq_factor",
    "rope_high_freq_factor",
    "original_max_position_embeddings",
    "rotary_scaling_factor",
    "beta_fast",
    "beta_slow",
    "mscale",
    "mscale_all_dim",
    "yarn_attention_factor",
    "yarn_correction_range_round_to_int",
    "mrope_section",
};
enum { NUM_OPTIONS = sizeof(options) / sizeof(options[0]) };

static bool same_positions(const struct tri_gpt_config *a, const struct tri_gpt_config *b)
{
    for (int i = 0; i < NUM_OPTIONS; i++)
        if (!tri_hf_same_option(options[i], a, b))
            return false;
    return true;
}

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

/* How positions are scaled: rope_scaling, or rope_parameters without the base; a new reference, NULL: not at all. */
static json_t *write_scaling(const struct tri_gpt_config *config)
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

/* The keys of transformers 4. */
static int write_beside(const struct tri_hf_keys *keys, const struct tri_gpt_config *config,
                        json_t *root)
{
    json_t *scaling = write_scaling(config);
    int failed = 0;
    for (int i = 0; i < keys->num; i++) {
        const struct tri_hf_key *key = &keys->rows[i];
        bool is_wanted = !tri_hf_is_second(key) || json_object_get(root, key->name);
        if (tri_hf_is_rope_key(key) && is_wanted)
            failed |= json_object_set_new(root, key->name, tri_hf_write_field(config, key->option));
    }
    if (scaling || json_object_get(root, "rope_scaling"))
        failed |= json_object_set_new(root, "rope_scaling", scaling ? scaling : json_null());
    return failed;
}

/* The object of transformers 5. */
static int write_inside(const struct tri_hf_keys *keys, const struct tri_gpt_config *config,
                        json_t *root)
{
    json_t *scaling = write_scaling(config);
    json_t *object = scaling ? scaling : json_pack("{ss}", "rope_type", "default");
    int failed =
        json_object_set_new(object, "rope_theta", tri_hf_write_field(config, "rotary_base"));
    if (tri_hf_key_of(keys, "rotary_percent"))
        failed |= json_object_set_new(object, "partial_rotary_factor",
                                      tri_hf_write_field(config, "rotary_percent"));
    if (tri_hf_key_of(keys, "rotary_base_local")) {
        json_t *local = tri_hf_write_field(config, "rotary_base_local");
        object = json_pack("{so s{ss so}}", TRI_HF_FULL, object, TRI_HF_SLIDING, "rope_type",
                           "default", "rope_theta", local);
    }
    for (int i = 0; i < keys->num; i++)
        if (tri_hf_is_rope_key(&keys->rows[i]))
            json_object_del(root, keys->rows[i].name);
    json_object_del(root, "rope_scaling");
    return failed | json_object_set_new(root, "rope_parameters", object);
}

int tri_hf_rope_write(const struct tri_hf_keys *keys, const struct tri_gpt_config *config,
                      const struct tri_gpt_config *was, json_t *root)
{
    if (!tri_hf_key_of_kind(keys, TRI_HF_ROPE_THETA) || (was && same_positions(config, was)))
        return 0;
    bool is_inside = json_is_object(json_object_get(root, "rope_parameters"));
    return (is_inside ? write_inside : write_beside)(keys, config, root);
}
