/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10, keys, and the splitting of a range of elements into blocks. */
#include "base/rng_block.h"

#include <string.h>

#define BLOCK_ELEMENTS (4 * TRI_RNG_BLOCK)

void tri_philox4x32(const uint32_t counter[4], struct tri_rng_key key, uint32_t out[4])
{
    memcpy(out, counter, 4 * sizeof(*out));
    tri_philox_words(out, key);
}

struct tri_rng_key tri_rng_key(uint64_t seed, enum tri_rng_purpose purpose, uint64_t which)
{
    const uint32_t counter[4] = {(uint32_t)purpose, (uint32_t)which, (uint32_t)(which >> 32), 0};
    struct tri_rng_key seed_key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    uint32_t out[4];
    tri_philox4x32(counter, seed_key, out);
    return (struct tri_rng_key){{out[0], out[1]}};
}

uint64_t tri_rng_hash(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}

double tri_rng_double(struct tri_rng_key key, uint64_t index)
{
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), 0, 0};
    uint32_t out[4];
    tri_philox4x32(counter, key, out);
    uint64_t bits = ((uint64_t)out[1] << 32 | out[0]) >> 11;
    return (double)bits * 0x1p-53;
}

typedef void rng_block_fn(struct tri_rng_key key, uint64_t first, float scale, float *out);

/* Whole blocks go straight to out; the ragged ends pass through a buffer. */
static void rng_fill(rng_block_fn *fn, struct tri_rng_key key, int64_t first, int64_t count,
                     float scale, float *out)
{
    float buffer[BLOCK_ELEMENTS];
    while (count > 0) {
        int64_t skip = first % 4;
        uint64_t counter = (uint64_t)first / 4;
        int64_t take = BLOCK_ELEMENTS - skip;
        if (take > count)
            take = count;
        if (take == BLOCK_ELEMENTS) {
            fn(key, counter, scale, out);
        } else {
            fn(key, counter, scale, buffer);
            memcpy(out, buffer + skip, (size_t)take * sizeof(float));
        }
        first += take;
        out += take;
        count -= take;
    }
}

static const struct tri_rng_level *rng_level(void)
{
    int i = 0;
    while (i < tri_rng_num_levels - 1 && !tri_rng_levels[i].is_supported())
        i++;
    return &tri_rng_levels[i];
}

void tri_rng_normal(struct tri_rng_key key, int64_t first, int64_t count, float std, float *out)
{
    rng_fill(rng_level()->normal, key, first, count, std, out);
}

void tri_rng_uniform(struct tri_rng_key key, int64_t first, int64_t count, float bound, float *out)
{
    rng_fill(rng_level()->uniform, key, first, count, bound, out);
}
