/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LayerNorm over the last dim: xhat = (x - mean) * rstd, y = xhat * weight + bias. Statistics are
 * summed in double; mean and rstd are kept for backward.
 */
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/rows.h"

#include <math.h>

void tri_ref_layernorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor mean,
                       struct tri_tensor rstd, struct tri_tensor x, struct tri_tensor weight,
                       struct tri_tensor bias, float eps)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y), xr = tri_rows_of(x);
    const float *w = tri_tensor_f32(&weight), *b = tri_tensor_f32(&bias);
    int64_t C = xr.columns;
    for (int64_t r = 0; r < xr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        const float *xp = tri_rows_get(&xr, r);
        double sum = 0, squares = 0;
        for (int64_t c = 0; c < C; c++)
            sum += xp[c];
        double m = sum / (double)C;
        for (int64_t c = 0; c < C; c++)
            squares += (xp[c] - m) * (xp[c] - m);
        float mf = (float)m, rf = (float)(1 / sqrt(squares / (double)C + eps));
        for (int64_t c = 0; c < C; c++) {
            float scaled = (xp[c] - mf) * rf * w[c];
            yp[c] = b ? scaled + b[c] : scaled;
        }
        tri_tensor_f32(&mean)[r] = mf;
        tri_tensor_f32(&rstd)[r] = rf;
    }
}

/*
 * With g = dy * weight:
 *   dx = rstd * (g - mean(g) - xhat * mean(g * xhat))
 *   dweight += sum over rows of dy * xhat,  dbias += sum over rows of dy
 * The parameter gradients come first, since dx may be dy.
 */
void tri_ref_layernorm_backward(struct tri_queue *q, struct tri_tensor dx,
                                struct tri_tensor dweight, struct tri_tensor dbias,
                                struct tri_tensor dy, struct tri_tensor x, struct tri_tensor mean,
                                struct tri_tensor rstd, struct tri_tensor weight, void *workspace)
{
    if (dbias.data)
        tri_ref_bias_backward(q, dbias, dy, workspace);
    struct tri_rows dxr = tri_rows_of(dx), dyr = tri_rows_of(dy), xr = tri_rows_of(x);
    const float *w = tri_tensor_f32(&weight);
    const float *m = tri_tensor_f32(&mean), *rs = tri_tensor_f32(&rstd);
    int64_t C = xr.columns;
    for (int64_t c = 0; dweight.data && c < C; c++) {
        double sum = 0;
        for (int64_t r = 0; r < xr.num; r++)
            sum += tri_rows_get(&dyr, r)[c] * ((tri_rows_get(&xr, r)[c] - m[r]) * rs[r]);
        tri_tensor_f32(&dweight)[c] += (float)sum;
    }
    for (int64_t r = 0; r < xr.num; r++) {
        float *dxp = tri_rows_get(&dxr, r);
        const float *dyp = tri_rows_get(&dyr, r), *xp = tri_rows_get(&xr, r);
        double sum_g = 0, sum_gx = 0;
        for (int64_t c = 0; c < C; c++) {
            float g = dyp[c] * w[c], xhat = (xp[c] - m[r]) * rs[r];
            sum_g += g;
            sum_gx += g * xhat;
        }
        float mean_g = (float)(sum_g / (double)C), mean_gx = (float)(sum_gx / (double)C);
        for (int64_t c = 0; c < C; c++) {
            float g = dyp[c] * w[c], xhat = (xp[c] - m[r]) * rs[r];
            dxp[c] = rs[r] * (g - mean_g - xhat * mean_gx);
        }
    }
}
