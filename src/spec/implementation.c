/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up what stands behind an implementation, and listing what a module has. */
#include "spec/implementation.h"

#include "spec/layer.h"

#include "base/options_inner.h"

#include <string.h>

enum { MAX_NAMES = 64 };

const struct tri_extension *tri_extension_find(const struct tri_extension *extensions,
                                               int num_extensions,
                                               const struct tri_module_spec *node)
{
    for (int i = 0; i < num_extensions; i++)
        if (strcmp(extensions[i].implementation, node->implementation) == 0 &&
            strcmp(extensions[i].module_row->name, node->module) == 0)
            return &extensions[i];
    return NULL;
}

const struct tri_module_row *tri_implementation_row(const struct tri_extension *extensions,
                                                    int num_extensions,
                                                    const struct tri_module_spec *node)
{
    const struct tri_extension *extension = tri_extension_find(extensions, num_extensions, node);
    return extension ? extension->module_row
                     : tri_module_row_find(node->module, node->implementation);
}

const char *tri_implementation_kernels(const struct tri_extension *extensions, int num_extensions,
                                       const struct tri_module_spec *node)
{
    const struct tri_module_row *row = tri_implementation_row(extensions, num_extensions, node);
    if (row && row->kernels)
        return row->kernels;
    bool is_known = tri_implementation_known(node->implementation);
    return !is_known && tri_implementation_exists(extensions, num_extensions, node)
               ? "plain"
               : node->implementation;
}

bool tri_implementation_exists(const struct tri_extension *extensions, int num_extensions,
                               const struct tri_module_spec *node)
{
    if (tri_extension_find(extensions, num_extensions, node))
        return true;
    const struct tri_module_row *row = tri_module_row_find(node->module, node->implementation);
    return row && (row->implementation || tri_implementation_known(node->implementation));
}

const char *tri_implementation_module(const struct tri_extension *extensions, int num_extensions,
                                      const char *name)
{
    for (int i = 0; i < num_extensions; i++)
        if (strcmp(extensions[i].implementation, name) == 0)
            return extensions[i].module_row->name;
    for (int i = 0; tri_module_row_get(i); i++) {
        const struct tri_module_row *row = tri_module_row_get(i);
        if (row->implementation && strcmp(row->implementation, name) == 0)
            return row->name;
    }
    return NULL;
}

struct name_list {
    const char *name[MAX_NAMES];
    int num;
};

/* Adds the implementation called name of module, which is asked for; NULL: of any. */
static void names_add(struct name_list *list, const char *name, const char *module,
                      const char *asked)
{
    bool is_asked = !asked || strcmp(module, asked) == 0;
    for (int i = 0; i < list->num; i++)
        is_asked &= strcmp(list->name[i], name) != 0;
    if (is_asked && list->num < MAX_NAMES)
        list->name[list->num++] = name;
}

void tri_implementation_format(const struct tri_extension *extensions, int num_extensions,
                               const char *module, char *text, size_t bytes)
{
    struct name_list list = {.num = 0};
    for (int i = 0; tri_layer_rule_get(i); i++)
        if (tri_implementation_known(tri_layer_rule_get(i)) &&
            (!module || tri_module_row_find(module, NULL)))
            names_add(&list, tri_layer_rule_get(i), NULL, NULL);
    for (int i = 0; tri_module_row_get(i); i++) {
        const struct tri_module_row *row = tri_module_row_get(i);
        if (row->implementation)
            names_add(&list, row->implementation, row->name, module);
    }
    for (int i = 0; i < num_extensions; i++)
        names_add(&list, extensions[i].implementation, extensions[i].module_row->name, module);
    struct tri_option_text out;
    tri_option_text_init(&out, text, bytes);
    for (int i = 0; i < list.num; i++)
        tri_option_text_add(&out, "%s%s",
                            i == 0             ? ""
                            : i < list.num - 1 ? ", "
                                               : " or ",
                            list.name[i]);
}
