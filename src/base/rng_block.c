/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of random numbers. Words 0 and 1 of a counter make elements 0 and 1 by Box and Muller,
 * words 2 and 3 make elements 2 and 3:
 *
 *   u = (word_a / 2 + 1/2) / 2^31, angle = 2 pi word_b / 2^32
 *   (z_a, z_b) = sqrt(-2 ln u) (cos angle, sin angle)
 *
 * ln, sin and cos are own polynomials (least-squares fits at Chebyshev points, error near one unit
 * in the last place of fp32). Arrays are kept by word, [TRI_RNG_BLOCK] each, so that every loop is
 * a plain element-wise one that compilers vectorise; the level functions at the end differ only in
 * the instructions that they allow.
 */
#include "base/rng_block.h"

#include <string.h>

/* Inlined into the level functions, so that each is compiled for its own instructions. */
#define INLINE static inline __attribute__((always_inline))

INLINE float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

INLINE uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* word[w][i] = word w of Philox4x32-10 for counter first + i. */
INLINE void rng_words(struct tri_rng_key key, uint64_t first, uint32_t word[4][TRI_RNG_BLOCK])
{
    for (int i = 0; i < TRI_RNG_BLOCK; i++) {
        uint32_t low = (uint32_t)first + (uint32_t)i;
        uint32_t x[4] = {low, (uint32_t)(first >> 32) + (low < (uint32_t)first), 0, 0};
        tri_philox_words(x, key);
        word[0][i] = x[0];
        word[1][i] = x[1];
        word[2][i] = x[2];
        word[3][i] = x[3];
    }
}

/* ln u = e ln 2 + ln(1 + f), 1 + f in [sqrt(1/2), sqrt(2)), ln(1 + f) = f - f^2/2 + f^3 p(f). */
INLINE float rng_log(float u)
{
    uint32_t bits = bits_of_float(u);
    int32_t exponent = (int32_t)(bits - 0x3f3504f3u) >> 23;
    float f = float_of_bits(bits - ((uint32_t)exponent << 23)) - 1.0f;
    float e = (float)exponent;
    float p = -0x1.4bd7p-4f;
    p = p * f + 0x1.04591ap-3f;
    p = p * f - 0x1.09abe4p-3f;
    p = p * f + 0x1.22dc4cp-3f;
    p = p * f - 0x1.54d54ep-3f;
    p = p * f + 0x1.99a14cp-3f;
    p = p * f - 0x1.0000c8p-2f;
    p = p * f + 0x1.555552p-2f;
    float square = f * f;
    float small = square * f * p - e * 0x1.bd0106p-13f; /* ln 2 = 0x1.63p-1 - 0x1.bd0106p-13 */
    return e * 0x1.63p-1f + (f + (small - 0.5f * square));
}

INLINE void rng_box_muller(uint32_t *word_a, uint32_t *word_b, float std)
{
    for (int i = 0; i < TRI_RNG_BLOCK; i++) {
        float u = (float)(int32_t)(word_a[i] >> 1) * 0x1p-31f + 0x1p-32f;
        float radius = __builtin_sqrtf(-2.0f * rng_log(u)) * std;
        /* angle = quadrant pi/2 + t pi/4, t in [-1, 1) */
        uint32_t quadrant = (word_b[i] + 0x20000000u) >> 30;
        float t = (float)(int32_t)(word_b[i] - (quadrant << 30)) * 0x1p-29f;
        float tt = t * t;
        float s = ((-0x1.2d9b7cp-15f * tt + 0x1.465ec4p-9f) * tt - 0x1.4abbbap-4f) * tt;
        s = (s + 0x1.921fb6p-1f) * t;
        float c = ((0x1.db64dp-19f * tt - 0x1.55cb98p-12f) * tt + 0x1.03c1eap-6f) * tt;
        c = (c - 0x1.3bd3ccp-2f) * tt + 1.0f;
        uint32_t swap = 0u - (quadrant & 1), bits_c = bits_of_float(c), bits_s = bits_of_float(s);
        uint32_t different = (bits_c ^ bits_s) & swap;
        uint32_t sign_a = ((quadrant + 1) & 2) << 30, sign_b = (quadrant & 2) << 30;
        word_a[i] = bits_of_float(radius * float_of_bits(bits_c ^ different ^ sign_a));
        word_b[i] = bits_of_float(radius * float_of_bits(bits_s ^ different ^ sign_b));
    }
}

INLINE void rng_interleave(uint32_t word[4][TRI_RNG_BLOCK], float *out)
{
    for (int i = 0; i < TRI_RNG_BLOCK; i++) {
        for (int lane = 0; lane < 4; lane++)
            out[4 * i + lane] = float_of_bits(word[lane][i]);
    }
}

INLINE void rng_normal_body(struct tri_rng_key key, uint64_t first, float std, float *out)
{
    uint32_t word[4][TRI_RNG_BLOCK];
    rng_words(key, first, word);
    rng_box_muller(word[0], word[1], std);
    rng_box_muller(word[2], word[3], std);
    rng_interleave(word, out);
}

INLINE void rng_uniform_body(struct tri_rng_key key, uint64_t first, float bound, float *out)
{
    uint32_t word[4][TRI_RNG_BLOCK];
    rng_words(key, first, word);
    for (int lane = 0; lane < 4; lane++) {
        for (int i = 0; i < TRI_RNG_BLOCK; i++) {
            float unit = (float)((int32_t)(word[lane][i] >> 8) - 0x800000) * 0x1p-23f;
            word[lane][i] = bits_of_float(unit * bound);
        }
    }
    rng_interleave(word, out);
}

static bool plain_is_supported(void)
{
    return true;
}

static void plain_normal(struct tri_rng_key key, uint64_t first, float std, float *out)
{
    rng_normal_body(key, first, std, out);
}

static void plain_uniform(struct tri_rng_key key, uint64_t first, float bound, float *out)
{
    rng_uniform_body(key, first, bound, out);
}

#if defined(__x86_64__)
static bool avx2_is_supported(void)
{
    return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx2"))) static void avx2_normal(struct tri_rng_key key, uint64_t first,
                                                        float std, float *out)
{
    rng_normal_body(key, first, std, out);
}

__attribute__((target("avx2"))) static void avx2_uniform(struct tri_rng_key key, uint64_t first,
                                                         float bound, float *out)
{
    rng_uniform_body(key, first, bound, out);
}
#endif

const struct tri_rng_level tri_rng_levels[] = {
#if defined(__x86_64__)
    {.name = "avx2",
     .is_supported = avx2_is_supported,
     .normal = avx2_normal,
     .uniform = avx2_uniform},
#endif
    {.name = "plain",
     .is_supported = plain_is_supported,
     .normal = plain_normal,
     .uniform = plain_uniform},
};
const int tri_rng_num_levels = (int)(sizeof(tri_rng_levels) / sizeof(tri_rng_levels[0]));
