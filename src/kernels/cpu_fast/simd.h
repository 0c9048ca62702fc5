/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight floats at a time, by the vector extension that gcc and clang share, so that the same source
 * serves every processor. A tail shorter than eight is loaded into a whole vector and
 * worked on by the same instructions: an element's bits never depend on where it stands in a row.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

typedef float v8f __attribute__((vector_size(32)));
typedef int32_t v8i __attribute__((vector_size(32)));
typedef uint32_t v8u __attribute__((vector_size(32)));
typedef uint64_t v4u __attribute__((vector_size(32)));
typedef double v4d __attribute__((vector_size(32)));

#define V8 8

static inline v8f v8_set(float x)
{
    return (v8f){x, x, x, x, x, x, x, x};
}

static inline v8f v8_load(const float *p)
{
    v8f v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void v8_store(float *p, v8f v)
{
    memcpy(p, &v, sizeof(v));
}

/* The first n < 8 elements; the others are fill. */
static inline v8f v8_load_part(const float *p, int64_t n, float fill)
{
    float lanes[V8];
    for (int64_t i = 0; i < V8; i++)
        lanes[i] = i < n ? p[i] : fill;
    return v8_load(lanes);
}

static inline void v8_store_part(float *p, v8f v, int64_t n)
{
    float lanes[V8];
    v8_store(lanes, v);
    for (int64_t i = 0; i < n; i++)
        p[i] = lanes[i];
}

static inline v8f v8_bits(v8i bits)
{
    v8f v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static inline v8i v8_int_bits(v8f x)
{
    v8i v;
    memcpy(&v, &x, sizeof(v));
    return v;
}

/* mask ? a : b, lane by lane; a lane of mask is 0 or -1 */
static inline v8f v8_select(v8i mask, v8f a, v8f b)
{
    return v8_bits((mask & v8_int_bits(a)) | (~mask & v8_int_bits(b)));
}

/* b where a lane compares with NaN: a value that may be NaN and must stay so goes second. */
static inline v8f v8_max(v8f a, v8f b)
{
    return v8_select(a > b, a, b);
}

static inline v8f v8_min(v8f a, v8f b)
{
    return v8_select(a < b, a, b);
}

static inline v8f v8_abs(v8f x)
{
    return v8_bits(v8_int_bits(x) & 0x7fffffff);
}

static inline v8f v8_sqrt(v8f x)
{
    float lanes[V8];
    v8_store(lanes, x);
    for (int i = 0; i < V8; i++)
        lanes[i] = sqrtf(lanes[i]);
    return v8_load(lanes);
}

/* Lanes are added in pairs (0+4, 1+5, ..), then again, then again. */
static inline float v8_sum(v8f x)
{
    float p[V8];
    v8_store(p, x);
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

static inline float v8_max_lane(v8f x)
{
    float p[V8], max;
    v8_store(p, x);
    max = p[0];
    for (int i = 1; i < V8; i++)
        max = p[i] > max ? p[i] : max;
    return max;
}

/* 64-bit products of lanes 0, 2, 4, 6. The one instruction that compilers do not find by themselves. */
static inline v4u v8_multiply_even(v8u a, v8u b)
{
#if defined(__AVX2__)
    return (v4u)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#else
    return ((v4u)a & 0xffffffffu) * ((v4u)b & 0xffffffffu);
#endif
}
