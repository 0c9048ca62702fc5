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
struct tri_module_spec;  /* likewise */
struct tri_sizing_input; /* src/spec/sizing.h */

/* The spec of shape, which is resolved and checked on the way (every problem is added to err), with
   config's overrides applied. config NULL: defaults. *spec owns its nodes; whoever does not hand it
   over destroys it. Pure. */
tri_status tri_model_spec_create(const struct tri_gpt_config *shape,
                                 const struct tri_spec_config *config, tri_error *err,
                                 struct tri_model_spec **spec);
void tri_model_spec_destroy(struct tri_model_spec **spec);

/* Where the decoder layers of a user come from, besides the default decision: a layer's spec, which
   is copied for each, or a function that makes one. */
struct tri_layer_place {
    int64_t layer;     /* 0-based */
    int stage;         /* of the pipeline that holds it; -1: not known */
    int virtual_stage; /* the slice of that stage; -1: not known */
};
/* *layer is the default spec of the layer; change it (tri_layer_spec_override()) or fill it anew. */
typedef tri_status tri_layer_spec_fn(void *user, const struct tri_gpt_config *shape,
                                     const struct tri_layer_place *place, tri_error *err,
                                     struct tri_module_spec *layer);
struct tri_layer_source {
    const struct tri_module_spec *spec; /* or NULL */
    tri_layer_spec_fn *make;            /* or NULL */
    void *user;
    const struct tri_layer_place *places; /* of all layers, as make is told them; NULL: not known */
};
/* As tri_model_spec_create(), with layers from source; overrides are applied on top. */
tri_status tri_model_spec_create_layers(const struct tri_gpt_config *shape,
                                        const struct tri_spec_config *config,
                                        const struct tri_layer_source *source, tri_error *err,
                                        struct tri_model_spec **spec);
/* The spec of a layer of a model, for tri_layer_source; borrowed from spec. */
const struct tri_module_spec *tri_model_spec_get_layer(const struct tri_model_spec *spec,
                                                       int64_t layer);
/* Gives the module at path below a layer ("self_attention.core_attention"; "": the layer) another
   implementation, and where it is one that all modules have ("plain"), all below it. */
tri_status tri_layer_spec_override(struct tri_module_spec *layer, const char *path,
                                   const char *implementation, tri_error *err);

/* Gives every module that path matches, and all below it, another implementation, those of them that
   have it. path is a pattern
   as in spec.override: "decoder.layers[0:4].mlp", with layers[*], layers[3] or * for a name. A
   pattern that matches nothing is a problem, added to err with the nearest paths; so is an
   implementation that nothing of what it matches has, with those that it has. */
tri_status tri_model_spec_override(struct tri_model_spec *spec, const char *path,
                                   const char *implementation, tri_error *err);

int64_t tri_model_spec_num_layers(const struct tri_model_spec *spec);

/* The tree: path, module, implementation, parameters, flops, reason, settings (sizes, factors,
   switches that make it the function that it is), and bytes kept per microbatch when input is not
   NULL. Layers that differ in nothing but their number are printed once, under a path that an override
   takes. */
tri_status tri_model_spec_print(FILE *out, const struct tri_model_spec *spec,
                                const struct tri_sizing_input *input, tri_error *err);
/* The same as JSON (docs/FORMATS.md), every layer by itself. */
tri_status tri_model_spec_print_json(FILE *out, const struct tri_model_spec *spec,
                                     const struct tri_sizing_input *input, tri_error *err);
