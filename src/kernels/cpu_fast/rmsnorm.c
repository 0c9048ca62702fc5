/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RMSNorm, a row at a time in cache, its squares in 32 fp32 lanes. Backward goes over fixed blocks
 * of rows, each with its own partial gradient of the weight.
 */
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/cpu_fast/row_sum.h"
#include "kernels/rows.h"

struct rmsnorm {
    struct tri_rows y, x, dy; /* y is dx in backward */
    float *rstd;
    const float *weight;
    float eps;
    float *dweight; /* partial [num_blocks, stride], NULL: not wanted */
    int64_t block_rows, stride;
    struct fast_cut cut;
};

static void rmsnorm_row(const struct rmsnorm *t, int64_t r)
{
    const float *x = tri_rows_get(&t->x, r), *w = t->weight;
    float *y = tri_rows_get(&t->y, r);
    int64_t C = t->x.columns, c = 0;
    float rstd = 1 / sqrtf(row_sum_squares(x, 0, C) / (float)C + t->eps);
    v8f s = v8_set(rstd);
    for (; c + V8 <= C; c += V8)
        v8_store(y + c, v8_load(x + c) * s * v8_load(w + c));
    for (; c < C; c++)
        y[c] = x[c] * rstd * w[c];
    t->rstd[r] = rstd;
}

static void rmsnorm_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct rmsnorm *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++)
        rmsnorm_row(t, r);
}

void tri_fast_rmsnorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor rstd,
                      struct tri_tensor x, struct tri_tensor weight, float eps)
{
    struct rmsnorm t = {.y = tri_rows_of(y),
                        .x = tri_rows_of(x),
                        .rstd = tri_tensor_f32(&rstd),
                        .weight = tri_tensor_f32(&weight),
                        .eps = eps};
    t.cut = fast_cut_rows(t.x.num, t.x.columns);
    tri_team_run(q->team, rmsnorm_task, &t, t.cut.num_tasks);
}

/* Adds the row's share to dweight (NULL: not wanted); returns the sum of g xhat. */
static float rmsnorm_row_sums(const struct rmsnorm *t, int64_t r, float *dweight)
{
    const float *x = tri_rows_get(&t->x, r), *dy = tri_rows_get(&t->dy, r), *w = t->weight;
    float rstd = t->rstd[r], tail = 0;
    v8f s = v8_set(rstd), lanes = v8_set(0);
    int64_t C = t->x.columns, c = 0;
    for (; c + V8 <= C; c += V8) {
        v8f d = v8_load(dy + c), xhat = v8_load(x + c) * s;
        lanes += d * v8_load(w + c) * xhat;
        if (dweight)
            v8_store(dweight + c, v8_load(dweight + c) + d * xhat);
    }
    for (; c < C; c++) {
        float xhat = x[c] * rstd;
        tail += dy[c] * w[c] * xhat;
        if (dweight)
            dweight[c] += dy[c] * xhat;
    }
    return v8_sum(lanes) + tail;
}

/* dx = rstd * (g - xhat * mean(g * xhat)) */
static void rmsnorm_row_dx(const struct rmsnorm *t, int64_t r, float mean_gx)
{
    const float *x = tri_rows_get(&t->x, r), *dy = tri_rows_get(&t->dy, r), *w = t->weight;
    float *dx = tri_rows_get(&t->y, r), rstd = t->rstd[r];
    v8f s = v8_set(rstd), mgx = v8_set(mean_gx);
    int64_t C = t->x.columns, c = 0;
    for (; c + V8 <= C; c += V8)
        v8_store(dx + c, s * (v8_load(dy + c) * v8_load(w + c) - v8_load(x + c) * s * mgx));
    for (; c < C; c++)
        dx[c] = rstd * (dy[c] * w[c] - x[c] * rstd * mean_gx);
}

static void rmsnorm_backward_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct rmsnorm *t = arg;
    int64_t C = t->x.columns, first = task * t->block_rows;
    int64_t end = cut_min(first + t->block_rows, t->x.num);
    float *dweight = t->dweight ? t->dweight + task * t->stride : NULL;
    if (dweight)
        memset(dweight, 0, (size_t)C * sizeof(*dweight));
    for (int64_t r = first; r < end; r++)
        rmsnorm_row_dx(t, r, rmsnorm_row_sums(t, r, dweight) / (float)C);
}

void tri_fast_rmsnorm_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dweight,
                               struct tri_tensor dy, struct tri_tensor x, struct tri_tensor rstd,
                               struct tri_tensor weight, void *workspace)
{
    struct rmsnorm t = {.y = tri_rows_of(dx),
                        .x = tri_rows_of(x),
                        .dy = tri_rows_of(dy),
                        .rstd = tri_tensor_f32(&rstd),
                        .weight = tri_tensor_f32(&weight),
                        .dweight = dweight.data ? workspace : NULL};
    int64_t num = fast_num_blocks(t.x.num), C = t.x.columns;
    if (num == 0)
        return;
    t.block_rows = fast_block_rows(t.x.num);
    t.stride = fast_partial_stride(C);
    tri_team_run(q->team, rmsnorm_backward_task, &t, num);
    if (t.dweight)
        tri_fast_add_partials(q->team, tri_tensor_f32(&dweight), t.dweight, num, t.stride, C);
}

size_t tri_fast_rmsnorm_backward_bytes(int64_t R, int64_t C, int team_size)
{
    (void)team_size;
    return fast_partial_bytes(R, C, 1);
}
