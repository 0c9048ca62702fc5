/* SPDX-License-Identifier: Apache-2.0 */
/* Picks a token from logits, as trine/generate.h describes. */
#pragma once

#include "trine/generate.h"

/* position is that of the new token; scratch has room for vocab_size entries of 16 bytes. */
int32_t tri_sample(const struct tri_sampling *sampling, const float *logits, int64_t vocab_size,
                   int64_t position, void *scratch);
