/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a module tree: children by slot, and their paths. */
#include "spec/path.h"

#include <string.h>

const struct tri_module_spec *tri_module_spec_child(const struct tri_module_spec *node,
                                                    const char *slot)
{
    for (int i = 0; i < node->num_children; i++)
        if (strcmp(node->children[i].slot, slot) == 0)
            return &node->children[i];
    return NULL;
}

const char *tri_spec_child_path(tri_arena *arena, const char *parent, const char *slot)
{
    if (strcmp(parent, "head") != 0)
        return tri_arena_format(arena, "%s.%s", parent, slot);
    return strcmp(slot, "final_layernorm") == 0 ? "decoder.final_layernorm"
                                                : tri_arena_format(arena, "%s", slot);
}
