/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds a session from token files: opens one part of the data (training, validation, test) and
 * gives this rank's microbatches of any step. What it gives is a function of consumed samples
 * alone, so a resumed run sees the same samples, on any grid.
 */
#pragma once

#include "data/split.h"
#include "train/step.h"

typedef struct tri_feed tri_feed;

/* Samples that a run of config needs of part; data-path options decide whether there are any. */
int64_t tri_feed_samples(const struct tri_run_config *config, enum tri_data_part part);
/* True when the options name data for part. */
bool tri_feed_has(const struct tri_run_config *config, enum tri_data_part part);

/* Adds what is wrong with the data section of a run, as far as its options show. */
void tri_feed_check(const struct tri_run_config *config, tri_error *err);

/* Opens part for num_samples samples. Fails where the data cannot give them. Local. */
tri_status tri_feed_create(struct tri_session *session, enum tri_data_part part,
                           int64_t num_samples, tri_feed **feed);
void tri_feed_destroy(tri_feed **feed);
/* Borrowed; lives as long as the feed. */
const struct tri_batch_source *tri_feed_source(const tri_feed *feed);
