/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of squares for the gradient norm, and Adam with decoupled weight decay. */
#include "base/exact_sum.h"
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/rows.h"

#include <math.h>

/* Elements of a contiguous tensor. */
static int64_t optimizer_count(struct tri_tensor t)
{
    struct tri_rows rows = tri_rows_of(t);
    TRI_ASSERT(rows.num <= 1 || (rows.is_regular && rows.stride == rows.columns));
    return rows.num * rows.columns;
}

/* One double per block, in the order of the elements. */
void tri_ref_sum_squares(struct tri_queue *q, struct tri_exact_sum *sum, struct tri_tensor x,
                         double factor, void *workspace)
{
    (void)q;
    (void)workspace;
    const float *xp = tri_tensor_f32(&x);
    int64_t n = optimizer_count(x);
    for (int64_t first = 0; first < n; first += TRI_NORM_BLOCK) {
        int64_t end = first + TRI_NORM_BLOCK < n ? first + TRI_NORM_BLOCK : n;
        double block = 0;
        for (int64_t i = first; i < end; i++)
            block += (xp[i] * factor) * (xp[i] * factor);
        tri_exact_sum_add(sum, block);
    }
}

void tri_ref_adam(struct tri_queue *q, struct tri_tensor p, struct tri_tensor m,
                  struct tri_tensor v, struct tri_tensor g, float grad_factor,
                  const struct tri_adam *adam)
{
    (void)q;
    float *pp = tri_tensor_f32(&p), *mp = tri_tensor_f32(&m), *vp = tri_tensor_f32(&v);
    const float *gp = tri_tensor_f32(&g);
    int64_t n = optimizer_count(p);
    for (int64_t i = 0; i < n; i++) {
        float grad = gp[i] * grad_factor;
        mp[i] = adam->beta1 * mp[i] + (1 - adam->beta1) * grad;
        vp[i] = adam->beta2 * vp[i] + (1 - adam->beta2) * grad * grad;
        float step = mp[i] / adam->bias1 / (sqrtf(vp[i] / adam->bias2) + adam->eps);
        pp[i] -= adam->lr * (step + adam->weight_decay * pp[i]);
    }
}
