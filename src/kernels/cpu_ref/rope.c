/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotary positions, in place. Each pair of channels (x1, x2) turns by the angle of its position:
 *   x1' = x1 cos - x2 sin,  x2' = x2 cos + x1 sin
 * and by its negative for backward.
 */
#include "kernels/cpu_ref/cpu_ref.h"

void tri_ref_rope(struct tri_queue *q, struct tri_tensor x, struct tri_tensor cos,
                  struct tri_tensor sin, const int32_t *positions, bool interleaved, bool inverse)
{
    (void)q;
    int64_t S = x.dims[0], B = x.dims[1], H = x.dims[2], half = cos.dims[1];
    int64_t second = interleaved ? 1 : half, step = interleaved ? 2 : 1;
    for (int64_t s = 0; s < S; s++)
        for (int64_t b = 0; b < B; b++) {
            const float *cp = tri_tensor_f32(&cos) + positions[b * S + s] * cos.strides[0];
            const float *sp = tri_tensor_f32(&sin) + positions[b * S + s] * sin.strides[0];
            for (int64_t h = 0; h < H; h++) {
                float *xp =
                    tri_tensor_f32(&x) + s * x.strides[0] + b * x.strides[1] + h * x.strides[2];
                for (int64_t k = 0; k < half; k++) {
                    float *x1 = xp + k * step, *x2 = x1 + second;
                    float sine = inverse ? -sp[k] : sp[k];
                    float turned = *x1 * cp[k] - *x2 * sine;
                    *x2 = *x2 * cp[k] + *x1 * sine;
                    *x1 = turned;
                }
            }
        }
}
