/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor: one loop that runs any schedule on this rank's slices. It knows no schedule by
 * name. A microbatch is asked for by number when its slot is first used; each stage reads it from
 * the data, it is never sent. A send begins and does not wait: its staging row, or its slot, is
 * free again when it ends.
 */
#pragma once

#include "model/model.h"
#include "trine/session.h"

/* Fills *microbatch with microbatch number index of this step. The arrays stay valid for the
   step. */
typedef tri_status tri_microbatch_fn(void *arg, int index, struct tri_microbatch *microbatch);
/* Called before a slice's forward of microbatch index (it may ask for token losses or logits in
   the slot), or after it. */
typedef tri_status tri_observe_fn(void *arg, int index, const struct tri_slice *slice,
                                  struct tri_slot *slot);

/* One run of the list: a step, or a pass of evaluation. */
struct tri_execution {
    bool training;    /* dropout on */
    float seed;       /* d loss / d token loss */
    double mean_over; /* above 0: a microbatch's seed is 1 / (its valid tokens * mean_over) */
    tri_microbatch_fn *microbatch;
    tri_observe_fn *before, *after; /* NULL: nothing wanted */
    void *arg;
    struct tri_cache_state *cache;                 /* of generation; else NULL */
    struct tri_loss_term loss[TRI_MAX_LOSS_TERMS]; /* out, last stage: sums in microbatch order */
};

/* Makes room for running schedule (this rank's list) on model; both must outlive the executor.
   Local. */
tri_status tri_executor_create(struct tri_model *model, const struct tri_rank_schedule *schedule,
                               tri_executor **executor);
void tri_executor_destroy(tri_executor **executor);

/* Runs the whole list. Collective over pp, tp, and dp where buckets are reduced. */
tri_status tri_executor_run(tri_executor *executor, struct tri_execution *execution);
