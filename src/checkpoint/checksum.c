/* SPDX-License-Identifier: Apache-2.0 */
/* The order-free checksum; the formula is in checksum.h. */
#include "checkpoint/checksum.h"

#include <string.h>

static uint64_t checksum_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void tri_checksum_init(struct tri_checksum *checksum)
{
    for (uint32_t j = 0; j < TRI_CHECKSUM_BLOCK; j++)
        checksum->factor[j] = (uint32_t)(checksum_mix(j) >> 32) | 1u;
}

uint64_t tri_checksum_words(const struct tri_checksum *checksum, const void *words, int64_t first,
                            int64_t num)
{
    const unsigned char *at = words;
    uint64_t sum = 0;
    while (num > 0) {
        int64_t block = first / TRI_CHECKSUM_BLOCK;
        int64_t begin = first % TRI_CHECKSUM_BLOCK;
        int64_t n = TRI_CHECKSUM_BLOCK - begin;
        if (n > num)
            n = num;
        const uint32_t *factor = checksum->factor + begin;
        uint64_t part = 0;
        for (int64_t j = 0; j < n; j++) {
            uint32_t word;
            memcpy(&word, at + 4 * j, 4);
            part += ((uint64_t)word + 1) * factor[j];
        }
        sum += part * (checksum_mix(((uint64_t)1 << 32) + (uint64_t)block) | 1u);
        at += 4 * n;
        first += n;
        num -= n;
    }
    return sum;
}

uint64_t tri_checksum_bytes(const struct tri_checksum *checksum, const void *bytes, int64_t first,
                            int64_t num_bytes)
{
    uint64_t sum = tri_checksum_words(checksum, bytes, first, num_bytes / 4);
    int64_t rest = num_bytes % 4;
    if (rest == 0)
        return sum;
    uint32_t word = 0;
    memcpy(&word, (const char *)bytes + (num_bytes - rest), (size_t)rest);
    return sum + tri_checksum_words(checksum, &word, first + num_bytes / 4, 1);
}
