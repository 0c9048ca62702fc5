/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of making a spec: the default decision (default_layer.c), the units, the overrides. */
#pragma once

#include "spec/config.h"
#include "spec/module_spec.h"

/* The outcome of the default decision: what every module gets before overrides. */
struct tri_layer_choice {
    const char *rule; /* of the list */
    const char *implementation;
    const char *reason;
};
tri_status tri_layer_decide(const struct tri_gpt_config *shape,
                            const struct tri_spec_config *config, tri_error *err,
                            struct tri_layer_choice *choice);

/* Names of the decision's rules from the top; NULL past the end. */
const char *tri_layer_rule_get(int i);
/* False for a rule that stands in its place and refuses. */
bool tri_layer_rule_is_built(int i);

/* A copy of a layer's tree as layer number layer, in arena; false when out of memory. */
bool tri_layer_spec_copy(tri_arena *arena, const struct tri_module_spec *from, int64_t layer,
                         struct tri_module_spec *to);

/* Fill node with a unit's tree; false when out of memory. layer is the 0-based global number. */
bool tri_embedding_spec_make(tri_arena *arena, const struct tri_gpt_config *shape,
                             const struct tri_layer_choice *choice, struct tri_module_spec *node);
bool tri_layer_spec_make(tri_arena *arena, const struct tri_gpt_config *shape,
                         const struct tri_layer_choice *choice, int64_t layer,
                         struct tri_module_spec *node);
bool tri_head_spec_make(tri_arena *arena, const struct tri_gpt_config *shape,
                        const struct tri_layer_choice *choice, struct tri_module_spec *node);

/* True when name is an implementation that all modules have: one of the decision's. */
bool tri_implementation_known(const char *name);
/* "fused or plain" */
const char *tri_implementation_list(void);

/* Applies spec.override to the units; every pattern that matches nothing is a problem, added to err with
   paths that are near. */
tri_status tri_override_apply(struct tri_model_spec *spec, const struct tri_spec_config *config,
                              tri_error *err);
/* What of spec.override is wrong in every model: names of implementations and the form of paths. */
tri_status tri_override_check(const struct tri_spec_config *config, tri_error *err);
