/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011). There is no stream and no state: a number is a pure
 * function of what it is for, so it never depends on rank, microbatch or call count. Normal
 * deviates use own polynomials and are the same bits on every machine; this file is compiled with
 * -ffp-contract=off.
 */
#pragma once

#include <stdint.h>

/* What a key is for; mixed into it so that no two uses share numbers. */
enum tri_rng_purpose {
    TRI_RNG_INIT = 1,
    TRI_RNG_HIDDEN_DROPOUT_ATTENTION = 2,
    TRI_RNG_HIDDEN_DROPOUT_MLP = 3,
    TRI_RNG_ATTENTION_DROPOUT = 4,
    TRI_RNG_EMBEDDING_DROPOUT = 5,
    TRI_RNG_SAMPLING = 6,
    TRI_RNG_TEST = 7,
};

struct tri_rng_key {
    uint32_t word[2];
};

/* The ten-round block function: out = Philox4x32-10(counter, key). */
void tri_philox4x32(const uint32_t counter[4], struct tri_rng_key key, uint32_t out[4]);

/* key = first two words of Philox(counter = (purpose, which low, which high, 0), key = seed). */
struct tri_rng_key tri_rng_key(uint64_t seed, enum tri_rng_purpose purpose, uint64_t which);

/* FNV-1a, 64 bit, of a logical name: the "which" of initial values. */
uint64_t tri_rng_hash(const char *name);

/* count standard normal deviates for global elements first .. first+count-1 of the tensor that key
   belongs to: counter = element / 4, lane = element mod 4, multiplied by std and stored as fp32. */
void tri_rng_normal(struct tri_rng_key key, int64_t first, int64_t count, float std, float *out);
/* The same with uniform deviates in [-bound, bound). */
void tri_rng_uniform(struct tri_rng_key key, int64_t first, int64_t count, float bound, float *out);

/* A uniform double in [0, 1) for (key, index): used by samplers. */
double tri_rng_double(struct tri_rng_key key, uint64_t index);

/*
 * Dropout. The mask of an element is a function of (key, sample, row, column): counter = (sample
 * low, sample high, row, column / 4), lane = column mod 4; the element is kept iff lane >=
 * threshold. threshold = round(p * 2^32).
 */
static inline uint32_t tri_dropout_threshold(double p)
{
    double scaled = p * 4294967296.0 + 0.5;
    return scaled >= 4294967295.0 ? 4294967295u : (uint32_t)scaled;
}
