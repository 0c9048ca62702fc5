/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RMSNorm over the last dim: xhat = x * rstd, rstd = 1 / sqrt(mean(x^2) + eps), y = xhat * weight.
 * The mean is summed in double; rstd is kept for backward.
 */
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/rows.h"

#include <math.h>

void tri_ref_rmsnorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor rstd,
                     struct tri_tensor x, struct tri_tensor weight, float eps)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y), xr = tri_rows_of(x);
    const float *w = tri_tensor_f32(&weight);
    int64_t C = xr.columns;
    for (int64_t r = 0; r < xr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        const float *xp = tri_rows_get(&xr, r);
        double squares = 0;
        for (int64_t c = 0; c < C; c++)
            squares += (double)xp[c] * xp[c];
        float rs = (float)(1 / sqrt(squares / (double)C + eps));
        for (int64_t c = 0; c < C; c++)
            yp[c] = xp[c] * rs * w[c];
        tri_tensor_f32(&rstd)[r] = rs;
    }
}

/*
 * With g = dy * weight:
 *   dx = rstd * (g - xhat * mean(g * xhat)),  dweight += sum over rows of dy * xhat
 * The weight's gradient comes first, since dx may be dy.
 */
void tri_ref_rmsnorm_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dweight,
                              struct tri_tensor dy, struct tri_tensor x, struct tri_tensor rstd,
                              struct tri_tensor weight, void *workspace)
{
    (void)q;
    (void)workspace;
    struct tri_rows dxr = tri_rows_of(dx), dyr = tri_rows_of(dy), xr = tri_rows_of(x);
    const float *w = tri_tensor_f32(&weight), *rs = tri_tensor_f32(&rstd);
    int64_t C = xr.columns;
    for (int64_t c = 0; dweight.data && c < C; c++) {
        double sum = 0;
        for (int64_t r = 0; r < xr.num; r++)
            sum += tri_rows_get(&dyr, r)[c] * (tri_rows_get(&xr, r)[c] * rs[r]);
        tri_tensor_f32(&dweight)[c] += (float)sum;
    }
    for (int64_t r = 0; r < xr.num; r++) {
        float *dxp = tri_rows_get(&dxr, r);
        const float *dyp = tri_rows_get(&dyr, r), *xp = tri_rows_get(&xr, r);
        double sum = 0;
        for (int64_t c = 0; c < C; c++)
            sum += dyp[c] * w[c] * (xp[c] * rs[r]);
        float mean_gx = (float)(sum / (double)C);
        for (int64_t c = 0; c < C; c++)
            dxp[c] = rs[r] * (dyp[c] * w[c] - xp[c] * rs[r] * mean_gx);
    }
}
