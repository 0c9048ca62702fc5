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

#define INLINE static inline __attribute__((always_inline))

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

/* sum = sum op in, for n elements of one type */
typedef void combine_fn(enum tri_reduce op, void *restrict sum, const void *restrict in, int64_t n);

INLINE void f32_combine(enum tri_reduce op, void *restrict partial, const void *restrict next,
                        int64_t n)
{
    float *sum = partial;
    const float *in = next;
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

INLINE void f64_combine(enum tri_reduce op, void *restrict partial, const void *restrict next,
                        int64_t n)
{
    double *sum = partial;
    const double *in = next;
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
INLINE void i64_combine(enum tri_reduce op, void *restrict partial, const void *restrict next,
                        int64_t n)
{
    int64_t *sum = partial;
    const int64_t *in = next;
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

/* Types whose partial results have the type itself. */
INLINE void wide_block(enum tri_reduce op, void *out, const void *const *in, int num, int64_t first,
                       int64_t n, size_t size, combine_fn *combine)
{
    union {
        float f32[BLOCK];
        double f64[BLOCK];
        int64_t i64[BLOCK];
    } sum;
    memcpy(&sum, (const char *)in[0] + (size_t)first * size, (size_t)n * size);
    for (int k = 1; k < num; k++) {
        const char *next = (const char *)in[k] + (size_t)first * size;
        if (n == BLOCK && op == TRI_REDUCE_SUM)
            combine(TRI_REDUCE_SUM, &sum, next, BLOCK);
        else
            combine(op, &sum, next, n);
    }
    memcpy((char *)out + (size_t)first * size, &sum, (size_t)n * size);
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
        wide_block(op, out, in, num, first, n, sizeof(float), f32_combine);
    else if (dtype == TRI_DTYPE_F64)
        wide_block(op, out, in, num, first, n, sizeof(double), f64_combine);
    else if (dtype == TRI_DTYPE_BF16)
        half_block(op, out, in, num, first, n, bf16_load, bf16_store);
    else if (dtype == TRI_DTYPE_F16)
        half_block(op, out, in, num, first, n, f16_load, f16_store);
    else
        wide_block(op, out, in, num, first, n, sizeof(int64_t), i64_combine);
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
