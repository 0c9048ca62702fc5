/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Picks a token from logits: greedy, temperature, top-k, top-p. Filters as in Megatron-LM: top-k keeps every
 * value equal to the k-th largest; top-p keeps the token that crosses p. Random numbers are a pure function
 * of (seed, position), so a sample does not depend on the grid. Ties go to the lower id.
 */
#pragma once

#include "base/check.h"

#include <stdint.h>

struct tri_sampling {
    double temperature; /* 0: greedy */
    int64_t top_k;      /* 0: off */
    double top_p;       /* 0: off */
    uint64_t seed;
};

/* Every problem is added to err. */
tri_status tri_sampling_check(const struct tri_sampling *sampling, int64_t vocab_size, tri_error *err);

/* position is that of the new token; scratch has room for vocab_size entries of 16 bytes. */
int32_t tri_sample(const struct tri_sampling *sampling, const float *logits, int64_t vocab_size,
                   int64_t position, void *scratch);
