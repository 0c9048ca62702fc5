/* SPDX-License-Identifier: Apache-2.0 */
/* Fill, copy, add, scale, soft cap, bias and the search for NaN: one loop over rows, one over columns. */
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/rows.h"

#include <math.h>

void tri_ref_fill(struct tri_queue *q, struct tri_tensor y, float value)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y);
    for (int64_t r = 0; r < yr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        for (int64_t c = 0; c < yr.columns; c++)
            yp[c] = value;
    }
}

/* The one operation whose last stride is free, so that it can transpose. */
void tri_ref_copy(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y), xr = tri_rows_of(x);
    int64_t y_step = y.num_dims > 0 ? y.strides[y.num_dims - 1] : 1;
    int64_t x_step = x.num_dims > 0 ? x.strides[x.num_dims - 1] : 1;
    for (int64_t r = 0; r < yr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        const float *xp = tri_rows_get(&xr, r);
        for (int64_t c = 0; c < yr.columns; c++)
            yp[c * y_step] = xp[c * x_step];
    }
}

void tri_ref_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor a, struct tri_tensor b)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y), ar = tri_rows_of(a), br = tri_rows_of(b);
    for (int64_t r = 0; r < yr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        const float *ap = tri_rows_get(&ar, r), *bp = tri_rows_get(&br, r);
        for (int64_t c = 0; c < yr.columns; c++)
            yp[c] = ap[c] + bp[c];
    }
}

void tri_ref_scale(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float alpha)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y), xr = tri_rows_of(x);
    for (int64_t r = 0; r < yr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        const float *xp = tri_rows_get(&xr, r);
        for (int64_t c = 0; c < yr.columns; c++)
            yp[c] = alpha * xp[c];
    }
}

void tri_ref_softcap(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float cap)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y), xr = tri_rows_of(x);
    for (int64_t r = 0; r < yr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        const float *xp = tri_rows_get(&xr, r);
        for (int64_t c = 0; c < yr.columns; c++)
            yp[c] = (float)(cap * tanh((double)xp[c] / cap));
    }
}

void tri_ref_bias_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor bias)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y);
    const float *bp = tri_tensor_f32(&bias);
    for (int64_t r = 0; r < yr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        for (int64_t c = 0; c < yr.columns; c++)
            yp[c] += bp[c];
    }
}

/* dbias[c] += sum over r of dy[r, c] */
void tri_ref_bias_backward(struct tri_queue *q, struct tri_tensor dbias, struct tri_tensor dy,
                           void *workspace)
{
    (void)q;
    (void)workspace;
    struct tri_rows dyr = tri_rows_of(dy);
    float *dbp = tri_tensor_f32(&dbias);
    for (int64_t c = 0; c < dyr.columns; c++) {
        double sum = 0;
        for (int64_t r = 0; r < dyr.num; r++)
            sum += tri_rows_get(&dyr, r)[c];
        dbp[c] += (float)sum;
    }
}

int64_t tri_ref_find_non_finite(struct tri_queue *q, struct tri_tensor x)
{
    (void)q;
    struct tri_rows xr = tri_rows_of(x);
    for (int64_t r = 0; r < xr.num; r++) {
        const float *xp = tri_rows_get(&xr, r);
        for (int64_t c = 0; c < xr.columns; c++)
            if (!isfinite(xp[c]))
                return r * xr.columns + c;
    }
    return -1;
}
