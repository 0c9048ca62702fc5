/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be said about a whole model's spec: its parameters, its flops. Making one, changing and printing
 * it is public: trine/spec.h.
 */
#pragma once

#include "spec/config.h"
#include "spec/sizing.h"
#include "trine/spec.h"

#include <stdio.h>

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

/* Model flops of one token in a sequence of seq_length, as Megatron-LM counts them: matrix products, with the
   vocabulary padded for one rank, and attention at what a query sees (causal: half of the square; a window: the
   band); backward is twice forward. Norms, softmax and the lookup count nothing. */
tri_status tri_model_flops_per_token(const struct tri_model_spec *spec, int64_t seq_length,
                                     tri_error *err, double *flops);
