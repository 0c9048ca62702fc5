/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What attention forward and backward share: block sizes, the rows of one head as a BLAS matrix,
 * which keys a query sees, and the dropout factors of one query over a block of keys. Letters: i
 * counts queries, j keys; m and n are the rows and columns of one block of scores.
 */
#pragma once

#include "kernels/cpu_fast/blas.h"
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/cpu_fast/vmath.h"

/* Tuning (measured at S 512, D 64):  queries per block, keys per block */
#define ATTENTION_QUERIES 64
#define ATTENTION_KEYS    128

/* Floats that a member keeps for one block of count elements: a multiple of a cache line. */
static inline int64_t attention_floats(int64_t count)
{
    return cut_ceil(count, 16) * 16;
}

/* Rows first .. of head h of batch row b in [S, B, H, D]. */
static inline float *attention_rows(const struct tri_tensor *t, int64_t first, int64_t b, int64_t h)
{
    return tri_tensor_f32(t) + first * t->strides[0] + b * t->strides[1] + h * t->strides[2];
}

static inline struct tri_blas_matrix attention_matrix(const float *data, int64_t stride,
                                                      bool transpose)
{
    return (struct tri_blas_matrix){.data = data, .stride = stride, .transpose = transpose};
}

/* Half-open range of keys that a mask by position alone lets a query at this position see. */
struct attention_range {
    int64_t first, end;
};

static inline struct attention_range attention_visible(const struct tri_attention *a,
                                                       int64_t position, int64_t num_keys)
{
    struct attention_range range = {0, num_keys};
    if (a->causal)
        range.end = cut_min(num_keys, position + 1);
    if (a->window > 0 && position - a->window + 1 > 0)
        range.first = position - a->window + 1;
    return range;
}

/* The keys that any query of a block of m queries sees. */
static inline struct attention_range attention_visible_block(const struct tri_attention *a,
                                                             int64_t position, int64_t m,
                                                             int64_t num_keys)
{
    struct attention_range range = attention_visible(a, position + m - 1, num_keys);
    range.first = attention_visible(a, position, num_keys).first;
    return range;
}

/* The part of a range inside keys j0 .. j0 + n - 1, counted from j0; empty: first = end. */
static inline struct attention_range attention_clip(struct attention_range range, int64_t j0,
                                                    int64_t n)
{
    int64_t first = cut_min(range.first > j0 ? range.first - j0 : 0, n);
    int64_t end = cut_min(range.end - j0, n);
    return (struct attention_range){.first = first, .end = end > first ? end : first};
}

/* scores[range] = softcap tanh(scores / softcap) */
static inline void attention_cap(const struct tri_attention *a, float *scores,
                                 struct attention_range range)
{
    if (a->softcap <= 0)
        return;
    v8f cap = v8_set(a->softcap), twice = v8_set(2 / a->softcap), rest;
    for (int64_t j = range.first; j < range.end; j += V8) {
        int64_t n = range.end - j;
        v8f s = n >= V8 ? v8_load(scores + j) : v8_load_part(scores + j, n, 0);
        v8f logistic = v8_logistic(twice * s, &rest);
        v8f capped = cap * (logistic - rest);
        if (n >= V8)
            v8_store(scores + j, capped);
        else
            v8_store_part(scores + j, capped, n);
    }
}

/* The slope of the cap at a capped score; a masked one is minus infinity. */
static inline v8f attention_cap_slope(const struct tri_attention *a, v8f capped)
{
    if (a->softcap <= 0)
        return v8_set(1);
    v8f t = capped * v8_set(1 / a->softcap);
    return v8_max(v8_set(1) - t * t, v8_set(0));
}

/* scores[first .. end - 1] of keys in another segment than the query's become minus infinity. */
static inline void attention_mask_segments(const struct tri_attention *a, float *scores, int64_t b,
                                           int64_t position, int64_t j0,
                                           struct attention_range range, int64_t num_keys)
{
    if (!a->segments)
        return;
    const int32_t *segments = a->segments + b * num_keys;
    int32_t own = segments[position];
    for (int64_t j = range.first; j < range.end; j++)
        scores[j] = segments[j0 + j] == own ? scores[j] : -INFINITY;
}

/* factors[range] for one query of head h against keys j0 + range. */
static inline void attention_factors(const struct tri_attention *a, float *factors, int64_t b,
                                     int64_t h, int64_t position, int64_t j0,
                                     struct attention_range range)
{
    int64_t row = (a->first_head + h) * a->seq_length + position;
    tri_fast_dropout_factors(factors + range.first, &a->dropout, a->dropout.sample_ids[b], row,
                             j0 + range.first, range.end - range.first);
}
