/* SPDX-License-Identifier: Apache-2.0 */
/* Element types of tensors and files, and their sizes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum tri_dtype {
    TRI_DTYPE_F32,
    TRI_DTYPE_F64,
    TRI_DTYPE_BF16,
    TRI_DTYPE_F16,
    TRI_DTYPE_I8,
    TRI_DTYPE_U8,
    TRI_DTYPE_I16,
    TRI_DTYPE_U16,
    TRI_DTYPE_I32,
    TRI_DTYPE_I64,
    TRI_DTYPE_BOOL,
    TRI_NUM_DTYPES
};

/* Bytes of one element. */
size_t tri_dtype_bytes(enum tri_dtype dtype);
/* "fp32", "bf16", ...: the names used in options and reports. */
const char *tri_dtype_name(enum tri_dtype dtype);
/* Finds a dtype by that name; false if there is none. */
bool tri_dtype_from_name(const char *name, enum tri_dtype *dtype);
