/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over a row in 32 fp32 lanes: four vectors side by side, added in pairs, then their lanes. */
#pragma once

#include "kernels/cpu_fast/simd.h"

static inline float row_sum(const float *x, int64_t n)
{
    v8f s0 = v8_set(0), s1 = s0, s2 = s0, s3 = s0;
    int64_t c = 0;
    for (; c + 4 * V8 <= n; c += 4 * V8) {
        s0 += v8_load(x + c);
        s1 += v8_load(x + c + V8);
        s2 += v8_load(x + c + 2 * V8);
        s3 += v8_load(x + c + 3 * V8);
    }
    for (; c + V8 <= n; c += V8)
        s0 += v8_load(x + c);
    if (c < n)
        s1 += v8_load_part(x + c, n - c, 0);
    return v8_sum((s0 + s1) + (s2 + s3));
}

/* Sum of (x - mean)^2 */
static inline float row_sum_squares(const float *x, float mean, int64_t n)
{
    v8f s0 = v8_set(0), s1 = s0, s2 = s0, s3 = s0, m = v8_set(mean);
    int64_t c = 0;
    for (; c + 4 * V8 <= n; c += 4 * V8) {
        v8f d0 = v8_load(x + c) - m, d1 = v8_load(x + c + V8) - m;
        v8f d2 = v8_load(x + c + 2 * V8) - m, d3 = v8_load(x + c + 3 * V8) - m;
        s0 += d0 * d0;
        s1 += d1 * d1;
        s2 += d2 * d2;
        s3 += d3 * d3;
    }
    for (; c + V8 <= n; c += V8) {
        v8f d = v8_load(x + c) - m;
        s0 += d * d;
    }
    if (c < n) {
        v8f d = v8_load_part(x + c, n - c, mean) - m;
        s1 += d * d;
    }
    return v8_sum((s0 + s1) + (s2 + s3));
}
