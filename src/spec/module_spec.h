/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Question 2: which implementation is each module. A module_spec node is plain data: slot name,
 * module (a row of spec/registry.c), implementation, the module's own parameters and its named
 * sub-modules. A model is a list of units: 0 the embedding, 1 .. num_layers the layers (they may all
 * differ), num_layers + 1 the head. Nodes live in the spec's arena and never change after
 * tri_model_spec_create() and the overrides of a model provider (trine/spec.h).
 */
#pragma once

#include "base/arena.h"
#include "base/check.h"
#include "shape/config.h"
#include "trine/extension.h"

/* Most parts that a linear's rows are joined from. */
enum { TRI_MAX_PARTS = 4 };

struct tri_module_spec {
    const char *slot;   /* name under the parent: "self_attention", "linear_qkv" */
    const char *module; /* row of the registry: "column_linear" */
    const char
        *implementation; /* "plain", "fused", or one of the module's own (spec/implementation.h) */
    const char *reason;  /* why this implementation was chosen */
    const void *params;  /* the module's parameter struct (spec/modules.h); NULL: none */
    size_t params_bytes;
    int num_children;
    struct tri_module_spec *children;
};

struct tri_model_spec {
    tri_arena *arena;
    struct tri_gpt_config shape; /* resolved */
    int num_units;               /* num_layers + 2 */
    const char **unit_path;      /* "embedding", "decoder.layers.0", ..., "head" */
    const char *rule;            /* of the default decision, or how else the layers came about */
    const struct tri_extension *extensions; /* borrowed */
    int num_extensions;
    struct tri_module_spec *units;
};

/* The child in slot, or NULL. */
const struct tri_module_spec *tri_module_spec_child(const struct tri_module_spec *node,
                                                    const char *slot);
