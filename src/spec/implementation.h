/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands behind a node's implementation. Two names are of every module: "fused" and "plain", which say
 * whose operations its default row and class take. Any other name is of the modules that have a row by it, in
 * the registry or in an extension. Extensions are looked at first, then the registry's row of just this
 * implementation, then the module's default row.
 */
#pragma once

#include "spec/sizing.h"

/* The extension that implements node, or NULL. */
const struct tri_extension *tri_extension_find(const struct tri_extension *extensions,
                                               int num_extensions,
                                               const struct tri_module_spec *node);
/* The row that describes node; NULL: there is none. */
const struct tri_module_row *tri_implementation_row(const struct tri_extension *extensions,
                                                    int num_extensions,
                                                    const struct tri_module_spec *node);
/* The implementation whose operations node takes. */
const char *tri_implementation_kernels(const struct tri_extension *extensions, int num_extensions,
                                       const struct tri_module_spec *node);
/* Whether node's module has node's implementation. */
bool tri_implementation_exists(const struct tri_extension *extensions, int num_extensions,
                               const struct tri_module_spec *node);
/* The first module that has an implementation called name besides those that all have; NULL: none has. */
const char *tri_implementation_module(const struct tri_extension *extensions, int num_extensions,
                                      const char *name);
/* What module has: "fused or plain", "fused, plain or tiled"; of any module, when it is NULL. */
void tri_implementation_format(const struct tri_extension *extensions, int num_extensions,
                               const char *module, char *text, size_t bytes);
