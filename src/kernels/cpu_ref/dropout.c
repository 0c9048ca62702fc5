/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout by counter: whether an element is kept is a pure function of (key, sample, row, column),
 * see base/rng.h. Backward asks the same question again; no mask is ever stored.
 */
#include "base/rng.h"
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/rows.h"

float tri_ref_dropout_factor(const struct tri_dropout *dropout, int64_t b, int64_t row,
                             int64_t column)
{
    if (dropout->threshold == 0)
        return 1;
    uint64_t sample = (uint64_t)dropout->sample_ids[b];
    const uint32_t counter[4] = {(uint32_t)sample, (uint32_t)(sample >> 32), (uint32_t)row,
                                 (uint32_t)(column / 4)};
    struct tri_rng_key key = {{dropout->key[0], dropout->key[1]}};
    uint32_t lanes[4];
    tri_philox4x32(counter, key, lanes);
    return lanes[column % 4] >= dropout->threshold ? dropout->scale : 0;
}

/* y = residual + factor * x */
void tri_ref_dropout_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                         struct tri_tensor residual, const struct tri_dropout *dropout)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y), xr = tri_rows_of(x);
    struct tri_rows rr = residual.data ? tri_rows_of(residual) : xr;
    int64_t B = tri_rows_batch(&y);
    for (int64_t r = 0; r < yr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        const float *xp = tri_rows_get(&xr, r), *rp = tri_rows_get(&rr, r);
        int64_t row = dropout->first_position + r / B;
        for (int64_t c = 0; c < yr.columns; c++) {
            float factor = tri_ref_dropout_factor(dropout, r % B, row, dropout->first_column + c);
            float kept = factor * xp[c];
            yp[c] = residual.data ? rp[c] + kept : kept;
        }
    }
}

/* dx = factor * dy */
void tri_ref_dropout_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                              const struct tri_dropout *dropout)
{
    tri_ref_dropout_add(q, dx, dy, (struct tri_tensor){.data = NULL}, dropout);
}
