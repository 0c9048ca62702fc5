/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run says about itself: a line per log interval and a JSON object per iteration. Rank 0
 * only. Lines go to a sink of the caller; the JSON file is opened here, and every number in it is
 * finite or null.
 */
#pragma once

#include "train/step.h"
#include "trine/pretrain.h"

#include <stdio.h>

typedef struct tri_metrics tri_metrics;

tri_status tri_metrics_create(const struct tri_session *session,
                              const struct tri_observer *observer, tri_metrics **metrics);
/* limit: measured FLOP/s of the machine's matrix product over all ranks; lines give the share of
   it from here on. */
void tri_metrics_set_limit(tri_metrics *metrics, double limit);
void tri_metrics_destroy(tri_metrics **metrics);

/* Notes one iteration. A JSON file that cannot be written is TRI_IO with its path. */
tri_status tri_metrics_step(tri_metrics *metrics, const struct tri_progress *progress,
                            const struct tri_step_result *result);
/* Prints what has gathered since the last line, if anything. */
void tri_metrics_flush(tri_metrics *metrics, const struct tri_progress *progress);
void tri_metrics_line(const tri_metrics *metrics, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* FLOP/s of a matrix product on all ranks at once, summed; about 0.1 s. Collective over the
   world. */
tri_status tri_measure_limit(struct tri_session *session, double *flops_per_second);
