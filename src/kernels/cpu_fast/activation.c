/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise nonlinearities and their slopes, eight elements at a time: one inline body per
 * direction, compiled once for each kind.
 */
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/cpu_fast/vmath.h"
#include "kernels/rows.h"

#define INV_SQRT_TWO_PI      0.39894228040143267794f
#define TWO_SQRT_TWO_OVER_PI 1.59576912160573071176f
#define GELU_TANH_CUBIC      0.044715f
#define QUICK_GELU           1.702f
/* Beyond this the tanh form is flat; larger values would overflow in its cube. */
#define GELU_TANH_FLAT 20.0f

/* Compiled once for each constant kind, gate (NULL: nothing is cut or moved) and whole vector. */
#define INLINE static inline __attribute__((always_inline))

struct activation {
    struct tri_rows y, x, dy; /* y is dx in backward */
    const struct tri_activation_form *form;
    struct fast_cut cut;
};

/* How a gated kind sees gate and up: bounds, infinite where there are none, and what is added to up. */
struct activation_gate {
    v8f clamp, offset;
};

/* A NaN stays one. */
INLINE v8f activation_up(const struct activation_gate *gate, v8f up)
{
    return v8_max(v8_set(0.0f) - gate->clamp, v8_min(gate->clamp, up)) + gate->offset;
}

/* tanh form: 0.5 (1 + tanh u) = logistic(2 u) */
INLINE v8f activation_gelu_tanh(v8f x, v8f *slope)
{
    v8f flat = v8_set(GELU_TANH_FLAT);
    v8f near = v8_max(v8_set(0.0f) - flat, v8_min(flat, x));
    v8f square = v8_set(GELU_TANH_CUBIC) * near * near, rest;
    v8f two_u = v8_set(TWO_SQRT_TWO_OVER_PI) * near * (v8_set(1.0f) + square);
    v8f s = v8_logistic(two_u, &rest);
    v8f du = v8_set(TWO_SQRT_TWO_OVER_PI) * (v8_set(1.0f) + v8_set(3.0f) * square);
    *slope = s + near * s * rest * du;
    return x * s;
}

/* f(x) and *slope = f'(x); kind is a plain one. */
INLINE v8f activation_value(enum tri_activation kind, v8f x, v8f *slope)
{
    v8f rest, density;
    if (kind == TRI_ACTIVATION_GELU) {
        v8f phi = v8_normal(x, &density);
        *slope = phi + x * v8_set(INV_SQRT_TWO_PI) * density;
        return x * phi;
    }
    if (kind == TRI_ACTIVATION_GELU_TANH)
        return activation_gelu_tanh(x, slope);
    if (kind == TRI_ACTIVATION_SILU || kind == TRI_ACTIVATION_QUICK_GELU) {
        v8f steep = kind == TRI_ACTIVATION_SILU ? x : v8_set(QUICK_GELU) * x;
        v8f s = v8_logistic(steep, &rest);
        *slope = s + steep * s * rest;
        return x * s;
    }
    v8i is_negative = x < v8_set(0.0f);
    v8f positive = v8_select(is_negative, v8_set(0.0f), x);
    if (kind == TRI_ACTIVATION_SQUARED_RELU) {
        *slope = positive + positive;
        return positive * positive;
    }
    *slope = v8_select(x > v8_set(0.0f), v8_set(1.0f), v8_set(0.0f));
    return positive;
}

INLINE v8f activation_load(const float *p, int64_t n)
{
    return n >= V8 ? v8_load(p) : v8_load_part(p, n, 0);
}

INLINE void activation_store(float *p, v8f v, int64_t n)
{
    if (n >= V8)
        v8_store(p, v);
    else
        v8_store_part(p, v, n);
}

/* The first n <= 8 elements. */
INLINE void activation_block(enum tri_activation kind, const struct activation_gate *gate, float *y,
                             const float *x, const float *up, int64_t n)
{
    v8f slope, xc = activation_load(x, n);
    if (!up) {
        activation_store(y, activation_value(kind, xc, &slope), n);
        return;
    }
    v8f u = activation_load(up, n);
    v8f value = activation_value(kind, gate ? v8_min(gate->clamp, xc) : xc, &slope);
    activation_store(y, value * (gate ? activation_up(gate, u) : u), n);
}

INLINE void activation_row(enum tri_activation kind, const struct activation_gate *gate, float *y,
                           const float *x, const float *up, int64_t n)
{
    int64_t c = 0;
    for (; c + V8 <= n; c += V8)
        activation_block(kind, gate, y + c, x + c, up ? up + c : NULL, V8);
    if (c < n)
        activation_block(kind, gate, y + c, x + c, up ? up + c : NULL, n - c);
}

/* Where a row lies; up and dup NULL unless the kind is gated. */
struct activation_grad {
    float *dx, *dup;
    const float *dy, *x, *up;
};

INLINE void activation_block_backward(enum tri_activation kind, const struct activation_gate *gate,
                                      const struct activation_grad *row, int64_t c, int64_t n)
{
    v8f slope, zero = v8_set(0.0f);
    v8f g = activation_load(row->dy + c, n), xc = activation_load(row->x + c, n);
    if (!row->up) {
        activation_value(kind, xc, &slope);
        activation_store(row->dx + c, g * slope, n);
        return;
    }
    v8f u = activation_load(row->up + c, n);
    v8f value = activation_value(kind, gate ? v8_min(gate->clamp, xc) : xc, &slope);
    v8f dgate = g * (gate ? activation_up(gate, u) : u) * slope, du = g * value;
    if (gate) {
        dgate = v8_select(xc > gate->clamp, zero, dgate);
        du = v8_select(v8_abs(u) > gate->clamp, zero, du);
    }
    activation_store(row->dup + c, du, n);
    activation_store(row->dx + c, dgate, n);
}

INLINE void activation_row_backward(enum tri_activation kind, const struct activation_gate *gate,
                                    const struct activation_grad *row, int64_t n)
{
    int64_t c = 0;
    for (; c + V8 <= n; c += V8)
        activation_block_backward(kind, gate, row, c, V8);
    if (c < n)
        activation_block_backward(kind, gate, row, c, n - c);
}

/* One call per kind, so that the compiler sees a constant. */
INLINE void activation_kinds(enum tri_activation kind, const struct activation_gate *gate, float *y,
                             const float *x, const float *up, int64_t n)
{
    if (kind == TRI_ACTIVATION_GELU)
        activation_row(TRI_ACTIVATION_GELU, gate, y, x, up, n);
    else if (kind == TRI_ACTIVATION_GELU_TANH)
        activation_row(TRI_ACTIVATION_GELU_TANH, gate, y, x, up, n);
    else if (kind == TRI_ACTIVATION_SILU)
        activation_row(TRI_ACTIVATION_SILU, gate, y, x, up, n);
    else if (kind == TRI_ACTIVATION_QUICK_GELU)
        activation_row(TRI_ACTIVATION_QUICK_GELU, gate, y, x, up, n);
    else if (kind == TRI_ACTIVATION_RELU)
        activation_row(TRI_ACTIVATION_RELU, gate, y, x, up, n);
    else
        activation_row(TRI_ACTIVATION_SQUARED_RELU, gate, y, x, up, n);
}

INLINE void activation_kinds_backward(enum tri_activation kind, const struct activation_gate *gate,
                                      const struct activation_grad *row, int64_t n)
{
    if (kind == TRI_ACTIVATION_GELU)
        activation_row_backward(TRI_ACTIVATION_GELU, gate, row, n);
    else if (kind == TRI_ACTIVATION_GELU_TANH)
        activation_row_backward(TRI_ACTIVATION_GELU_TANH, gate, row, n);
    else if (kind == TRI_ACTIVATION_SILU)
        activation_row_backward(TRI_ACTIVATION_SILU, gate, row, n);
    else if (kind == TRI_ACTIVATION_QUICK_GELU)
        activation_row_backward(TRI_ACTIVATION_QUICK_GELU, gate, row, n);
    else if (kind == TRI_ACTIVATION_RELU)
        activation_row_backward(TRI_ACTIVATION_RELU, gate, row, n);
    else
        activation_row_backward(TRI_ACTIVATION_SQUARED_RELU, gate, row, n);
}

static bool activation_is_cut(const struct tri_activation_form *form)
{
    return form->clamp > 0 || form->offset != 0;
}

static struct activation_gate activation_gate(const struct tri_activation_form *form)
{
    float clamp = form->clamp > 0 ? form->clamp : INFINITY;
    return (struct activation_gate){.clamp = v8_set(clamp), .offset = v8_set(form->offset)};
}

static void activation_any(const struct tri_activation_form *form, float *y, const float *x,
                           const float *up, int64_t n)
{
    enum tri_activation kind = tri_activation_inner(form->kind);
    struct activation_gate gate = activation_gate(form);
    if (activation_is_cut(form))
        activation_kinds(kind, &gate, y, x, up, n);
    else
        activation_kinds(kind, NULL, y, x, up, n);
}

static void activation_any_backward(const struct tri_activation_form *form,
                                    const struct activation_grad *row, int64_t n)
{
    enum tri_activation kind = tri_activation_inner(form->kind);
    struct activation_gate gate = activation_gate(form);
    if (activation_is_cut(form))
        activation_kinds_backward(kind, &gate, row, n);
    else
        activation_kinds_backward(kind, NULL, row, n);
}

static void activation_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct activation *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        const float *x = tri_rows_get(&t->x, r) + piece.first_column;
        const float *up = tri_activation_is_gated(t->form->kind) ? x + t->cut.C : NULL;
        activation_any(t->form, tri_rows_get(&t->y, r) + piece.first_column, x, up, piece.count);
    }
}

void tri_fast_activation(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                         const struct tri_activation_form *form)
{
    struct activation t = {.y = tri_rows_of(y), .x = tri_rows_of(x), .form = form};
    t.cut = fast_cut(t.y.num, t.y.columns);
    tri_team_run(q->team, activation_task, &t, t.cut.num_tasks);
}

static void activation_backward_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct activation *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    bool is_gated = tri_activation_is_gated(t->form->kind);
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        float *dx = tri_rows_get(&t->y, r) + piece.first_column;
        const float *x = tri_rows_get(&t->x, r) + piece.first_column;
        struct activation_grad row = {.dx = dx,
                                      .dup = is_gated ? dx + t->cut.C : NULL,
                                      .dy = tri_rows_get(&t->dy, r) + piece.first_column,
                                      .x = x,
                                      .up = is_gated ? x + t->cut.C : NULL};
        activation_any_backward(t->form, &row, piece.count);
    }
}

void tri_fast_activation_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                                  struct tri_tensor x, const struct tri_activation_form *form)
{
    struct activation t = {
        .y = tri_rows_of(dx), .x = tri_rows_of(x), .dy = tri_rows_of(dy), .form = form};
    t.cut = fast_cut(t.dy.num, t.dy.columns);
    tri_team_run(q->team, activation_backward_task, &t, t.cut.num_tasks);
}
