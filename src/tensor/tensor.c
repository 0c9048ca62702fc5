/* SPDX-License-Identifier: Apache-2.0 */
/* Views: pure index arithmetic. */
#include "tensor/tensor.h"

#include "base/check.h"

#include <string.h>

struct tri_tensor tri_tensor_view(void *data, enum tri_dtype dtype, int num_dims,
                                  const int64_t *dims)
{
    TRI_ASSERT(num_dims >= 0 && num_dims <= TRI_MAX_DIMS);
    struct tri_tensor view = {.data = data, .dtype = dtype, .num_dims = num_dims};
    int64_t stride = 1;
    for (int i = num_dims - 1; i >= 0; i--) {
        TRI_ASSERT(dims[i] >= 0);
        view.dims[i] = dims[i];
        view.strides[i] = stride;
        stride *= dims[i];
    }
    return view;
}

struct tri_tensor tri_tensor_f32_1d(float *data, int64_t n)
{
    return tri_tensor_view(data, TRI_DTYPE_F32, 1, &n);
}

struct tri_tensor tri_tensor_f32_2d(float *data, int64_t rows, int64_t columns)
{
    const int64_t dims[2] = {rows, columns};
    return tri_tensor_view(data, TRI_DTYPE_F32, 2, dims);
}

int64_t tri_tensor_elements(const struct tri_tensor *tensor)
{
    int64_t elements = 1;
    for (int i = 0; i < tensor->num_dims; i++)
        elements *= tensor->dims[i];
    return elements;
}

size_t tri_tensor_bytes(const struct tri_tensor *tensor)
{
    return (size_t)tri_tensor_elements(tensor) * tri_dtype_bytes(tensor->dtype);
}

/* True when dims 0 .. num-1 can be walked as one dim whose stride is that of dim num-1. */
static bool tensor_dims_join(const struct tri_tensor *tensor, int num)
{
    if (tri_tensor_elements(tensor) == 0)
        return true;
    int64_t stride = 0;
    for (int i = num - 1; i >= 0; i--) {
        if (tensor->dims[i] == 1)
            continue;
        if (stride != 0 && tensor->strides[i] != stride)
            return false;
        stride = tensor->strides[i] * tensor->dims[i];
    }
    return true;
}

bool tri_tensor_is_contiguous(const struct tri_tensor *tensor)
{
    int64_t stride = 1;
    if (tri_tensor_elements(tensor) == 0)
        return true;
    for (int i = tensor->num_dims - 1; i >= 0; i--) {
        if (tensor->dims[i] != 1 && tensor->strides[i] != stride)
            return false;
        stride *= tensor->dims[i];
    }
    return true;
}

struct tri_tensor tri_tensor_rows(const struct tri_tensor *tensor)
{
    int last = tensor->num_dims - 1;
    TRI_ASSERT(last >= 0 && tensor_dims_join(tensor, last));
    struct tri_tensor view = {.data = tensor->data, .dtype = tensor->dtype, .num_dims = 2};
    view.dims[0] = 1;
    view.dims[1] = tensor->dims[last];
    view.strides[0] = tensor->dims[last];
    view.strides[1] = tensor->strides[last];
    bool has_stride = false;
    for (int i = last - 1; i >= 0; i--) {
        view.dims[0] *= tensor->dims[i];
        if (!has_stride && tensor->dims[i] != 1) {
            view.strides[0] = tensor->strides[i];
            has_stride = true;
        }
    }
    return view;
}

struct tri_tensor tri_tensor_slice(const struct tri_tensor *tensor, int dim, int64_t first,
                                   int64_t count)
{
    TRI_ASSERT(dim >= 0 && dim < tensor->num_dims);
    TRI_ASSERT(first >= 0 && count >= 0 && first <= tensor->dims[dim] - count);
    struct tri_tensor view = *tensor;
    view.dims[dim] = count;
    if (view.data && first > 0) {
        size_t bytes = (size_t)(first * tensor->strides[dim]) * tri_dtype_bytes(tensor->dtype);
        view.data = (char *)view.data + bytes;
    }
    return view;
}

struct tri_tensor tri_tensor_reshape(const struct tri_tensor *tensor, int num_dims,
                                     const int64_t *dims)
{
    TRI_ASSERT(tri_tensor_is_contiguous(tensor));
    struct tri_tensor view = tri_tensor_view(tensor->data, tensor->dtype, num_dims, dims);
    TRI_ASSERT(tri_tensor_elements(&view) == tri_tensor_elements(tensor));
    return view;
}

bool tri_tensor_same_dims(const struct tri_tensor *a, const struct tri_tensor *b)
{
    return a->dtype == b->dtype && a->num_dims == b->num_dims &&
           memcmp(a->dims, b->dims, (size_t)a->num_dims * sizeof(a->dims[0])) == 0;
}
