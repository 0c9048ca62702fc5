/* SPDX-License-Identifier: Apache-2.0 */
/* A gate: x times the logistic function of something else, and both gradients, evaluated in double. */
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/rows.h"

#include <math.h>

void tri_ref_gate(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                  struct tri_tensor gate)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y), xr = tri_rows_of(x), gr = tri_rows_of(gate);
    for (int64_t r = 0; r < yr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        const float *xp = tri_rows_get(&xr, r), *gp = tri_rows_get(&gr, r);
        for (int64_t c = 0; c < yr.columns; c++)
            yp[c] = (float)(xp[c] / (1 + exp(-(double)gp[c])));
    }
}

/* With s = logistic(gate): dx = dy s, dgate = dy x s (1 - s) */
void tri_ref_gate_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dgate,
                           struct tri_tensor dy, struct tri_tensor x, struct tri_tensor gate)
{
    (void)q;
    struct tri_rows dxr = tri_rows_of(dx), dgr = tri_rows_of(dgate), dyr = tri_rows_of(dy);
    struct tri_rows xr = tri_rows_of(x), gr = tri_rows_of(gate);
    for (int64_t r = 0; r < dxr.num; r++) {
        float *dxp = tri_rows_get(&dxr, r), *dgp = tri_rows_get(&dgr, r);
        const float *dyp = tri_rows_get(&dyr, r);
        const float *xp = tri_rows_get(&xr, r), *gp = tri_rows_get(&gr, r);
        for (int64_t c = 0; c < dxr.columns; c++) {
            double dyc = dyp[c], s = 1 / (1 + exp(-(double)gp[c]));
            double rest = 1 / (1 + exp((double)gp[c])); /* 1 - s, without cancellation */
            dgp[c] = (float)(dyc * xp[c] * s * rest);
            dxp[c] = (float)(dyc * s);
        }
    }
}
