/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor is a view: device address, type, dims and strides, copied by value. It owns nothing; the
 * bytes belong to an arena of the plan (tensor/storage.h). Strides are in elements; the last dim of
 * every tensor that kernels see has stride 1 unless the operation says otherwise.
 */
#pragma once

#include "base/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRI_MAX_DIMS 5

struct tri_tensor {
    void *data; /* device address of element 0; NULL: no tensor */
    enum tri_dtype dtype;
    int num_dims;
    int64_t dims[TRI_MAX_DIMS];
    int64_t strides[TRI_MAX_DIMS]; /* elements */
};

/* A contiguous view of data. dims has num_dims entries. */
struct tri_tensor tri_tensor_view(void *data, enum tri_dtype dtype, int num_dims,
                                  const int64_t *dims);
/* Short forms for contiguous fp32 views. */
struct tri_tensor tri_tensor_f32_1d(float *data, int64_t n);
struct tri_tensor tri_tensor_f32_2d(float *data, int64_t rows, int64_t columns);

int64_t tri_tensor_elements(const struct tri_tensor *tensor);
size_t tri_tensor_bytes(const struct tri_tensor *tensor);
bool tri_tensor_is_contiguous(const struct tri_tensor *tensor);
/* All dims but the last joined into one: [.., C] -> [R, C]. The joined dims must be contiguous. */
struct tri_tensor tri_tensor_rows(const struct tri_tensor *tensor);
/* Elements first .. first+count-1 along dim. */
struct tri_tensor tri_tensor_slice(const struct tri_tensor *tensor, int dim, int64_t first,
                                   int64_t count);
/* The same contiguous bytes under other dims with the same number of elements. */
struct tri_tensor tri_tensor_reshape(const struct tri_tensor *tensor, int num_dims,
                                     const int64_t *dims);
/* True when type, dims and the number of dims are equal. */
bool tri_tensor_same_dims(const struct tri_tensor *a, const struct tri_tensor *b);

static inline float *tri_tensor_f32(const struct tri_tensor *tensor)
{
    return (float *)tensor->data;
}
