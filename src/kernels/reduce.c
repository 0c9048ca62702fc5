/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reduction that worlds are created with: out = in[0] op in[1] op ..., in this order, for every
 * element by itself. It works through blocks of a fixed length: a block of partial results stays in
 * the nearest cache in the wider of fp32 and the type, takes the inputs one after the other, and is
 * rounded to the type once, at the end. The inner loops over a whole block have a constant length,
 * which is what lets the compiler vectorise them. Maximum and minimum of floating numbers hand a NaN
 * on: a lost NaN would hide the failure of a rank.
 */
#include "kernels/reduce.h"

#include "base/check.h"

#include <string.h>

/* Elements of a block: at most 4 KiB of partial results. */
#define BLOCK 512

static float f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float bf16_load(uint16_t half)
{
    return f32_from_bits((uint32_t)half << 16);
}

/* To nearest, ties to even; a NaN stays a (quiet) NaN. */
static uint16_t bf16_store(float value)
{
    uint32_t bits = f32_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static float f16_load(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t rest = half & 0x7fffu;
    if (rest >= 0x7c00u)
        return f32_from_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest >= 0x400u)
        return f32_from_bits(sign | ((rest << 13) + (112u << 23)));
    float magnitude = (float)rest * 0x1p-24f;
    return sign ? -magnitude : magnitude;
}

/* To nearest, ties to even; above 65519.99 infinity; a NaN stays a (quiet) NaN. */
static uint16_t f16_store(float value)
{
    uint32_t bits = f32_bits(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    uint32_t rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
    if (rest >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00u);
    if (rest < 0x38800000u) {
        /* Below the normal numbers: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits. */
        float shifted = f32_from_bits(rest) + 0.5f;
        return (uint16_t)(sign | (f32_bits(shifted) - 0x3f000000u));
    }
    rest += 0xfffu + (rest >> 13 & 1u);
    return (uint16_t)(sign | ((rest >> 13) - (112u << 10)));
}

static inline void f32_combine(enum tri_reduce op, float *restrict sum, const float *restrict in,
                               int64_t n)
{
    if (op == TRI_REDUCE_SUM)
        for (int64_t i = 0; i < n; i++)
            sum[i] += in[i];
    else if (op == TRI_REDUCE_MAX)
        for (int64_t i = 0; i < n; i++)
            sum[i] = in[i] > sum[i] || in[i] != in[i] ? in[i] : sum[i];
    else
        for (int64_t i = 0; i < n; i++)
            sum[i] = in[i] < sum[i] || in[i] != in[i] ? in[i] : sum[i];
}

static inline void f64_combine(enum tri_reduce op, double *restrict sum, const double *restrict in,
                               int64_t n)
{
    if (op == TRI_REDUCE_SUM)
        for (int64_t i = 0; i < n; i++)
            sum[i] += in[i];
    else if (op == TRI_REDUCE_MAX)
        for (int64_t i = 0; i < n; i++)
            sum[i] = in[i] > sum[i] || in[i] != in[i] ? in[i] : sum[i];
    else
        for (int64_t i = 0; i < n; i++)
            sum[i] = in[i] < sum[i] || in[i] != in[i] ? in[i] : sum[i];
}

/* The sum wraps round: limbs of an exact sum may borrow. */
static inline void i64_combine(enum tri_reduce op, int64_t *restrict sum,
                               const int64_t *restrict in, int64_t n)
{
    if (op == TRI_REDUCE_SUM)
        for (int64_t i = 0; i < n; i++)
            sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)in[i]);
    else if (op == TRI_REDUCE_MAX)
        for (int64_t i = 0; i < n; i++)
            sum[i] = in[i] > sum[i] ? in[i] : sum[i];
    else if (op == TRI_REDUCE_MIN)
        for (int64_t i = 0; i < n; i++)
            sum[i] = in[i] < sum[i] ? in[i] : sum[i];
    else
        for (int64_t i = 0; i < n; i++)
            sum[i] |= in[i];
}

static void f32_block(enum tri_reduce op, float *out, const void *const *in, int num, int64_t first,
                      int64_t n)
{
    float sum[BLOCK];
    memcpy(sum, (const float *)in[0] + first, (size_t)n * sizeof *sum);
    for (int k = 1; k < num; k++) {
        const float *next = (const float *)in[k] + first;
        if (n == BLOCK && op == TRI_REDUCE_SUM)
            f32_combine(TRI_REDUCE_SUM, sum, next, BLOCK);
        else
            f32_combine(op, sum, next, n);
    }
    memcpy(out + first, sum, (size_t)n * sizeof *sum);
}

static void f64_block(enum tri_reduce op, double *out, const void *const *in, int num,
                      int64_t first, int64_t n)
{
    double sum[BLOCK];
    memcpy(sum, (const double *)in[0] + first, (size_t)n * sizeof *sum);
    for (int k = 1; k < num; k++) {
        const double *next = (const double *)in[k] + first;
        if (n == BLOCK && op == TRI_REDUCE_SUM)
            f64_combine(TRI_REDUCE_SUM, sum, next, BLOCK);
        else
            f64_combine(op, sum, next, n);
    }
    memcpy(out + first, sum, (size_t)n * sizeof *sum);
}

static void i64_block(enum tri_reduce op, int64_t *out, const void *const *in, int num,
                      int64_t first, int64_t n)
{
    int64_t sum[BLOCK];
    memcpy(sum, (const int64_t *)in[0] + first, (size_t)n * sizeof *sum);
    for (int k = 1; k < num; k++)
        i64_combine(op, sum, (const int64_t *)in[k] + first, n);
    memcpy(out + first, sum, (size_t)n * sizeof *sum);
}

typedef float half_load_fn(uint16_t half);
typedef uint16_t half_store_fn(float value);

/* 16-bit types: partial results in fp32. */
static inline void half_block(enum tri_reduce op, uint16_t *out, const void *const *in, int num,
                              int64_t first, int64_t n, half_load_fn *load, half_store_fn *store)
{
    float sum[BLOCK], next[BLOCK];
    for (int k = 0; k < num; k++) {
        const uint16_t *half = (const uint16_t *)in[k] + first;
        float *wide = k == 0 ? sum : next;
        for (int64_t i = 0; i < n; i++)
            wide[i] = load(half[i]);
        if (k > 0)
            f32_combine(op, sum, next, n);
    }
    for (int64_t i = 0; i < n; i++)
        out[first + i] = store(sum[i]);
}

static void reduce_block(enum tri_reduce op, enum tri_dtype dtype, void *out, const void *const *in,
                         int num, int64_t first, int64_t n)
{
    if (dtype == TRI_DTYPE_F32)
        f32_block(op, out, in, num, first, n);
    else if (dtype == TRI_DTYPE_F64)
        f64_block(op, out, in, num, first, n);
    else if (dtype == TRI_DTYPE_BF16)
        half_block(op, out, in, num, first, n, bf16_load, bf16_store);
    else if (dtype == TRI_DTYPE_F16)
        half_block(op, out, in, num, first, n, f16_load, f16_store);
    else
        i64_block(op, out, in, num, first, n);
}

void tri_reduce_in_order(enum tri_reduce op, enum tri_dtype dtype, void *out, const void *const *in,
                         int num, int64_t count)
{
    TRI_ASSERT(dtype == TRI_DTYPE_I64 ||
               (op != TRI_REDUCE_OR && (dtype == TRI_DTYPE_F32 || dtype == TRI_DTYPE_F64 ||
                                        dtype == TRI_DTYPE_BF16 || dtype == TRI_DTYPE_F16)));
    for (int64_t first = 0; first < count; first += BLOCK)
        reduce_block(op, dtype, out, in, num, first, count - first < BLOCK ? count - first : BLOCK);
}
