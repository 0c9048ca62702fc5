/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise reduction in a stated order: the arithmetic that comm/ is handed at creation. */
#pragma once

#include "base/dtype.h"

#include <stdint.h>

enum tri_reduce { TRI_REDUCE_SUM, TRI_REDUCE_MAX, TRI_REDUCE_MIN, TRI_REDUCE_OR };

/*
 * out = in[0] op in[1] op ... op in[num-1], element by element in this order, partial sums in the
 * wider of fp32 and the type; out may be one of in. dtype is fp32, fp64, bf16, fp16 or int64 (OR:
 * int64 only).
 */
typedef void tri_reduce_fn(enum tri_reduce op, enum tri_dtype dtype, void *out,
                           const void *const *in, int num, int64_t count);
