/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One training step, each line one phase: zero gradients, run the schedule, finish gradients, agree
 * on loss and norm, clip, update, make the parameters whole. A step allocates nothing.
 */
#pragma once

#include "optim/lr_schedule.h"
#include "train/session.h"

/* Where the microbatches of a step come from. */
struct tri_batch_source {
    /* Makes ready the microbatches of the step that starts when consumed samples are consumed. */
    tri_status (*begin_step)(void *arg, int64_t consumed);
    tri_microbatch_fn *microbatch; /* by number within the step, of this rank */
    tri_observe_fn *before,
        *after; /* of evaluation: may ask for token losses or logits; NULL: neither */
    void *arg;
};

/* What a run has done so far: everything that is state and no tensor. */
struct tri_progress {
    int64_t iteration; /* finished ones */
    int64_t consumed_samples;
    int64_t schedule_samples; /* place of the learning-rate schedule: samples of successful steps */
    int64_t updates;          /* Adam's step counter */
    int64_t skipped;
};

enum tri_phase {
    TRI_PHASE_DATA,
    TRI_PHASE_MODEL,
    TRI_PHASE_REDUCE,
    TRI_PHASE_UPDATE,
    TRI_NUM_PHASES
};

struct tri_step_result {
    double loss; /* mean over the valid tokens of the global batch */
    double valid_tokens;
    double grad_norm; /* before clipping */
    double lr;
    double seconds, phase_seconds[TRI_NUM_PHASES];
    bool stop; /* some rank was asked to stop */
};

/* Runs one step and advances progress. stop_asked: this rank was asked to stop. Collective over
   the world. */
tri_status tri_step_run(struct tri_session *session, const struct tri_batch_source *source,
                        const struct tri_lr_schedule *schedule, bool stop_asked,
                        struct tri_progress *progress, struct tri_step_result *result);

/* Adds the loss terms of the last stage over pp and dp: values[0] becomes the sum of token
   losses, values[1] the number of valid tokens, on every rank. Collective over the world. */
tri_status tri_step_total_loss(struct tri_session *session, const struct tri_loss_term *term,
                               double values[2]);
