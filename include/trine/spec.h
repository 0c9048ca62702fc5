/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Question 2: which implementation is each module. A spec is a tree of plain data per unit of the
 * model (embedding, each layer, head); 'trine spec' prints it. A model provider makes one, changes
 * what it wants to be different, and hands it over; from then on it does not change.
 */
#pragma once

#include "trine/error.h"

#include <stdint.h>
#include <stdio.h>

struct tri_gpt_config;   /* question 1, the shape: src/shape/config.h */
struct tri_spec_config;  /* the options of the run file's spec section: src/spec/config.h */
struct tri_model_spec;   /* src/spec/module_spec.h */
struct tri_sizing_input; /* src/spec/sizing.h */

/* The spec of shape, which is resolved and checked on the way (every problem is added to err), with
   config's overrides applied. config NULL: defaults. *spec owns its nodes; whoever does not hand it
   over destroys it. Pure. */
tri_status tri_model_spec_create(const struct tri_gpt_config *shape,
                                 const struct tri_spec_config *config, tri_error *err,
                                 struct tri_model_spec **spec);
void tri_model_spec_destroy(struct tri_model_spec **spec);

/* Gives every module that path matches, and all below it, another implementation. path is a pattern
   as in spec.override: "decoder.layers[0:4].mlp", with layers[*], layers[3] or * for a name. A
   pattern that matches nothing is a problem, added to err with the nearest paths. */
tri_status tri_model_spec_override(struct tri_model_spec *spec, const char *path,
                                   const char *implementation, tri_error *err);

int64_t tri_model_spec_num_layers(const struct tri_model_spec *spec);

/* The tree: path, module, implementation, reason, parameters, and bytes kept per microbatch when
   input is not NULL. Equal layers in a row are printed once. */
tri_status tri_model_spec_print(FILE *out, const struct tri_model_spec *spec,
                                const struct tri_sizing_input *input, tri_error *err);
