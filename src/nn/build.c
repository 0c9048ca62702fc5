/* SPDX-License-Identifier: Apache-2.0 */
/* Creating modules: each takes its place in the unit's record, then its rows and parameters by
   name. */
#include "nn/build.h"

#include "spec/implementation.h"

#include <stdlib.h>
#include <string.h>

tri_status tri_build_module(struct tri_build *build, const struct tri_module_spec *node,
                            tri_module **module)
{
    TRI_CHECK(build->next < build->size->num_modules, build->err, TRI_BUG,
              "module '%s' is not in the record, which ends after %d modules", node->slot,
              build->size->num_modules);
    const struct tri_module_spec *next = build->size->module_spec[build->next];
    TRI_CHECK(strcmp(next->module, node->module) == 0 && strcmp(next->slot, node->slot) == 0,
              build->err, TRI_BUG, "module '%s' (%s) was described as '%s' (%s)", node->slot,
              node->module, next->slot, next->module);
    const struct tri_extension *extension =
        tri_extension_find(build->extensions, build->num_extensions, node);
    const struct tri_module_class *class =
        extension ? extension->module_class
                  : tri_module_class_find(node->module, node->implementation);
    TRI_CHECK(class, build->err, TRI_UNSUPPORTED,
              "no module '%s' for '%s'; give an extension that implements it", node->module,
              build->size->module_path[build->next]);
    return class->create(build, node, module);
}

tri_status tri_build_child(struct tri_build *build, const struct tri_module_spec *node,
                           const char *slot, tri_module **module)
{
    const struct tri_module_spec *child = tri_module_spec_child(node, slot);
    TRI_CHECK(child, build->err, TRI_BUG, "module '%s' (%s) has no part '%s'", node->slot,
              node->module, slot);
    return tri_build_module(build, child, module);
}

static const struct tri_kernels *build_kernels(const struct tri_build *build,
                                               const char *implementation)
{
    for (int i = 0; i < build->num_kernels; i++)
        if (strcmp(build->kernels[i].implementation, implementation) == 0)
            return build->kernels[i].kernels;
    return NULL;
}

tri_status tri_build_alloc(struct tri_build *build, const struct tri_module_spec *node,
                           const struct tri_module_ops *ops, size_t bytes, void *module)
{
    const char *path = build->size->module_path[build->next];
    const char *name = tri_implementation_kernels(build->extensions, build->num_extensions, node);
    const struct tri_kernels *kernels = build_kernels(build, name);
    TRI_CHECK(kernels, build->err, TRI_UNSUPPORTED,
              "'%s' asks for the operations of '%s', which no backend stands behind", path, name);
    tri_module *made = calloc(1, bytes);
    TRI_CHECK(made, build->err, TRI_NOMEM, "out of memory for module '%s' (%zu bytes)", path,
              bytes);
    made->ops = ops;
    made->err = build->err;
    made->queue = build->queue;
    made->kernels = kernels;
    made->path = path;
    made->index = build->first_index + build->next;
    build->next++;
    memcpy(module, &made, sizeof(made));
    return TRI_OK;
}

static bool build_row_is_in_slot(const struct tri_build *build, const struct tri_size_row *row)
{
    bool saved = row->row_class == TRI_ROW_SAVED_INPUT || row->row_class == TRI_ROW_SAVED_WEIGHT;
    bool kept = row->row_class == TRI_ROW_GRAD && build->sizing->split_backward;
    return (saved || kept) && !build->sizing->forward_only;
}

tri_status tri_build_row(struct tri_build *build, const tri_module *self, const char *name,
                         struct tri_row_ref *ref)
{
    int module = self->index - build->first_index;
    for (int i = 0; i < build->size->num_rows; i++) {
        const struct tri_size_row *row = &build->size->rows[i];
        if (row->module != module || strcmp(row->name, name) != 0)
            continue;
        char *arena = row->row_class == TRI_ROW_RUN ? build->run : build->work;
        bool in_slot = build_row_is_in_slot(build, row);
        *ref = (struct tri_row_ref){.in_slot = in_slot,
                                    .base = in_slot ? NULL : arena + row->offset,
                                    .offset = in_slot ? build->slot_offset + row->offset : 0,
                                    .bytes = row->bytes,
                                    .dtype = row->dtype,
                                    .num_dims = row->num_dims};
        memcpy(ref->dims, row->dims, sizeof(ref->dims));
        return TRI_OK;
    }
    return tri_error_set(build->err, TRI_BUG, "the record of '%s' has no row '%s'", self->path,
                         name);
}

/* The logical name of the module's parameter whose last part is name; NULL if there is none. */
static const char *build_logical_name(const struct tri_build *build, int module, const char *name)
{
    for (int i = 0; i < build->size->num_params; i++) {
        const struct tri_param_spec *spec = &build->size->params[i];
        const char *dot = strrchr(spec->name, '.');
        if (spec->module == module && strcmp(dot ? dot + 1 : spec->name, name) == 0)
            return spec->name;
    }
    return NULL;
}

tri_status tri_build_param(struct tri_build *build, const tri_module *self, const char *name,
                           struct tri_param **param)
{
    const char *logical = strchr(name, '.') ? name : NULL;
    if (!logical)
        logical = build_logical_name(build, self->index - build->first_index, name);
    for (int i = 0; logical && i < build->num_params; i++)
        if (strcmp(build->params[i].spec->name, logical) == 0) {
            *param = &build->params[i];
            return TRI_OK;
        }
    return tri_error_set(build->err, TRI_BUG, "the slice of '%s' has no parameter '%s'", self->path,
                         name);
}

tri_status tri_build_finish(tri_status status, tri_module *made, tri_module **module)
{
    if (status == TRI_OK)
        *module = made;
    else
        tri_module_destroy(&made);
    return status;
}
