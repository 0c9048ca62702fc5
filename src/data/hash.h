/* SPDX-License-Identifier: Apache-2.0 */
/* Hash functions for the tables of the data room. Never written to files. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t tri_hash_u64(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static inline uint64_t tri_hash_bytes(const char *bytes, size_t num)
{
    uint64_t hash = num * UINT64_C(0x9e3779b97f4a7c15), word;
    for (; num >= 8; num -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        hash = tri_hash_u64(hash ^ word);
    }
    word = 0;
    memcpy(&word, bytes, num);
    return tri_hash_u64(hash ^ word);
}

/* The pair (left, right) of ids as one key; never UINT64_MAX. */
static inline uint64_t tri_hash_pair(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}
