/* SPDX-License-Identifier: Apache-2.0 */
/* The Mersenne Twister and the draws of numpy and torch on top of it (mt19937.h). */
#include "data/mt19937.h"

enum { MT_N = 624, MT_M = 397 };

void tri_mt19937_init(struct tri_mt19937 *rng, uint32_t seed)
{
    rng->key[0] = seed;
    for (int i = 1; i < MT_N; i++) {
        uint32_t previous = rng->key[i - 1];
        rng->key[i] = 1812433253u * (previous ^ (previous >> 30)) + (uint32_t)i;
    }
    rng->position = MT_N;
}

static uint32_t mt19937_mix(uint32_t high, uint32_t low)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return (y >> 1) ^ ((y & 1u) ? 0x9908b0dfu : 0u);
}

static void mt19937_generate(struct tri_mt19937 *rng)
{
    uint32_t *key = rng->key;
    for (int i = 0; i < MT_N; i++)
        key[i] = key[(i + MT_M) % MT_N] ^ mt19937_mix(key[i], key[(i + 1) % MT_N]);
    rng->position = 0;
}

uint32_t tri_mt19937_next32(struct tri_mt19937 *rng)
{
    if (rng->position == MT_N)
        mt19937_generate(rng);
    uint32_t y = rng->key[rng->position++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

uint64_t tri_mt19937_next64(struct tri_mt19937 *rng)
{
    uint64_t high = tri_mt19937_next32(rng);
    return high << 32 | tri_mt19937_next32(rng);
}

double tri_mt19937_next_double(struct tri_mt19937 *rng)
{
    double high = tri_mt19937_next32(rng) >> 5;
    double low = tri_mt19937_next32(rng) >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
}

uint64_t tri_mt19937_interval(struct tri_mt19937 *rng, uint64_t max)
{
    if (max == 0)
        return 0;
    uint64_t mask = max;
    for (int shift = 1; shift < 64; shift *= 2)
        mask |= mask >> shift;
    uint64_t value;
    do {
        value = (max <= UINT32_MAX ? tri_mt19937_next32(rng) : tri_mt19937_next64(rng)) & mask;
    } while (value > max);
    return value;
}

void tri_mt19937_shuffle_i32(struct tri_mt19937 *rng, int32_t *items, int64_t num)
{
    for (int64_t i = num - 1; i > 0; i--) {
        uint64_t j = tri_mt19937_interval(rng, (uint64_t)i);
        int32_t item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}

void tri_mt19937_shuffle_i64(struct tri_mt19937 *rng, int64_t *items, int64_t num)
{
    for (int64_t i = num - 1; i > 0; i--) {
        uint64_t j = tri_mt19937_interval(rng, (uint64_t)i);
        int64_t item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}

void tri_mt19937_torch_randperm(uint32_t seed, int64_t *items, int64_t num)
{
    struct tri_mt19937 rng;
    tri_mt19937_init(&rng, seed);
    for (int64_t i = 0; i < num; i++)
        items[i] = i;
    for (int64_t i = 0; i < num - 1; i++) {
        int64_t j = i + (int64_t)(tri_mt19937_next32(&rng) % (uint64_t)(num - i));
        int64_t item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}
