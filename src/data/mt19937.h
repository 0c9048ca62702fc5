/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Mersenne Twister as numpy's legacy RandomState draws from it, and as torch's CPU generator
 * draws for randperm. Every index of the training data comes from here, so each function states how
 * many outputs it consumes. Used only for the order of data; everything else is counter based
 * (base/rng.h). A plain struct: copy it to branch a stream.
 */
#pragma once

#include <stdint.h>

struct tri_mt19937 {
    uint32_t key[624];
    int position; /* next output in key; 624: regenerate first */
};

/* init_genrand: the seeding of numpy.random.RandomState(int) and of torch.manual_seed. */
void tri_mt19937_init(struct tri_mt19937 *rng, uint32_t seed);
uint32_t tri_mt19937_next32(struct tri_mt19937 *rng);
/* Two outputs, the first one in the high half. */
uint64_t tri_mt19937_next64(struct tri_mt19937 *rng);
/* Two outputs; uniform in [0, 1) with 53 bits. */
double tri_mt19937_next_double(struct tri_mt19937 *rng);
/* Uniform in [0, max] by masked rejection (numpy's random_interval); max 0 draws nothing. */
uint64_t tri_mt19937_interval(struct tri_mt19937 *rng, uint64_t max);

/* numpy's shuffle of a one-dimensional array, from the last item down. */
void tri_mt19937_shuffle_i32(struct tri_mt19937 *rng, int32_t *items, int64_t num);
void tri_mt19937_shuffle_i64(struct tri_mt19937 *rng, int64_t *items, int64_t num);

/* torch.randperm(num) on the CPU for a generator seeded with seed; num < 214748364. */
void tri_mt19937_torch_randperm(uint32_t seed, int64_t *items, int64_t num);
