/* SPDX-License-Identifier: Apache-2.0 */
/* Fill, copy, add, scale, soft cap and the search for NaN: bound by memory, cut over rows and columns. */
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/cpu_fast/vmath.h"
#include "kernels/rows.h"

#include <stdatomic.h>

struct elementwise {
    struct tri_rows y, a, b;
    int64_t y_step, a_step; /* of the last dim; copy only */
    float scalar;
    struct fast_cut cut;
    _Atomic int64_t first_bad; /* find_non_finite only */
};

static void elementwise_run(struct tri_queue *q, tri_task_fn *fn, struct elementwise *t)
{
    t->cut = fast_cut(t->y.num, t->y.columns);
    tri_team_run(q->team, fn, t, t->cut.num_tasks);
}

static void fill_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct elementwise *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        float *y = tri_rows_get(&t->y, r) + piece.first_column;
        for (int64_t c = 0; c < piece.count; c++)
            y[c] = t->scalar;
    }
}

void tri_fast_fill(struct tri_queue *q, struct tri_tensor y, float value)
{
    struct elementwise t = {.y = tri_rows_of(y), .scalar = value};
    elementwise_run(q, fill_task, &t);
}

static void copy_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct elementwise *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    bool is_dense = t->y_step == 1 && t->a_step == 1;
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        float *y = tri_rows_get(&t->y, r) + piece.first_column * t->y_step;
        const float *a = tri_rows_get(&t->a, r) + piece.first_column * t->a_step;
        if (is_dense)
            memmove(y, a, (size_t)piece.count * sizeof(*y));
        else
            for (int64_t c = 0; c < piece.count; c++)
                y[c * t->y_step] = a[c * t->a_step];
    }
}

void tri_fast_copy(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x)
{
    struct elementwise t = {.y = tri_rows_of(y), .a = tri_rows_of(x)};
    t.y_step = y.num_dims > 0 ? y.strides[y.num_dims - 1] : 1;
    t.a_step = x.num_dims > 0 ? x.strides[x.num_dims - 1] : 1;
    elementwise_run(q, copy_task, &t);
}

static void add_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct elementwise *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        float *y = tri_rows_get(&t->y, r) + piece.first_column;
        const float *a = tri_rows_get(&t->a, r) + piece.first_column;
        const float *b = tri_rows_get(&t->b, r) + piece.first_column;
        for (int64_t c = 0; c < piece.count; c++)
            y[c] = a[c] + b[c];
    }
}

void tri_fast_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor a,
                  struct tri_tensor b)
{
    struct elementwise t = {.y = tri_rows_of(y), .a = tri_rows_of(a), .b = tri_rows_of(b)};
    elementwise_run(q, add_task, &t);
}

static void scale_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct elementwise *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        float *y = tri_rows_get(&t->y, r) + piece.first_column;
        const float *a = tri_rows_get(&t->a, r) + piece.first_column;
        for (int64_t c = 0; c < piece.count; c++)
            y[c] = t->scalar * a[c];
    }
}

void tri_fast_scale(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float alpha)
{
    struct elementwise t = {.y = tri_rows_of(y), .a = tri_rows_of(x), .scalar = alpha};
    elementwise_run(q, scale_task, &t);
}

static void softcap_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct elementwise *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    v8f cap = v8_set(t->scalar), inverse = v8_set(1 / t->scalar);
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        float *y = tri_rows_get(&t->y, r) + piece.first_column;
        const float *x = tri_rows_get(&t->a, r) + piece.first_column;
        int64_t c = 0;
        for (; c + V8 <= piece.count; c += V8)
            v8_store(y + c, cap * v8_tanh(v8_load(x + c) * inverse));
        if (c < piece.count)
            v8_store_part(y + c, cap * v8_tanh(v8_load_part(x + c, piece.count - c, 0) * inverse),
                          piece.count - c);
    }
}

void tri_fast_softcap(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float cap)
{
    struct elementwise t = {.y = tri_rows_of(y), .a = tri_rows_of(x), .scalar = cap};
    elementwise_run(q, softcap_task, &t);
}

/* Index in x[0 .. n - 1] of the first element whose exponent is all ones, or -1. */
static int64_t find_in_row(const float *x, int64_t n)
{
    const int32_t exponent = 0x7f800000;
    int32_t bad = 0;
    for (int64_t c = 0; c < n; c++) {
        int32_t bits;
        memcpy(&bits, x + c, sizeof(bits));
        bad |= (bits & exponent) == exponent;
    }
    for (int64_t c = 0; bad && c < n; c++)
        if (!isfinite(x[c]))
            return c;
    return -1;
}

static void find_task(void *arg, int64_t task, int member)
{
    (void)member;
    struct elementwise *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        int64_t c = find_in_row(tri_rows_get(&t->y, r) + piece.first_column, piece.count);
        if (c < 0)
            continue;
        int64_t index = r * t->cut.C + piece.first_column + c;
        int64_t first = atomic_load(&t->first_bad);
        while (index < first && !atomic_compare_exchange_weak(&t->first_bad, &first, index))
            ;
        return;
    }
}

/* The least index wins, so the order of the tasks does not matter. */
int64_t tri_fast_find_non_finite(struct tri_queue *q, struct tri_tensor x)
{
    struct elementwise t = {.y = tri_rows_of(x)};
    atomic_init(&t.first_bad, INT64_MAX);
    elementwise_run(q, find_task, &t);
    int64_t first = atomic_load(&t.first_bad);
    return first == INT64_MAX ? -1 : first;
}
