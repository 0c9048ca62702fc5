/* SPDX-License-Identifier: Apache-2.0 */
/* Every module there is, one line each. */
#include "nn/classes.h"

#include <string.h>

static const struct tri_module_class *const module_classes[] = {
    &tri_module_class_activation,
    &tri_module_class_bias_dropout_add,
    &tri_module_class_column_linear,
    &tri_module_class_cross_entropy,
    &tri_module_class_dot_product_attention,
    &tri_module_class_embedding,
    &tri_module_class_l2norm,
    &tri_module_class_layernorm,
    &tri_module_class_lm_head,
    &tri_module_class_mlp,
    &tri_module_class_parallel_layer,
    &tri_module_class_rmsnorm,
    &tri_module_class_row_linear,
    &tri_module_class_self_attention,
    &tri_module_class_split_rmsnorm,
    &tri_module_class_transformer_layer,
    &tri_module_class_whole_linear,
};
enum { NUM_CLASSES = sizeof(module_classes) / sizeof(module_classes[0]) };

const struct tri_module_class *tri_module_class_get(int i)
{
    return i >= 0 && i < NUM_CLASSES ? module_classes[i] : NULL;
}

const struct tri_module_class *tri_module_class_find(const char *name)
{
    for (int i = 0; i < NUM_CLASSES; i++)
        if (strcmp(module_classes[i]->name, name) == 0)
            return module_classes[i];
    return NULL;
}
