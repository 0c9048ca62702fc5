/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor seen as rows: all dims but the last are counted together, row r of [S, B, C] is position
 * r / B of batch row r mod B. Both CPU backends walk tensors this way, so any strides but the last
 * are legal everywhere. Rows that lie at one distance (is_regular) are found by a multiplication.
 */
#pragma once

#include "base/check.h"
#include "tensor/tensor.h"

#include <stdbool.h>
#include <stdint.h>

struct tri_rows {
    float *data;
    int64_t num, columns;
    int64_t stride; /* between rows, when is_regular */
    bool is_regular;
    int num_outer;
    int64_t dims[TRI_MAX_DIMS], strides[TRI_MAX_DIMS]; /* of the outer dims */
};

static inline struct tri_rows tri_rows_of(struct tri_tensor t)
{
    struct tri_rows rows = {.data = (float *)t.data, .num = 1, .is_regular = true};
    rows.num_outer = t.num_dims - 1;
    rows.columns = t.num_dims > 0 ? t.dims[t.num_dims - 1] : 1;
    for (int i = rows.num_outer - 1; i >= 0; i--) {
        rows.dims[i] = t.dims[i];
        rows.strides[i] = t.strides[i];
        if (rows.num == 1)
            rows.stride = t.strides[i];
        else if (t.dims[i] != 1 && t.strides[i] != rows.stride * rows.num)
            rows.is_regular = false;
        rows.num *= t.dims[i];
    }
    return rows;
}

static inline float *tri_rows_get(const struct tri_rows *rows, int64_t r)
{
    if (rows->is_regular)
        return rows->data + r * rows->stride;
    int64_t offset = 0;
    for (int i = rows->num_outer - 1; i >= 0; i--) {
        offset += r % rows->dims[i] * rows->strides[i];
        r /= rows->dims[i];
    }
    return rows->data + offset;
}

/* Batch rows of an activation [S, B, C]; 1 for [S, C]. */
static inline int64_t tri_rows_batch(const struct tri_tensor *t)
{
    return t->num_dims >= 3 ? t->dims[t->num_dims - 2] : 1;
}

/* A matrix as BLAS sees it: rows at one distance. */
static inline struct tri_rows tri_rows_matrix(struct tri_tensor t)
{
    struct tri_rows rows = tri_rows_of(t);
    TRI_ASSERT(rows.is_regular);
    return rows;
}
