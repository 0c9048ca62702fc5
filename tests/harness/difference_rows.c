/* SPDX-License-Identifier: Apache-2.0 */
/* What is differenced of operations by element and by row, of matrices and of the embedding. */
#include "difference.h"

/* ---- sums, factors, biases, dropout ---- */

static void sum_forward(struct difference *d)
{
    CALL(d, add)(d->q, d->out[0], d->in[0], d->in[1]);
    CALL(d, scale)(d->q, d->out[0], d->out[0], 0.3);
}

static void sum_backward(struct difference *d)
{
    CALL(d, scale)(d->q, d->grad[0], d->dout[0], 0.3);
    CALL(d, copy)(d->q, d->grad[1], d->grad[0]);
}

/* Variant 1: without a residual; 2: dx is dy; 3: nothing is dropped. */
static struct tri_dropout dropout_of(const struct difference *d)
{
    static const int64_t samples[3] = {5, 1 + ((int64_t)7 << 32), 11};
    return (struct tri_dropout){.threshold = d->variant == 3 ? 0 : tri_dropout_threshold(0.3),
                                .scale = 1 / 0.7,
                                .key = {17, 4},
                                .sample_ids = samples,
                                .first_position = 3,
                                .first_column = 6};
}

static void dropout_forward(struct difference *d)
{
    struct tri_dropout dropout = dropout_of(d);
    struct tri_tensor none = {.data = NULL};
    CALL(d, dropout_add)
    (d->q, d->out[0], d->in[0], d->variant == 1 ? none : d->in[1], &dropout);
}

static void dropout_backward(struct difference *d)
{
    struct tri_dropout dropout = dropout_of(d);
    struct tri_tensor dy = d->dout[0];
    if (d->variant == 1)
        CALL(d, fill)(d->q, d->grad[1], 0);
    else
        CALL(d, copy)(d->q, d->grad[1], dy);
    if (d->variant == 2) {
        CALL(d, copy)(d->q, d->grad[0], dy);
        dy = d->grad[0];
    }
    CALL(d, dropout_backward)(d->q, d->grad[0], dy, &dropout);
}

/* ---- activations: each kind as it is, moved, and moved and cut; then dx is x ---- */

#define KINK_WIDTH 0.05

static struct tri_activation_form activation_of(const struct difference *d)
{
    int form = d->variant / TRI_NUM_ACTIVATIONS % 3;
    return (struct tri_activation_form){
        .kind = (enum tri_activation)(d->variant % TRI_NUM_ACTIVATIONS),
        .clamp = form == 2 ? 0.9 : 0,
        .offset = form >= 1 ? 0.4 : 0,
    };
}

static void activation_shape(struct difference *d)
{
    if (!tri_activation_is_gated(activation_of(d).kind))
        d->size['W'] = d->size['C'];
}

/* No quotient reaches over 0 or a clamp. */
static void activation_adjust(struct difference *d)
{
    const double kinks[3] = {0, activation_of(d).clamp, -activation_of(d).clamp};
    double *x = tri_tensor_f32(&d->in[0]);
    for (int64_t i = 0; i < tri_tensor_elements(&d->in[0]); i++)
        for (int n = 0; n < 3; n++)
            if (fabs(x[i] - kinks[n]) < KINK_WIDTH)
                x[i] = kinks[n] + copysign(KINK_WIDTH, x[i] - kinks[n]);
}

static void activation_forward(struct difference *d)
{
    struct tri_activation_form form = activation_of(d);
    CALL(d, activation)(d->q, d->out[0], d->in[0], &form);
}

static void activation_backward(struct difference *d)
{
    struct tri_activation_form form = activation_of(d);
    struct tri_tensor x = d->in[0];
    if (d->variant >= 3 * TRI_NUM_ACTIVATIONS) {
        CALL(d, copy)(d->q, d->grad[0], x);
        x = d->grad[0];
    }
    CALL(d, activation_backward)(d->q, d->grad[0], d->dout[0], x, &form);
}

static void gate_forward(struct difference *d)
{
    CALL(d, gate)(d->q, d->out[0], d->in[0], d->in[1]);
}

/* Variant 1: dx is dy. */
static void gate_backward(struct difference *d)
{
    struct tri_tensor dy = d->dout[0];
    if (d->variant == 1) {
        CALL(d, copy)(d->q, d->grad[0], dy);
        dy = d->grad[0];
    }
    CALL(d, gate_backward)(d->q, d->grad[0], d->grad[1], dy, d->in[0], d->in[1]);
}

/* ---- norms; variant 1: dx is dy; 2: without a bias ---- */

static void layernorm_forward(struct difference *d)
{
    struct tri_tensor none = {.data = NULL};
    CALL(d, layernorm)
    (d->q, d->out[0], d->kept[0], d->kept[1], d->in[0], d->in[1], d->variant == 2 ? none : d->in[2],
     1e-5);
}

static struct tri_tensor norm_dy(struct difference *d)
{
    if (d->variant != 1)
        return d->dout[0];
    CALL(d, copy)(d->q, d->grad[0], d->dout[0]);
    return d->grad[0];
}

static void layernorm_backward(struct difference *d)
{
    struct tri_tensor none = {.data = NULL};
    CALL(d, layernorm_backward)
    (d->q, d->grad[0], d->grad[1], d->variant == 2 ? none : d->grad[2], norm_dy(d), d->in[0],
     d->kept[0], d->kept[1], d->in[1], NULL);
}

static void rmsnorm_forward(struct difference *d)
{
    CALL(d, rmsnorm)(d->q, d->out[0], d->kept[0], d->in[0], d->in[1], 1e-5);
}

static void rmsnorm_backward(struct difference *d)
{
    CALL(d, rmsnorm_backward)
    (d->q, d->grad[0], d->grad[1], norm_dy(d), d->in[0], d->kept[0], d->in[1], NULL);
}

/* ---- matrices ---- */

static void linear_forward(struct difference *d)
{
    CALL(d, gemm)(d->q, d->out[0], d->in[0], d->in[1], false, true, 0, NULL);
    CALL(d, bias_add)(d->q, d->out[0], d->in[2]);
}

static void linear_backward(struct difference *d)
{
    CALL(d, gemm)(d->q, d->grad[0], d->dout[0], d->in[1], false, false, 0, NULL);
    CALL(d, gemm)(d->q, d->grad[1], d->dout[0], d->in[0], true, false, 1, NULL);
    CALL(d, bias_backward)(d->q, d->grad[2], d->dout[0], NULL);
}

/* Bits of a variant of gemm. */
enum { GEMM_A = 1, GEMM_B = 2, GEMM_ADD = 4 };

/* a is [T, K], b [D, N], c [S, C], each as it lies. */
static void gemm_shape(struct difference *d)
{
    bool a = d->variant & GEMM_A, b = d->variant & GEMM_B;
    d->size['S'] = d->size[a ? 'K' : 'T'];
    d->size[b ? 'N' : 'D'] = d->size[a ? 'T' : 'K'];
    d->size['C'] = d->size[b ? 'D' : 'N'];
}

static void gemm_forward(struct difference *d)
{
    bool a = d->variant & GEMM_A, b = d->variant & GEMM_B;
    CALL(d, fill)(d->q, d->out[0], 0.7);
    CALL(d, gemm)
    (d->q, d->out[0], d->in[0], d->in[1], a, b, d->variant & GEMM_ADD ? 1 : 0, NULL);
}

static void gemm_backward(struct difference *d)
{
    bool a = d->variant & GEMM_A, b = d->variant & GEMM_B;
    struct tri_tensor dc = d->dout[0];
    if (a)
        CALL(d, gemm)(d->q, d->grad[0], d->in[1], dc, b, true, 0, NULL);
    else
        CALL(d, gemm)(d->q, d->grad[0], dc, d->in[1], false, !b, 0, NULL);
    if (b)
        CALL(d, gemm)(d->q, d->grad[1], dc, d->in[0], true, a, 0, NULL);
    else
        CALL(d, gemm)(d->q, d->grad[1], d->in[0], dc, !a, false, 0, NULL);
}

/* ---- embedding; variant 1: a part of the table ---- */

static int64_t embedding_first(const struct difference *d)
{
    return d->variant == 1 ? d->size['V'] / 2 : 0;
}

static void embedding_forward(struct difference *d)
{
    const int32_t *ids = difference_ids(d, d->variant == 1 ? 2 * d->size['V'] : d->size['V']);
    CALL(d, embedding)(d->q, d->out[0], d->in[0], ids, embedding_first(d));
}

static void embedding_backward(struct difference *d)
{
    CALL(d, embedding_backward)(d->q, d->grad[0], d->dout[0], d->ids, embedding_first(d));
}

/* ---- the rows ---- */

/* A row of the table is one to three lines of text. */
/* clang-format off */
const struct difference_case difference_rows[] = {
    {"sum", .in = {"SBC", "SBC"}, .out = {"SBC"}, .forward = sum_forward, .backward = sum_backward},
    {"dropout", .in = {"SBC", "SBC"}, .out = {"SBC"}, .forward = dropout_forward,
     .backward = dropout_backward, .num_variants = 4},
    {"activation", .in = {"RW"}, .out = {"RC"}, .forward = activation_forward,
     .backward = activation_backward, .num_variants = 6 * TRI_NUM_ACTIVATIONS,
     .shape = activation_shape, .adjust = activation_adjust},
    {"gate", .in = {"SBC", "SBC"}, .out = {"SBC"}, .forward = gate_forward,
     .backward = gate_backward, .num_variants = 2},
    {"layernorm", .in = {"SBC", "+C", "+C"}, .out = {"SBC"}, .kept = {"R", "R"},
     .forward = layernorm_forward, .backward = layernorm_backward, .num_variants = 3},
    {"rmsnorm", .in = {"SBC", "+C"}, .out = {"SBC"}, .kept = {"R"}, .forward = rmsnorm_forward,
     .backward = rmsnorm_backward, .num_variants = 2},
    {"linear", .in = {"RK", "+NK", "+N"}, .out = {"RN"}, .forward = linear_forward,
     .backward = linear_backward},
    {"gemm", .in = {"TK", "DN"}, .out = {"SC"}, .forward = gemm_forward, .backward = gemm_backward,
     .num_variants = 8, .shape = gemm_shape},
    {"embedding", .in = {"+VC"}, .out = {"SBC"}, .forward = embedding_forward,
     .backward = embedding_backward, .num_variants = 2},
};
/* clang-format on */
const int difference_num_rows = sizeof(difference_rows) / sizeof(difference_rows[0]);
