/* SPDX-License-Identifier: Apache-2.0 */
/* Copying a layer's tree: what is numbered by layer gets the new number. */
#include "spec/layer.h"
#include "spec/modules.h"

#include <string.h>

/* The layer number inside the parameters of node, or NULL. */
static int64_t *copy_layer_number(const struct tri_module_spec *node, void *params)
{
    if (strcmp(node->module, "transformer_layer") == 0 ||
        strcmp(node->module, "parallel_layer") == 0)
        return &((struct tri_layer_params *)params)->layer;
    if (strcmp(node->module, "bias_dropout_add") == 0)
        return &((struct tri_bda_params *)params)->layer;
    if (strcmp(node->module, "dot_product_attention") == 0)
        return &((struct tri_attention_params *)params)->layer;
    return NULL;
}

bool tri_layer_spec_copy(tri_arena *arena, const struct tri_module_spec *from, int64_t layer,
                         struct tri_module_spec *to)
{
    *to = *from;
    to->children = tri_arena_alloc(arena, (size_t)from->num_children * sizeof(*to->children));
    void *params = tri_arena_alloc(arena, from->params_bytes);
    if (!to->children || !params)
        return false;
    if (from->params_bytes > 0)
        memcpy(params, from->params, from->params_bytes);
    to->params = params;
    int64_t *number = copy_layer_number(to, params);
    if (number)
        *number = layer;
    for (int i = 0; i < from->num_children; i++)
        if (!tri_layer_spec_copy(arena, &from->children[i], layer, &to->children[i]))
            return false;
    return true;
}
