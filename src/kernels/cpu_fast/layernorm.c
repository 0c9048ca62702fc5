/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LayerNorm, a row at a time in cache: mean, then the squares about it, in 32 fp32 lanes. Backward
 * goes over fixed blocks of rows, each with its own partial gradients of weight and bias.
 */
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/cpu_fast/row_sum.h"
#include "kernels/rows.h"

struct layernorm {
    struct tri_rows y, x, dy; /* y is dx in backward */
    float *mean, *rstd;
    const float *weight, *bias;
    float eps;
    float *dweight, *dbias; /* partial [num_blocks, stride], NULL: not wanted */
    int64_t block_rows, stride;
    struct fast_cut cut;
};

static void layernorm_row(const struct layernorm *t, int64_t r)
{
    const float *x = tri_rows_get(&t->x, r), *w = t->weight, *b = t->bias;
    float *y = tri_rows_get(&t->y, r);
    int64_t C = t->x.columns, c = 0;
    float mean = row_sum(x, C) / (float)C;
    float rstd = 1 / sqrtf(row_sum_squares(x, mean, C) / (float)C + t->eps);
    v8f m = v8_set(mean), s = v8_set(rstd);
    for (; c + V8 <= C; c += V8) {
        v8f base = b ? v8_load(b + c) : v8_set(0.0f);
        v8_store(y + c, (v8_load(x + c) - m) * s * v8_load(w + c) + base);
    }
    for (; c < C; c++)
        y[c] = (x[c] - mean) * rstd * w[c] + (b ? b[c] : 0);
    t->mean[r] = mean;
    t->rstd[r] = rstd;
}

static void layernorm_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct layernorm *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++)
        layernorm_row(t, r);
}

void tri_fast_layernorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor mean,
                        struct tri_tensor rstd, struct tri_tensor x, struct tri_tensor weight,
                        struct tri_tensor bias, float eps)
{
    struct layernorm t = {.y = tri_rows_of(y),
                          .x = tri_rows_of(x),
                          .mean = tri_tensor_f32(&mean),
                          .rstd = tri_tensor_f32(&rstd),
                          .weight = tri_tensor_f32(&weight),
                          .bias = tri_tensor_f32(&bias),
                          .eps = eps};
    t.cut = fast_cut_rows(t.x.num, t.x.columns);
    tri_team_run(q->team, layernorm_task, &t, t.cut.num_tasks);
}

/* Adds the row's share to dweight and dbias (NULL: not wanted); gives the sums of g and g xhat. */
static void layernorm_row_sums(const struct layernorm *t, int64_t r, float *dweight, float *dbias,
                               float *sum_g, float *sum_gx)
{
    const float *x = tri_rows_get(&t->x, r), *dy = tri_rows_get(&t->dy, r), *w = t->weight;
    float mean = t->mean[r], rstd = t->rstd[r], tail_g = 0, tail_gx = 0;
    v8f m = v8_set(mean), s = v8_set(rstd), g_lanes = v8_set(0), gx_lanes = v8_set(0);
    int64_t C = t->x.columns, c = 0;
    for (; c + V8 <= C; c += V8) {
        v8f d = v8_load(dy + c), xhat = (v8_load(x + c) - m) * s, g = d * v8_load(w + c);
        g_lanes += g;
        gx_lanes += g * xhat;
        if (dweight)
            v8_store(dweight + c, v8_load(dweight + c) + d * xhat);
        if (dbias)
            v8_store(dbias + c, v8_load(dbias + c) + d);
    }
    for (; c < C; c++) {
        float xhat = (x[c] - mean) * rstd, g = dy[c] * w[c];
        tail_g += g;
        tail_gx += g * xhat;
        if (dweight)
            dweight[c] += dy[c] * xhat;
        if (dbias)
            dbias[c] += dy[c];
    }
    *sum_g = v8_sum(g_lanes) + tail_g;
    *sum_gx = v8_sum(gx_lanes) + tail_gx;
}

/* dx = rstd * (g - mean(g) - xhat * mean(g * xhat)) */
static void layernorm_row_dx(const struct layernorm *t, int64_t r, float mean_g, float mean_gx)
{
    const float *x = tri_rows_get(&t->x, r), *dy = tri_rows_get(&t->dy, r), *w = t->weight;
    float *dx = tri_rows_get(&t->y, r), mean = t->mean[r], rstd = t->rstd[r];
    v8f m = v8_set(mean), s = v8_set(rstd), mg = v8_set(mean_g), mgx = v8_set(mean_gx);
    int64_t C = t->x.columns, c = 0;
    for (; c + V8 <= C; c += V8) {
        v8f xhat = (v8_load(x + c) - m) * s;
        v8_store(dx + c, s * (v8_load(dy + c) * v8_load(w + c) - mg - xhat * mgx));
    }
    for (; c < C; c++)
        dx[c] = rstd * (dy[c] * w[c] - mean_g - (x[c] - mean) * rstd * mean_gx);
}

static void layernorm_backward_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct layernorm *t = arg;
    int64_t C = t->x.columns, first = task * t->block_rows;
    int64_t end = cut_min(first + t->block_rows, t->x.num);
    float *dweight = t->dweight ? t->dweight + task * t->stride : NULL;
    float *dbias = t->dbias ? t->dbias + task * t->stride : NULL;
    if (dweight)
        memset(dweight, 0, (size_t)C * sizeof(*dweight));
    if (dbias)
        memset(dbias, 0, (size_t)C * sizeof(*dbias));
    for (int64_t r = first; r < end; r++) {
        float sum_g, sum_gx;
        layernorm_row_sums(t, r, dweight, dbias, &sum_g, &sum_gx);
        layernorm_row_dx(t, r, sum_g / (float)C, sum_gx / (float)C);
    }
}

void tri_fast_layernorm_backward(struct tri_queue *q, struct tri_tensor dx,
                                 struct tri_tensor dweight, struct tri_tensor dbias,
                                 struct tri_tensor dy, struct tri_tensor x, struct tri_tensor mean,
                                 struct tri_tensor rstd, struct tri_tensor weight, void *workspace)
{
    struct layernorm t = {.y = tri_rows_of(dx),
                          .x = tri_rows_of(x),
                          .dy = tri_rows_of(dy),
                          .mean = tri_tensor_f32(&mean),
                          .rstd = tri_tensor_f32(&rstd),
                          .weight = tri_tensor_f32(&weight)};
    int64_t num = fast_num_blocks(t.x.num), C = t.x.columns;
    if (num == 0)
        return;
    t.block_rows = fast_block_rows(t.x.num);
    t.stride = fast_partial_stride(C);
    t.dweight = dweight.data ? workspace : NULL;
    t.dbias = dbias.data ? (float *)workspace + num * t.stride : NULL;
    tri_team_run(q->team, layernorm_backward_task, &t, num);
    if (t.dweight)
        tri_fast_add_partials(q->team, tri_tensor_f32(&dweight), t.dweight, num, t.stride, C);
    if (t.dbias)
        tri_fast_add_partials(q->team, tri_tensor_f32(&dbias), t.dbias, num, t.stride, C);
}

size_t tri_fast_layernorm_backward_bytes(int64_t R, int64_t C, int team_size)
{
    (void)team_size;
    return fast_partial_bytes(R, C, 2);
}
