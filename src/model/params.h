/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of this rank: storage by bucket, initial values, gradient buffers. Values and
 * gradients share one layout (placement/buckets.c), so a bucket of gradients is one message.
 */
#pragma once

#include "model/context.h"

/* One tri_param per entry of the rank plan, in its order. The caller frees the array. */
tri_status tri_params_create(struct tri_context *context, struct tri_param **params);

/* Initial values: pure functions of (seed, logical name, global element), the same bits on every
   grid. Padding rows are zero. Local. */
tri_status tri_params_initialise(struct tri_context *context, struct tri_param *params);

/* Sets every gradient to zero. */
void tri_params_zero_grads(struct tri_context *context);
