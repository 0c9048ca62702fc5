/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checksum that ranks compute in parts and add up in any order. For 32-bit words w[i], i counted
 * over the whole tensor (or file):
 *
 *   sum = sum over i of (w[i] + 1) * a(i mod 1024) * b(i / 1024)    mod 2^64
 *   a(j) = (mix(j) >> 32) | 1,  b(k) = mix(2^32 + k) | 1,  mix = the finaliser of splitmix64
 *
 * Both factors are odd, so a single changed word always changes the sum; swapped, shifted or
 * cleared blocks do with all but 2^-60 of chance. It guards against torn copies and bad disks, not
 * against a forger. Words are little-endian; bytes that do not fill the last word count as zeros,
 * and the length is stored beside the sum.
 */
#pragma once

#include <stdint.h>

#define TRI_CHECKSUM_BLOCK 1024

struct tri_checksum {
    uint32_t factor[TRI_CHECKSUM_BLOCK]; /* a(j) */
};

void tri_checksum_init(struct tri_checksum *checksum);
/* The part of words [first, first + num), which lie at words (any alignment). */
uint64_t tri_checksum_words(const struct tri_checksum *checksum, const void *words, int64_t first,
                            int64_t num);
/* The part of bytes that begin at word first; the last word is filled up with zeros. */
uint64_t tri_checksum_bytes(const struct tri_checksum *checksum, const void *bytes, int64_t first,
                            int64_t num_bytes);
