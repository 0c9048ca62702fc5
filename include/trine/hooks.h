/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's hooks. The model provider makes the spec of the model from its shape, on every rank,
 * before anything is planned. The forward step runs a slice on a microbatch and says how to turn
 * the output into a loss; only the last slice calls the latter. pre_wrap and post_wrap see the
 * slices before and after they are wrapped for data parallelism. A hook that fails sets its rank's
 * record and returns the status; the other ranks stop with TRI_PEER.
 */
#pragma once

#include "trine/error.h"
#include "trine/microbatch.h"
#include "trine/spec.h"

struct tri_model; /* this rank's part of the model: src/model/model.h */
struct tri_slice; /* consecutive units of it: src/model/slice.h */
struct tri_slot;  /* a microbatch in flight: src/nn/slot.h */

/* Makes the spec; the default is tri_model_spec_create(). Pure, the same on every rank. */
typedef tri_status tri_model_provider_fn(void *user, const struct tri_gpt_config *shape,
                                         const struct tri_spec_config *spec_config, tri_error *err,
                                         struct tri_model_spec **spec);

/*
 * Turns per-token losses [b, s] of a microbatch into a loss: fills weights [b, s] with d loss / d
 * token loss and *term with the loss's sum and the count it is divided by. The training loop
 * divides the sum over the global batch by the count over the global batch, so weights are those of
 * the undivided sum. Called on every tensor-parallel rank of the last slice with equal values; it
 * must give equal results there.
 */
typedef tri_status tri_loss_fn(void *user, const struct tri_microbatch *microbatch,
                               const float *token_loss, float *weights, struct tri_loss_term *term);

/* Runs units unit .. unit + num_units - 1 of slice on slot; sets *loss where the default (mean over
   valid tokens) is not wanted. The default is tri_slice_forward(). */
typedef tri_status tri_forward_step_fn(void *user, struct tri_slice *slice, struct tri_slot *slot,
                                       int unit, int num_units, tri_loss_fn **loss);

typedef tri_status tri_wrap_fn(void *user, struct tri_model *model);

struct tri_hooks {
    void *user;
    tri_model_provider_fn *model_provider; /* NULL: the default of each */
    tri_layer_spec_fn *layer_spec;         /* makes the layers where no provider makes the model */
    tri_forward_step_fn *forward_step;
    tri_wrap_fn *pre_wrap;
    tri_wrap_fn *post_wrap;
};

/* Runs units unit .. unit + num_units - 1 forward. Collective over tp. */
tri_status tri_slice_forward(struct tri_slice *slice, struct tri_slot *slot, int unit,
                             int num_units);
