/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise nonlinearities f and their derivatives, evaluated in double. The gated kinds read a
 * row [gate | up] and give f(gate) * up, either cut and up moved where the form says so.
 */
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/rows.h"

#include <math.h>

#define SQRT_HALF        0.70710678118654752440
#define INV_SQRT_TWO_PI  0.39894228040143267794
#define SQRT_TWO_OVER_PI 0.79788456080286535588
#define GELU_TANH_CUBIC  0.044715
#define QUICK_GELU       1.702

static double activation_value(enum tri_activation kind, double x)
{
    if (kind == TRI_ACTIVATION_GELU) /* x * Phi(x) */
        return 0.5 * x * erfc(-x * SQRT_HALF);
    if (kind == TRI_ACTIVATION_GELU_TANH)
        return 0.5 * x * (1 + tanh(SQRT_TWO_OVER_PI * (x + GELU_TANH_CUBIC * x * x * x)));
    if (kind == TRI_ACTIVATION_SILU)
        return x / (1 + exp(-x));
    if (kind == TRI_ACTIVATION_QUICK_GELU)
        return x / (1 + exp(-QUICK_GELU * x));
    double positive = x < 0 ? 0 : x;
    return kind == TRI_ACTIVATION_SQUARED_RELU ? positive * positive : positive;
}

static double activation_slope(enum tri_activation kind, double x)
{
    if (kind == TRI_ACTIVATION_GELU) /* Phi(x) + x * phi(x) */
        return 0.5 * erfc(-x * SQRT_HALF) + x * INV_SQRT_TWO_PI * exp(-0.5 * x * x);
    if (kind == TRI_ACTIVATION_GELU_TANH) {
        double t = tanh(SQRT_TWO_OVER_PI * (x + GELU_TANH_CUBIC * x * x * x));
        double inner = SQRT_TWO_OVER_PI * (1 + 3 * GELU_TANH_CUBIC * x * x);
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner;
    }
    if (kind == TRI_ACTIVATION_SILU) {
        double s = 1 / (1 + exp(-x));
        return s * (1 + x * (1 - s));
    }
    if (kind == TRI_ACTIVATION_QUICK_GELU) {
        double s = 1 / (1 + exp(-QUICK_GELU * x));
        return s * (1 + QUICK_GELU * x * (1 - s));
    }
    if (kind == TRI_ACTIVATION_SQUARED_RELU)
        return x > 0 ? 2 * x : 0;
    return x > 0 ? 1 : 0;
}

/* What f and the product of a gated kind see of a gate and of its partner. */
static double gate_of(const struct tri_activation_form *form, double gate)
{
    return form->clamp > 0 && gate > (double)form->clamp ? (double)form->clamp : gate;
}

static double up_of(const struct tri_activation_form *form, double up)
{
    double clamp = form->clamp, cut = up;
    if (clamp > 0)
        cut = up > clamp ? clamp : up < -clamp ? -clamp : up;
    return cut + (double)form->offset;
}

void tri_ref_activation(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                        const struct tri_activation_form *form)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y), xr = tri_rows_of(x);
    enum tri_activation f = tri_activation_inner(form->kind);
    bool is_gated = tri_activation_is_gated(form->kind);
    int64_t C = yr.columns;
    for (int64_t r = 0; r < yr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        const float *xp = tri_rows_get(&xr, r);
        for (int64_t c = 0; c < C; c++)
            yp[c] =
                is_gated
                    ? (float)(activation_value(f, gate_of(form, xp[c])) * up_of(form, xp[C + c]))
                    : (float)activation_value(f, xp[c]);
    }
}

/* plain: dx = dy f'(x); gated: dgate = dy up f'(gate), dup = dy f(gate), both of what was cut; 0 where it
   was */
void tri_ref_activation_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                                 struct tri_tensor x, const struct tri_activation_form *form)
{
    (void)q;
    struct tri_rows dxr = tri_rows_of(dx), dyr = tri_rows_of(dy), xr = tri_rows_of(x);
    enum tri_activation f = tri_activation_inner(form->kind);
    int64_t C = dyr.columns;
    for (int64_t r = 0; r < dyr.num; r++) {
        float *dxp = tri_rows_get(&dxr, r);
        const float *dyp = tri_rows_get(&dyr, r), *xp = tri_rows_get(&xr, r);
        for (int64_t c = 0; c < C; c++) {
            double dyc = dyp[c];
            if (!tri_activation_is_gated(form->kind)) {
                dxp[c] = (float)(dyc * activation_slope(f, xp[c]));
                continue;
            }
            double gate = xp[c], up = xp[C + c], seen = gate_of(form, gate);
            bool up_is_cut = form->clamp > 0 && fabs(up) > (double)form->clamp;
            double value = activation_value(f, seen), slope = activation_slope(f, seen);
            dxp[c] = gate > seen ? 0 : (float)(dyc * up_of(form, up) * slope);
            dxp[C + c] = up_is_cut ? 0 : (float)(dyc * value);
        }
    }
}
