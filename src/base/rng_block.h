/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vectorised inside of tri_rng_normal() and tri_rng_uniform(): one block of consecutive
 * counters at a time, compiled once per instruction level. Every level gives the same bits
 * (addition, multiplication, square root and conversion of IEEE 754, no contraction), which the
 * tests check.
 */
#pragma once

#include "base/rng.h"

#include <stdbool.h>

#define TRI_RNG_BLOCK 256 /* counters; four elements each */

/* x = Philox4x32-10(x, key). */
static inline __attribute__((always_inline)) void tri_philox_words(uint32_t x[4],
                                                                   struct tri_rng_key key)
{
    uint32_t k0 = key.word[0], k1 = key.word[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xd2511f53u * x[0], p1 = (uint64_t)0xcd9e8d57u * x[2];
        x[0] = (uint32_t)(p1 >> 32) ^ x[1] ^ k0;
        x[1] = (uint32_t)p1;
        x[2] = (uint32_t)(p0 >> 32) ^ x[3] ^ k1;
        x[3] = (uint32_t)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

struct tri_rng_level {
    const char *name;
    bool (*is_supported)(void);
    /* out[4 i + lane] for counters first .. first + TRI_RNG_BLOCK - 1: deviates of standard
       deviation std, or uniform in [-bound, bound). */
    void (*normal)(struct tri_rng_key key, uint64_t first, float std, float *out);
    void (*uniform)(struct tri_rng_key key, uint64_t first, float bound, float *out);
};

/* Best first; the last one is supported everywhere. */
extern const struct tri_rng_level tri_rng_levels[];
extern const int tri_rng_num_levels;
