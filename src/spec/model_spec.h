/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a model's spec from its shape: the default decision, the overrides, and what can be said about the
 * whole: its tree in print, its parameters, its flops.
 */
#pragma once

#include "spec/config.h"
#include "spec/sizing.h"

#include <stdio.h>

/* The spec of shape, which is resolved and checked on the way (every problem is added to err). config NULL:
   defaults. *spec owns its nodes; destroy it with tri_model_spec_destroy(). Pure. */
tri_status tri_model_spec_create(const struct tri_gpt_config *shape,
                                 const struct tri_spec_config *config, tri_error *err,
                                 struct tri_model_spec **spec);
void tri_model_spec_destroy(struct tri_model_spec **spec);

/* Parameters of the whole model by what they are; a tied table counts once, padding not at all. */
struct tri_param_count {
    int64_t total;
    int64_t embedding; /* word table */
    int64_t positions; /* learned position table */
    int64_t layers;
    int64_t head;    /* final norm, and the output layer when untied */
    int64_t tensors; /* number of parameter tensors */
};
tri_status tri_model_count_params(const struct tri_model_spec *spec, tri_error *err,
                                  struct tri_param_count *count);

/* Model flops of one token in a sequence of seq_length, forward and backward: 6 N plus causal attention at
   half of the square; N is all parameters but the position table, a tied table once. */
tri_status tri_model_flops_per_token(const struct tri_model_spec *spec, int64_t seq_length,
                                     tri_error *err, double *flops);

/* The tree: path, module, implementation, reason, parameters, and bytes kept per microbatch when input is
   not NULL. Equal layers in a row are printed once. */
tri_status tri_model_spec_print(FILE *out, const struct tri_model_spec *spec,
                                const struct tri_sizing_input *input, tri_error *err);
