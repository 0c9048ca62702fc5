/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills microbatches for one data-parallel rank. The arrays are the caller's (rows of the plan);
 * the reader borrows the blend, keeps one sample of scratch and allocates nothing after creation.
 * What it gives depends on consumed samples only, never on the call history, so that any step can
 * be repeated. Every rank of a pipeline may have its own reader and gets the same bits.
 */
#pragma once

#include "base/check.h"
#include "data/blend.h"
#include "data/sampler.h"

#include <stdint.h>

/* One microbatch: b samples of s tokens, sample after sample. */
struct tri_batch_view {
    int32_t *tokens;     /* [b, s] */
    int32_t *labels;     /* [b, s] -1 where there is no loss */
    float *loss_weights; /* [b, s] */
    int32_t *positions;  /* [b, s] */
    int32_t *segments;   /* [b, s] or NULL when attention masks are not reset */
    int64_t *sample_ids; /* [b] place in the run's order of samples, the same on every grid */
};

typedef struct tri_batch_reader tri_batch_reader;

struct tri_batch_config {
    const tri_blend *blend;
    int64_t seq_length;
    enum tri_sampler_kind sampler;
    bool data_sharding;
    int64_t micro_batch;
    int64_t dp_size, dp_rank;
};

tri_status tri_batch_reader_create(const struct tri_batch_config *config, tri_batch_reader **reader,
                                   tri_error *err);
void tri_batch_reader_destroy(tri_batch_reader **reader);

/* Fills view with microbatch number 'microbatch' of the step that starts when 'consumed' samples
   are consumed. tokens gets the number of tokens that count in the loss, when not NULL. Local. */
tri_status tri_batch_reader_read(tri_batch_reader *reader, int64_t consumed, int64_t microbatch,
                                 const struct tri_batch_view *view, int64_t *tokens,
                                 tri_error *err);
