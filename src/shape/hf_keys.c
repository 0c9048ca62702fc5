/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a family together with those of the family that it is like. */
#include "shape/hf_inner.h"

#include <string.h>

static bool has_name(const struct tri_hf_family *family, const char *name)
{
    for (int i = 0; i < family->num_keys; i++)
        if (strcmp(family->keys[i].name, name) == 0)
            return true;
    return false;
}

void tri_hf_list_keys(const struct tri_hf_family *family, struct tri_hf_keys *keys)
{
    int kept = 0;
    keys->num = 0;
    if (family->base)
        tri_hf_list_keys(family->base, keys);
    for (int i = 0; i < keys->num; i++)
        if (!has_name(family, keys->rows[i].name))
            keys->rows[kept++] = keys->rows[i];
    keys->num = kept;
    for (int i = 0; i < family->num_keys; i++) {
        TRI_ASSERT(keys->num < TRI_HF_MAX_KEYS);
        if (family->keys[i].kind != TRI_HF_NONE)
            keys->rows[keys->num++] = family->keys[i];
    }
}

bool tri_hf_is_second(const struct tri_hf_key *key)
{
    return key->kind == TRI_HF_ALIAS || key->kind == TRI_HF_TWIN;
}

const struct tri_hf_key *tri_hf_key_of(const struct tri_hf_keys *keys, const char *option)
{
    for (int i = 0; i < keys->num; i++)
        if (keys->rows[i].option && !tri_hf_is_second(&keys->rows[i]) &&
            strcmp(keys->rows[i].option, option) == 0)
            return &keys->rows[i];
    return NULL;
}

const struct tri_hf_key *tri_hf_key_of_kind(const struct tri_hf_keys *keys,
                                            enum tri_hf_key_kind kind)
{
    for (int i = 0; i < keys->num; i++)
        if (keys->rows[i].kind == kind)
            return &keys->rows[i];
    return NULL;
}
