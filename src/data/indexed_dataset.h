/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token file pair PREFIX.bin + PREFIX.idx, mapped and read only. Opening checks the whole index
 * and the size of the tokens, so that a read can fail only for a token id that is not in the
 * vocabulary. A sequence is a run of tokens; a document is a run of sequences. The object never
 * changes and may be read by several threads. The writer is in indexed_writer.h, the byte layout in
 * indexed_format.h.
 */
#pragma once

#include "base/check.h"
#include "data/indexed_format.h"

#include <stdint.h>

typedef struct tri_indexed_dataset tri_indexed_dataset;

/* Opens prefix + ".idx" and prefix + ".bin". A prefix that ends in ".bin" or ".idx" is accepted. */
tri_status tri_indexed_dataset_create(const char *prefix, tri_indexed_dataset **dataset,
                                      tri_error *err);
void tri_indexed_dataset_destroy(tri_indexed_dataset **dataset);

/* The checked index; borrowed. */
const struct tri_idx *tri_indexed_dataset_idx(const tri_indexed_dataset *dataset);
const char *tri_indexed_dataset_prefix(const tri_indexed_dataset *dataset);

/* Copies num tokens of a sequence from position first on. Fails when an id is negative or not below
   vocab_size (0: only that it fits int32), naming file, sequence and position. The range must lie
   within the sequence. */
tri_status tri_indexed_dataset_read(const tri_indexed_dataset *dataset, int64_t sequence,
                                    int64_t first, int64_t num, int64_t vocab_size, int32_t *tokens,
                                    tri_error *err);

/* Reads every token once with the check above; largest gets the highest id, -1 without tokens. */
tri_status tri_indexed_dataset_check_tokens(const tri_indexed_dataset *dataset, int64_t vocab_size,
                                            int64_t *largest, tri_error *err);
