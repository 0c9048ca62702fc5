/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a module is built from. model/ fills tri_build for one unit; modules are created in the
 * pre-order of the unit's record, each taking its rows and parameters by name. The create function is
 * found by module and implementation: extensions, then the registry's.
 */
#pragma once

#include "nn/module.h"
#include "spec/sizing.h"

/* Implementation to operation table: cpu_ref for "plain", cpu_fast for "fused". */
struct tri_kernel_binding {
    const char *implementation;
    const struct tri_kernels *kernels;
};

struct tri_build {
    tri_error *err;
    struct tri_queue *queue;
    const struct tri_unit_size *size;
    const struct tri_sizing_input *sizing;
    uint64_t seed; /* of dropout keys */
    tri_group *tp; /* never NULL; size 1 is legal */
    bool sequence_parallel;
    char *work;               /* base of the work arena */
    char *run;                /* base of the unit's part of the run arena */
    size_t slot_offset;       /* of the unit's part in a slot */
    int first_index;          /* module index of the unit's first module within the slice */
    struct tri_param *params; /* of the slice */
    int num_params;
    struct tri_kernel_binding kernels[4];
    int num_kernels;
    const struct tri_extension *extensions;
    int num_extensions;
    int next; /* index of the next module in the record; starts at 0 */
};

struct tri_module_class {
    const char *name;           /* of the module, as its row's */
    const char *implementation; /* likewise; NULL: of every one that has no class of its own */
    tri_status (*create)(struct tri_build *build, const struct tri_module_spec *node,
                         tri_module **module);
};
/* The class of module name for implementation, or else its default one; NULL: there is none. implementation
   NULL: the default one. */
const struct tri_module_class *tri_module_class_find(const char *name, const char *implementation);
/* Class number i of the registry; NULL behind the last. */
const struct tri_module_class *tri_module_class_get(int i);

/* Creates node's module: checks that the record's next module is node, and hands over. */
tri_status tri_build_module(struct tri_build *build, const struct tri_module_spec *node,
                            tri_module **module);
/* Creates the module of node's child in slot. A missing child is TRI_BUG. */
tri_status tri_build_child(struct tri_build *build, const struct tri_module_spec *node,
                           const char *slot, tri_module **module);
/* For create functions: allocates bytes (zeroed; first member struct tri_module) and fills the
   base. module is the address of the caller's pointer. Takes the record's next module. */
tri_status tri_build_alloc(struct tri_build *build, const struct tri_module_spec *node,
                           const struct tri_module_ops *ops, size_t bytes, void *module);
/* Row and parameter of the module whose create function is running (self). A missing one is
   TRI_BUG. */
tri_status tri_build_row(struct tri_build *build, const tri_module *self, const char *name,
                         struct tri_row_ref *row);
tri_status tri_build_param(struct tri_build *build, const tri_module *self, const char *name,
                           struct tri_param **param);
/* The last line of a create function: hands made over when status is TRI_OK, else destroys it.
   Returns status. */
tri_status tri_build_finish(tri_status status, tri_module *made, tri_module **module);
