/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token file in order: consecutive windows of seq_length tokens, each predicting the token after
 * it, from the file's first token on. Nothing is shuffled and nothing is left out but what lies
 * behind the last whole window (a shorter last window is filled up with ignored labels). For
 * evaluation.
 */
#pragma once

#include "train/step.h"

typedef struct tri_stream tri_stream;

/* max_tokens: how many labels at most; 0: all of the file. Local. */
tri_status tri_stream_create(struct tri_session *session, const char *prefix, int64_t max_tokens,
                             tri_stream **stream);
void tri_stream_destroy(tri_stream **stream);
/* Global batches that cover the stream. */
int64_t tri_stream_batches(const tri_stream *stream);
/* Labels of the whole stream. */
int64_t tri_stream_labels(const tri_stream *stream);
/* The k-th label, k below tri_stream_labels(). */
int32_t tri_stream_label(const tri_stream *stream, int64_t k);
const struct tri_batch_source *tri_stream_source(const tri_stream *stream);
/* Keeps every token's loss from now on; *losses has tri_stream_labels() entries, filled on rank
   0 by tri_stream_collect() after the evaluation. */
tri_status tri_stream_keep_losses(tri_stream *stream);
/* Borrowed; collective over the world. */
tri_status tri_stream_collect(tri_stream *stream, const float **losses);
