/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The optimizer: sees this rank's shards only. One step: global gradient norm (order-free, so it
 * does not depend on who holds what), clipping, update. Moments lie in the plan's OPTIM arena.
 */
#pragma once

#include "model/model.h"
#include "optim/config.h"

/* One rule of the update. A rule is a row of tri_optimizer_find(). */
struct tri_update {
    double lr, weight_decay; /* of this step */
    double grad_factor;      /* multiplies every gradient: normalisation and clipping */
    int64_t step;            /* from 1 */
};
struct tri_optimizer_row {
    const char *name;
    int num_moments;
    const char *const *moment_names; /* "exp_avg", ... */
    void (*update)(struct tri_context *context, const struct tri_optim_config *config,
                   const struct tri_shard *shard, float *const *moments,
                   const struct tri_update *update);
};
const struct tri_optimizer_row *tri_optimizer_get(int64_t index);

/* Bytes per element of the shard and rows of moments: pure, for the plan. */
void tri_optimizer_plan(const struct tri_optim_config *config, size_t *bytes, int *num_moments);

/* Moment number moment of element state of this rank's shard. */
float *tri_optimizer_moment(const struct tri_model *model, int moment, int64_t state);

/* The counted gradients' sum of squares, times factor squared, of this rank; to be added over
   the world as integers. Local. */
void tri_optimizer_sum_squares(const struct tri_model *model, double factor,
                               struct tri_exact_sum *sum);

/* Names the first non-finite gradient of this rank in the record; TRI_OK if there is none. */
tri_status tri_optimizer_check_finite(const struct tri_model *model, int64_t iteration);

/* clip / (norm + 1e-6) where that is below 1 and clip is on, else 1. */
double tri_clip_coefficient(double clip, double norm);

/* Updates every shard. Local. */
void tri_optimizer_step(struct tri_model *model, const struct tri_optim_config *config,
                        const struct tri_update *update);
