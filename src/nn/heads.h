/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads inside a joined row: qkv [s, B, (heads + 2 groups) * D] holds all query heads of this rank,
 * then its key heads, then its value heads; with gates, [s, B, (2 heads + 2 groups) * D], those follow the
 * query heads.
 */
#pragma once

#include "tensor/tensor.h"

/* num heads of width D from channel first on, as a view [s, B, num, D] of joined [s, B, channels].
   */
static inline struct tri_tensor tri_heads_view(const struct tri_tensor *joined, int64_t first,
                                               int64_t num, int64_t D)
{
    return (struct tri_tensor){
        .data = tri_tensor_f32(joined) + first,
        .dtype = joined->dtype,
        .num_dims = 4,
        .dims = {joined->dims[0], joined->dims[1], num, D},
        .strides = {joined->strides[0], joined->strides[1], D, 1},
    };
}

/* The three parts of qkv that attention reads, whatever lies between queries and keys. */
struct tri_qkv {
    struct tri_tensor query, key, value;
};
static inline struct tri_qkv tri_qkv_split(const struct tri_tensor *qkv, int64_t heads,
                                           int64_t groups, int64_t D)
{
    int64_t value = qkv->dims[2] - groups * D;
    return (struct tri_qkv){
        .query = tri_heads_view(qkv, 0, heads, D),
        .key = tri_heads_view(qkv, value - groups * D, groups, D),
        .value = tri_heads_view(qkv, value, groups, D),
    };
}

/* The gates behind the query heads, [s, B, heads * D]. */
static inline struct tri_tensor tri_qkv_gate(const struct tri_tensor *qkv, int64_t heads, int64_t D)
{
    return tri_tensor_slice(qkv, 2, heads * D, heads * D);
}
