/* SPDX-License-Identifier: Apache-2.0 */
/* A gate and its gradients, bound by memory: eight elements at a time, cut over rows and columns. */
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/cpu_fast/vmath.h"
#include "kernels/rows.h"

struct gate {
    struct tri_rows y, x, gate;
    struct tri_rows dy, dgate; /* backward, where y is dx */
    struct fast_cut cut;
};

/* Where a row's piece lies. */
struct gate_row {
    float *y, *dgate;
    const float *x, *gate, *dy;
};

static struct gate_row gate_row(const struct gate *t, int64_t r, int64_t first, bool is_backward)
{
    struct gate_row row = {.y = tri_rows_get(&t->y, r) + first,
                           .x = tri_rows_get(&t->x, r) + first,
                           .gate = tri_rows_get(&t->gate, r) + first};
    if (is_backward) {
        row.dgate = tri_rows_get(&t->dgate, r) + first;
        row.dy = tri_rows_get(&t->dy, r) + first;
    }
    return row;
}

static void gate_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct gate *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        struct gate_row row = gate_row(t, r, piece.first_column, false);
        int64_t c = 0, n = piece.count;
        v8f rest;
        for (; c + V8 <= n; c += V8)
            v8_store(row.y + c, v8_load(row.x + c) * v8_logistic(v8_load(row.gate + c), &rest));
        if (c < n)
            v8_store_part(row.y + c,
                          v8_load_part(row.x + c, n - c, 0) *
                              v8_logistic(v8_load_part(row.gate + c, n - c, 0), &rest),
                          n - c);
    }
}

void tri_fast_gate(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                   struct tri_tensor gate)
{
    struct gate t = {.y = tri_rows_of(y), .x = tri_rows_of(x), .gate = tri_rows_of(gate)};
    t.cut = fast_cut(t.y.num, t.y.columns);
    tri_team_run(q->team, gate_task, &t, t.cut.num_tasks);
}

/* *dx = dy s, the result is dgate = dy x s (1 - s), s = logistic(gate) */
static inline v8f gate_gradient(v8f dy, v8f x, v8f gate, v8f *dx)
{
    v8f rest, s = v8_logistic(gate, &rest);
    *dx = dy * s;
    return *dx * x * rest;
}

static void gate_backward_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct gate *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        struct gate_row row = gate_row(t, r, piece.first_column, true);
        int64_t c = 0, n = piece.count;
        v8f dx, dgate;
        for (; c + V8 <= n; c += V8) {
            dgate =
                gate_gradient(v8_load(row.dy + c), v8_load(row.x + c), v8_load(row.gate + c), &dx);
            v8_store(row.dgate + c, dgate);
            v8_store(row.y + c, dx);
        }
        if (c < n) {
            dgate =
                gate_gradient(v8_load_part(row.dy + c, n - c, 0), v8_load_part(row.x + c, n - c, 0),
                              v8_load_part(row.gate + c, n - c, 0), &dx);
            v8_store_part(row.dgate + c, dgate, n - c);
            v8_store_part(row.y + c, dx, n - c);
        }
    }
}

void tri_fast_gate_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dgate,
                            struct tri_tensor dy, struct tri_tensor x, struct tri_tensor gate)
{
    struct gate t = {.y = tri_rows_of(dx),
                     .x = tri_rows_of(x),
                     .gate = tri_rows_of(gate),
                     .dy = tri_rows_of(dy),
                     .dgate = tri_rows_of(dgate)};
    t.cut = fast_cut(t.y.num, t.y.columns);
    tri_team_run(q->team, gate_backward_task, &t, t.cut.num_tasks);
}
