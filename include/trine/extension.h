/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's own implementation of a module: how it is sized (a spec row) and what it does (a class).
 * Extensions are passed with a session or a training run; the planner and the builder look at them
 * before the registries, and no global is written. A run file uses one by its implementation's name:
 *
 *   spec: {override: {"decoder.layers[*].mlp.activation": my_activation}}
 *
 * Who writes one includes spec/describe.h and nn/build.h, which have the row, the class and the
 * rules: headers of src/, installed as well, for the compiler flags of "pkg-config --cflags
 * trine-extension"; they go with one version of the library. The parameters of the node it stands
 * for are those of the module it implements. The row says whose operations it takes: .kernels =
 * "fused" for the fast ones, else the reference.
 */
#pragma once

struct tri_module_row;
struct tri_module_class;

struct tri_extension {
    const char *implementation;                  /* its name in spec.override */
    const struct tri_module_row *module_row;     /* its name is that of the module it implements */
    const struct tri_module_class *module_class; /* the same name */
};
