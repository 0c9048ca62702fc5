/* SPDX-License-Identifier: Apache-2.0 */
/* The registries of spec/: one line per module and one per model family. */
#include "spec/describe.h"
#include "spec/family.h"
#include "spec/families.h"

#include <string.h>

static const struct tri_module_row *const module_rows[] = {
    &tri_spec_embedding,        &tri_spec_transformer_layer,
    &tri_spec_parallel_layer,   &tri_spec_layernorm,
    &tri_spec_rmsnorm,          &tri_spec_l2norm,
    &tri_spec_split_rmsnorm,    &tri_spec_self_attention,
    &tri_spec_column_linear,    &tri_spec_dot_product_attention,
    &tri_spec_row_linear,       &tri_spec_whole_linear,
    &tri_spec_bias_dropout_add, &tri_spec_mlp,
    &tri_spec_activation,       &tri_spec_lm_head,
    &tri_spec_cross_entropy,    NULL,
};

#define FAMILY_ROW(name)  &tri_family_##name,
#define FAMILY_TEXT(name) ", " #name
static const struct tri_family *const family_rows[] = {TRI_FAMILIES(FAMILY_ROW)};
static const char family_list[] = TRI_FAMILIES(FAMILY_TEXT);
enum { NUM_FAMILIES = sizeof(family_rows) / sizeof(family_rows[0]) };

const struct tri_module_row *tri_module_row_find(const char *name)
{
    for (int i = 0; module_rows[i]; i++)
        if (strcmp(module_rows[i]->name, name) == 0)
            return module_rows[i];
    return NULL;
}

const char *tri_family_list(void)
{
    return family_list + 2; /* behind the first comma */
}

const struct tri_family *tri_family_get(int i)
{
    return i >= 0 && i < NUM_FAMILIES ? family_rows[i] : NULL;
}

const struct tri_family *tri_family_find(const char *name)
{
    for (int i = 0; i < NUM_FAMILIES; i++)
        if (strcmp(family_rows[i]->name, name) == 0 ||
            strcmp(family_rows[i]->config->model_type, name) == 0)
            return family_rows[i];
    return NULL;
}
