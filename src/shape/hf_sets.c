/* SPDX-License-Identifier: Apache-2.0 */
/* Which options a family's config.json gives: by its keys, by what all its models have, by kinds of keys. */
#include "shape/hf_inner.h"

#include <string.h>

/* Options that a key gives without naming them. */
static const struct {
    enum tri_hf_key_kind kind;
    const char *rope_type; /* of TRI_HF_ROPE_THETA */
    const char *option;
} by_kind[] = {
    {TRI_HF_WINDOW, NULL, "window_size"},
    {TRI_HF_WINDOW_FIRST, NULL, "window_attn_skip_freq"},
    {TRI_HF_WINDOW_EVERY, NULL, "window_attn_skip_freq"},
    {TRI_HF_LAYER_TYPES, NULL, "window_attn_skip_freq"},
    {TRI_HF_ROPE_THETA, "linear", "rotary_seq_len_interpolation_factor"},
    {TRI_HF_ROPE_THETA, "dynamic", "rope_dynamic_factor"},
    {TRI_HF_ROPE_THETA, "llama3", "use_rope_scaling"},
    {TRI_HF_ROPE_THETA, "llama3", "rope_scaling_factor"},
    {TRI_HF_ROPE_THETA, "llama3", "rope_low_freq_factor"},
    {TRI_HF_ROPE_THETA, "llama3", "rope_high_freq_factor"},
    {TRI_HF_ROPE_THETA, "llama3", "original_max_position_embeddings"},
    {TRI_HF_ROPE_THETA, "yarn", "original_max_position_embeddings"},
    {TRI_HF_ROPE_THETA, "yarn", "rotary_scaling_factor"},
    {TRI_HF_ROPE_THETA, "yarn", "beta_fast"},
    {TRI_HF_ROPE_THETA, "yarn", "beta_slow"},
    {TRI_HF_ROPE_THETA, "yarn", "mscale"},
    {TRI_HF_ROPE_THETA, "yarn", "mscale_all_dim"},
    {TRI_HF_ROPE_THETA, "yarn", "yarn_attention_factor"},
    {TRI_HF_ROPE_THETA, "yarn", "yarn_correction_range_round_to_int"},
    {TRI_HF_ROPE_THETA, "mrope", "mrope_section"},
};

static bool kind_sets(const struct tri_hf_family *family, enum tri_hf_key_kind kind,
                      const char *option)
{
    const char *only = family->only_rope_type;
    for (size_t i = 0; i < sizeof(by_kind) / sizeof(by_kind[0]); i++) {
        if (by_kind[i].kind != kind || strcmp(by_kind[i].option, option) != 0)
            continue;
        if (!only || !by_kind[i].rope_type || strcmp(only, by_kind[i].rope_type) == 0)
            return true;
    }
    return false;
}

bool tri_hf_config_sets(const struct tri_hf_family *family, const char *option)
{
    struct tri_hf_keys keys;
    tri_hf_list_keys(family, &keys);
    for (int i = 0; i < keys.num; i++) {
        const struct tri_hf_key *key = &keys.rows[i];
        if ((key->option && strcmp(key->option, option) == 0) ||
            kind_sets(family, key->kind, option))
            return true;
    }
    for (; family; family = family->base)
        for (int i = 0; i < family->num_constants; i++)
            if (strcmp(family->constants[i].option, option) == 0)
                return true;
    return false;
}
