/* SPDX-License-Identifier: Apache-2.0 */
/* One row per element type: its name and its size. */
#include "base/dtype.h"

#include "base/check.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} dtypes[TRI_NUM_DTYPES] = {
    [TRI_DTYPE_F32] = {"fp32", 4},  [TRI_DTYPE_F64] = {"fp64", 8},   [TRI_DTYPE_BF16] = {"bf16", 2},
    [TRI_DTYPE_F16] = {"fp16", 2},  [TRI_DTYPE_I8] = {"int8", 1},    [TRI_DTYPE_U8] = {"uint8", 1},
    [TRI_DTYPE_I16] = {"int16", 2}, [TRI_DTYPE_U16] = {"uint16", 2}, [TRI_DTYPE_I32] = {"int32", 4},
    [TRI_DTYPE_I64] = {"int64", 8}, [TRI_DTYPE_BOOL] = {"bool", 1},
};

size_t tri_dtype_bytes(enum tri_dtype dtype)
{
    TRI_ASSERT((int)dtype >= 0 && dtype < TRI_NUM_DTYPES);
    return dtypes[dtype].bytes;
}

const char *tri_dtype_name(enum tri_dtype dtype)
{
    TRI_ASSERT((int)dtype >= 0 && dtype < TRI_NUM_DTYPES);
    return dtypes[dtype].name;
}

bool tri_dtype_from_name(const char *name, enum tri_dtype *dtype)
{
    for (int i = 0; i < TRI_NUM_DTYPES; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            *dtype = (enum tri_dtype)i;
            return true;
        }
    }
    return false;
}
