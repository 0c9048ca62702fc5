/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slice: consecutive units of the model on one rank, with the slots of its microbatches in
 * flight. The embedding is there only if the slice is first, the final norm, output layer and loss
 * only if it is last. A middle slice takes and gives hidden states [s/sp, b, h].
 *
 * Units are numbered from 0 within the slice. Gradients between units live in two rows of the work
 * arena that take turns; the gradients at the slice's own borders live in staging rows that the
 * schedule picks.
 */
#pragma once

#include "model/context.h"
#include "nn/module.h"
#include "trine/hooks.h"

struct tri_slice {
    struct tri_context *context;
    const struct tri_slice_plan *plan;
    int index; /* which of the rank's slices */
    int num_units;
    tri_module **units;
    int num_modules;
    struct tri_param *params; /* of the rank; this slice's are first_param .. */
    int first_param, num_params;
    int num_slots;
    struct tri_slot *slots;
    struct tri_row_ref input;   /* of the slice, unless it has the embedding */
    struct tri_row_ref *hidden; /* [unit]: its output; not of the head */
    struct tri_row_ref gradient[2];
};

/* Builds slice number index of this rank (Megatron's build_model): the modules of its units on
   the rows and parameters of the plan. params are the rank's. Local. */
tri_status tri_slice_build(struct tri_context *context, int index, struct tri_param *params,
                           struct tri_slice **slice);
void tri_slice_destroy(struct tri_slice **slice);

/* tri_slice_forward() is in trine/hooks.h: forward steps of users call it too. */

enum tri_backward_half { TRI_BACKWARD_BOTH, TRI_BACKWARD_INPUT, TRI_BACKWARD_WEIGHT };

/* Runs the units backward, last first. dout is the gradient of the slice's output (NULL with the
   head), din takes that of its input (NULL with the embedding). Collective over tp. */
tri_status tri_slice_backward(struct tri_slice *slice, struct tri_slot *slot, int unit,
                              int num_units, enum tri_backward_half half, void *dout, void *din);

/* Elements of the hidden states of slot's microbatch on this rank. */
int64_t tri_slice_boundary_elements(const struct tri_slice *slice, const struct tri_slot *slot);
/* Where the slice's input lands and its output lies. */
void *tri_slice_input(const struct tri_slice *slice, const struct tri_slot *slot);
void *tri_slice_output(const struct tri_slice *slice, const struct tri_slot *slot);
