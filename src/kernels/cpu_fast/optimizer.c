/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum of squares per block, in eight fp64 lanes, and Adam. An element's bits do not depend on
 * where its shard begins: tails go through the same vector instructions.
 */
#include "base/exact_sum.h"
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/rows.h"

#define BLOCKS 32 /* norm blocks per task */

typedef float v4f __attribute__((vector_size(16)));

static int64_t optimizer_count(struct tri_tensor t)
{
    struct tri_rows rows = tri_rows_of(t);
    TRI_ASSERT(rows.num <= 1 || (rows.is_regular && rows.stride == rows.columns));
    return rows.num * rows.columns;
}

struct sum_squares {
    const float *x;
    double *block; /* [ceil(n / TRI_NORM_BLOCK)] */
    int64_t n;
    double factor;
};

static v4d squares4(const float *x, v4d factor, v4d sum)
{
    v4f single;
    memcpy(&single, x, sizeof(single));
    v4d scaled = __builtin_convertvector(single, v4d) * factor;
    return sum + scaled * scaled;
}

/* Lane i sums elements i, i + 8, ..; lanes are added in pairs (0+4, ..), then 0+2 and 1+3. */
static double sum_squares_block(const float *x, int64_t n, double factor)
{
    v4d f = {factor, factor, factor, factor}, even = {0}, odd = {0};
    int64_t i = 0;
    for (; i + V8 <= n; i += V8) {
        even = squares4(x + i, f, even);
        odd = squares4(x + i + 4, f, odd);
    }
    if (i < n) {
        float tail[V8];
        v8_store(tail, v8_load_part(x + i, n - i, 0));
        even = squares4(tail, f, even);
        odd = squares4(tail + 4, f, odd);
    }
    v4d sum = even + odd;
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

static void sum_squares_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct sum_squares *t = arg;
    int64_t num = cut_ceil(t->n, TRI_NORM_BLOCK);
    for (int64_t i = task * BLOCKS; i < cut_min((task + 1) * BLOCKS, num); i++) {
        int64_t first = i * TRI_NORM_BLOCK;
        t->block[i] =
            sum_squares_block(t->x + first, cut_min(TRI_NORM_BLOCK, t->n - first), t->factor);
    }
}

void tri_fast_sum_squares(struct tri_queue *q, struct tri_exact_sum *sum, struct tri_tensor x,
                          double factor, void *workspace)
{
    struct sum_squares t = {
        .x = tri_tensor_f32(&x), .block = workspace, .n = optimizer_count(x), .factor = factor};
    int64_t num = cut_ceil(t.n, TRI_NORM_BLOCK);
    tri_team_run(q->team, sum_squares_task, &t, cut_ceil(num, BLOCKS));
    for (int64_t i = 0; i < num; i++)
        tri_exact_sum_add(sum, t.block[i]);
}

size_t tri_fast_sum_squares_bytes(int64_t n, int team_size)
{
    (void)team_size;
    return (size_t)cut_ceil(n, TRI_NORM_BLOCK) * sizeof(double);
}

struct adam {
    float *p, *m, *v;
    const float *g;
    float grad_factor;
    const struct tri_adam *adam;
    struct fast_cut cut;
};

/* One vector of (p, m, v), updated by gradient g. */
static inline void adam_update(const struct adam *t, v8f g, v8f *p, v8f *m, v8f *v)
{
    const struct tri_adam *a = t->adam;
    g = g * v8_set(t->grad_factor);
    *m = v8_set(a->beta1) * *m + v8_set(1 - a->beta1) * g;
    *v = v8_set(a->beta2) * *v + v8_set(1 - a->beta2) * g * g;
    v8f root = v8_sqrt(*v * v8_set(1 / a->bias2)) + v8_set(a->eps);
    v8f step = *m * v8_set(1 / a->bias1) / root;
    *p = *p - v8_set(a->lr) * (step + v8_set(a->weight_decay) * *p);
}

static void adam_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct adam *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    int64_t i = piece.first_column, end = i + piece.count;
    for (; i + V8 <= end; i += V8) {
        v8f p = v8_load(t->p + i), m = v8_load(t->m + i), v = v8_load(t->v + i);
        adam_update(t, v8_load(t->g + i), &p, &m, &v);
        v8_store(t->p + i, p);
        v8_store(t->m + i, m);
        v8_store(t->v + i, v);
    }
    int64_t n = end - i;
    if (n > 0) {
        v8f p = v8_load_part(t->p + i, n, 0), m = v8_load_part(t->m + i, n, 0);
        v8f v = v8_load_part(t->v + i, n, 0);
        adam_update(t, v8_load_part(t->g + i, n, 0), &p, &m, &v);
        v8_store_part(t->p + i, p, n);
        v8_store_part(t->m + i, m, n);
        v8_store_part(t->v + i, v, n);
    }
}

void tri_fast_adam(struct tri_queue *q, struct tri_tensor p, struct tri_tensor m,
                   struct tri_tensor v, struct tri_tensor g, float grad_factor,
                   const struct tri_adam *adam)
{
    struct adam t = {.p = tri_tensor_f32(&p),
                     .m = tri_tensor_f32(&m),
                     .v = tri_tensor_f32(&v),
                     .g = tri_tensor_f32(&g),
                     .grad_factor = grad_factor,
                     .adam = adam};
    t.cut = fast_cut(1, optimizer_count(p));
    tri_team_run(q->team, adam_task, &t, t.cut.num_tasks);
}
