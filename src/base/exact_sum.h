/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A superaccumulator: a sum of doubles that does not depend on their order, nor on who adds which.
 * 21 limbs of int64 with 32 payload bits each, the lowest bit worth 2^-320 (smaller bits are cut
 * off), and a count of non-finite addends. Ranks add limbs as integers, and integer addition has no
 * order. A limb takes 2^30 additions before it must be normalised.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TRI_EXACT_SUM_LIMBS 21
/* Sums of squares are formed per block of this many elements before they are added. A parameter
   starts on a block border and an optimizer shard is a multiple of a block. */
#define TRI_NORM_BLOCK 1024

struct tri_exact_sum {
    int64_t limb[TRI_EXACT_SUM_LIMBS];
    int64_t num_non_finite;
};
/* Number of int64 words for a reduction over ranks: limbs and the count, in this order. */
#define TRI_EXACT_SUM_WORDS (TRI_EXACT_SUM_LIMBS + 1)

void tri_exact_sum_init(struct tri_exact_sum *sum);
void tri_exact_sum_add(struct tri_exact_sum *sum, double value);
/* Brings every limb but the highest into [0, 2^32), so that sums over up to 2^20 ranks are safe. */
void tri_exact_sum_normalise(struct tri_exact_sum *sum);
/* sum += other, limb by limb. */
void tri_exact_sum_merge(struct tri_exact_sum *sum, const struct tri_exact_sum *other);
/* The nearest double; NaN if a non-finite value was added. */
double tri_exact_sum_value(const struct tri_exact_sum *sum);
