/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotary positions, in place. Each pair of channels (x1, x2) turns by the angle of its position:
 *   x1' = x1 cos - x2 sin,  x2' = x2 cos + x1 sin
 * and by its negative for backward.
 */
#include "kernels/cpu_ref/cpu_ref.h"

/* Which of the three positions pair k turns by. */
static int rope_axis(const struct tri_rope *rope, int64_t k)
{
    int64_t first = rope->sections[0], second = first + rope->sections[1];
    return k < first || second + rope->sections[2] == 0 ? 0 : k < second ? 1 : 2;
}

void tri_ref_rope(struct tri_queue *q, struct tri_tensor x, struct tri_tensor cos,
                  struct tri_tensor sin, const struct tri_rope *rope)
{
    (void)q;
    int64_t S = x.dims[0], B = x.dims[1], H = x.dims[2], half = cos.dims[1];
    int64_t second = rope->interleaved ? 1 : half, step = rope->interleaved ? 2 : 1;
    for (int64_t s = 0; s < S; s++)
        for (int64_t b = 0; b < B; b++)
            for (int64_t k = 0; k < half; k++) {
                int64_t position = rope->positions[rope_axis(rope, k)][b * S + s];
                float cosine = tri_tensor_f32(&cos)[position * cos.strides[0] + k];
                float sine = tri_tensor_f32(&sin)[position * sin.strides[0] + k];
                sine = rope->inverse ? -sine : sine;
                float *x1 = tri_tensor_f32(&x) + s * x.strides[0] + b * x.strides[1] + k * step;
                for (int64_t h = 0; h < H; h++, x1 += x.strides[2]) {
                    float *x2 = x1 + second, turned = *x1 * cosine - *x2 * sine;
                    *x2 = *x2 * cosine + *x1 * sine;
                    *x1 = turned;
                }
            }
}
