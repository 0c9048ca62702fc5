/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operations. A backend fills one; cpu_ref is the definition of correct, cpu_fast starts
 * as its copy and overrides, checked wraps any of them. Nothing above kernels/ knows which it calls.
 *
 * Conventions. The queue comes first (it carries the rank's team), then outputs, inputs, workspace,
 * scalars. Dims come with the tensors. Legend: S positions, B batch rows, H heads, G key/value heads,
 * D head width, C columns, R rows (S * B), V vocabulary columns of this rank. Activations are [S, B, C],
 * token ids [B, S]. Tensors called dX are gradients: those of activations are overwritten, those of
 * parameters are added to. Where an operation names a workspace its bytes are a pure function
 * (tri_scratch_table in spec/scratch.h), filled by the same backend. In-place use is allowed only where
 * said. The number of threads never changes a bit. No operation allocates. All data is fp32 for now; ids
 * are int32.
 *
 * Every pointer is set in every backend; a table is const after creation.
 */
#pragma once

#include "spec/scratch.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

#include <stdbool.h>
#include <stdint.h>

struct tri_exact_sum;

/* What the element-wise nonlinearity is; the gated ones, in the same order, read [.., 2C] = [gate | up] and
   give f(gate) * up, [.., C]. */
enum tri_activation {
    TRI_ACTIVATION_GELU,      /* exact, by erf */
    TRI_ACTIVATION_GELU_TANH, /* tanh form */
    TRI_ACTIVATION_SILU,
    TRI_ACTIVATION_RELU,
    TRI_ACTIVATION_QUICK_GELU,   /* x * logistic(1.702 x) */
    TRI_ACTIVATION_SQUARED_RELU, /* max(x, 0)^2 */
    TRI_ACTIVATION_GEGLU,
    TRI_ACTIVATION_GEGLU_TANH,
    TRI_ACTIVATION_SWIGLU,
    TRI_ACTIVATION_REGLU,
    TRI_ACTIVATION_QUICK_GEGLU,
    TRI_ACTIVATION_SQUARED_REGLU,
    TRI_NUM_ACTIVATIONS
};
static inline bool tri_activation_is_gated(enum tri_activation kind)
{
    return kind >= TRI_ACTIVATION_GEGLU;
}
/* f of a gated kind; a plain kind is its own. */
static inline enum tri_activation tri_activation_inner(enum tri_activation kind)
{
    return tri_activation_is_gated(kind) ? (enum tri_activation)(kind - TRI_ACTIVATION_GEGLU)
                                         : kind;
}

/* A nonlinearity: f(x), or of a gated kind f(min(gate, clamp)) * (up cut to -clamp .. clamp, + offset). What
   was cut passes no gradient; what lies on the border does. */
struct tri_activation_form {
    enum tri_activation kind;
    float clamp;  /* of gated kinds; 0: none */
    float offset; /* of gated kinds */
};

/* Which mask a dropout uses (base/rng.h). threshold 0: nothing is dropped. Kept elements are scaled by
   scale = 1 / (1 - p). The row of an element is first_position + its position s; its column is
   first_column + its column in the tensor (the tensor may be a part of the full width). */
struct tri_dropout {
    uint32_t threshold;
    float scale;
    uint32_t key[2];
    const int64_t *sample_ids; /* [B], host */
    int64_t first_position;
    int64_t first_column;
};

/* Attention over one microbatch. Query i of row b sees key j iff both lie in one segment, j's position
   <= i's position (causal), and i's position - j's position < window (0: no window). */
struct tri_attention {
    float scale; /* of q.k */
    bool causal;
    float softcap; /* scores s become softcap tanh(s / softcap); 0: they stay */
    /* One more key, without a value, that every query of a head sees, with a score of its own: [H], or 0
       for each where the pointer is NULL. It is part of lse. */
    bool has_sink;
    const float *sink;
    int64_t window;          /* 0: none */
    int64_t query_offset;    /* position of query 0: keys 0.. are positions 0.., as with a cache */
    const int32_t *segments; /* NULL, or [B, S_k]: id of each key's (and query's) segment */
    /* Softmax dropout: mask row = (first_head + head) * seq_length + query position, column = key
       position. threshold 0: none. first_position and first_column are not used. */
    struct tri_dropout dropout;
    int64_t first_head; /* global number of head 0 */
    int64_t seq_length; /* of the full sample, for the row number above */
};

/* How rope() turns. Pairs of the first sections[0] turn by the first position, those of the next
   sections[1] by the second, then by the third; all sections 0: every pair by the first. */
struct tri_rope {
    const int32_t *positions[3]; /* [B, S] each, host */
    int64_t sections[3];
    bool interleaved, inverse;
};

struct tri_adam {
    float lr, beta1, beta2, eps, weight_decay; /* decoupled */
    float bias1, bias2;                        /* 1 - beta^t */
};

struct tri_kernels {
    const char *name;

    /* ---- elementwise: any equal dims; y may be x ---- */
    void (*fill)(struct tri_queue *q, struct tri_tensor y, float value);
    void (*copy)(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x); /* strided ok */
    void (*add)(struct tri_queue *q, struct tri_tensor y, struct tri_tensor a, struct tri_tensor b);
    void (*scale)(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float alpha);
    /* y = cap * tanh(x / cap) */
    void (*softcap)(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float cap);
    /* y[R, C] += bias[C] */
    void (*bias_add)(struct tri_queue *q, struct tri_tensor y, struct tri_tensor bias);
    /* dbias[C] += sum over rows of dy[R, C], in blocks of rows fixed by the shape */
    void (*bias_backward)(struct tri_queue *q, struct tri_tensor dbias, struct tri_tensor dy,
                          void *workspace);
    /* y = residual + dropout(x); residual.data NULL: y = dropout(x). [S, B, C]. y may be x. */
    void (*dropout_add)(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                        struct tri_tensor residual, const struct tri_dropout *dropout);
    /* dx = dropout mask * scale * dy. dx may be dy. */
    void (*dropout_backward)(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                             const struct tri_dropout *dropout);
    /* y = f(x); x [R, C] or [R, 2C] when gated */
    void (*activation)(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                       const struct tri_activation_form *form);
    /* dx = dy * f'(x), with the dims of x. dx may be x. */
    void (*activation_backward)(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                                struct tri_tensor x, const struct tri_activation_form *form);
    /* y = x * logistic(gate). y may be x. */
    void (*gate)(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                 struct tri_tensor gate);
    /* dx = dy * logistic(gate), dgate = dy * x * logistic'(gate). dx may be dy. */
    void (*gate_backward)(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dgate,
                          struct tri_tensor dy, struct tri_tensor x, struct tri_tensor gate);

    /* ---- row-wise ---- */
    /* y = (x - mean) * rstd * weight + bias over the last dim; mean, rstd [R] */
    void (*layernorm)(struct tri_queue *q, struct tri_tensor y, struct tri_tensor mean,
                      struct tri_tensor rstd, struct tri_tensor x, struct tri_tensor weight,
                      struct tri_tensor bias, float eps);
    /* dweight, dbias added to; NULL data: not wanted. dx may be dy. */
    void (*layernorm_backward)(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dweight,
                               struct tri_tensor dbias, struct tri_tensor dy, struct tri_tensor x,
                               struct tri_tensor mean, struct tri_tensor rstd,
                               struct tri_tensor weight, void *workspace);
    /* y = x * rstd * weight, rstd = 1 / sqrt(mean(x^2) + eps) */
    void (*rmsnorm)(struct tri_queue *q, struct tri_tensor y, struct tri_tensor rstd,
                    struct tri_tensor x, struct tri_tensor weight, float eps);
    void (*rmsnorm_backward)(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dweight,
                             struct tri_tensor dy, struct tri_tensor x, struct tri_tensor rstd,
                             struct tri_tensor weight, void *workspace);
    /* In place on x [S, B, H, D] (strided heads): channels pair (k, k + d/2) of the first d =
       2 * columns of table; interleaved: (2k, 2k+1). cos, sin: [positions, d/2]; row of the table =
       positions[b, s]. inverse turns the other way (backward). */
    void (*rope)(struct tri_queue *q, struct tri_tensor x, struct tri_tensor cos,
                 struct tri_tensor sin, const struct tri_rope *rope);

    /* ---- vocabulary-parallel cross entropy; logits [S, B, V] are columns first_column .. of the full
       width, of which columns >= num_valid (global) are padding and count as minus infinity ---- */
    /* row_max[R] = maximum over this rank's valid columns (-inf if none) */
    void (*ce_max)(struct tri_queue *q, struct tri_tensor row_max, struct tri_tensor logits,
                   int64_t first_column, int64_t num_valid);
    /* row_sum[R] = sum of exp(logit - row_max); target[R] = logit - row_max of the label where this rank
       owns it, else 0. labels [B, S] int32 host; a label < 0 is ignored (target 0). moment[R] = sum of
       exp(logit - row_max) * (logit - row_max), of every row; NULL data: not wanted. */
    void (*ce_sum)(struct tri_queue *q, struct tri_tensor row_sum, struct tri_tensor target,
                   struct tri_tensor moment, struct tri_tensor logits, struct tri_tensor row_max,
                   const int32_t *labels, int64_t first_column, int64_t num_valid);
    /* loss[R] = ln(row_sum) - target, 0 where the label is < 0 */
    void (*ce_loss)(struct tri_queue *q, struct tri_tensor loss, struct tri_tensor row_sum,
                    struct tri_tensor target, const int32_t *labels, int64_t B, int64_t S);
    /* entropy[R] = ln(row_sum) - moment / row_sum, that of the softmax. entropy may be moment. */
    void (*ce_entropy)(struct tri_queue *q, struct tri_tensor entropy, struct tri_tensor row_sum,
                       struct tri_tensor moment);
    /* In place: logits becomes (softmax - onehot) * weight[b, s] * seed; padding columns and rows whose
       label is < 0 become 0. weights [B, S] fp32 host, NULL: 1. softcap > 0: the logits came from softcap(),
       and the gradient is that of its input. */
    void (*ce_backward)(struct tri_queue *q, struct tri_tensor logits, struct tri_tensor row_max,
                        struct tri_tensor row_sum, const int32_t *labels, const float *weights,
                        float seed, float softcap, int64_t first_column, int64_t num_valid);

    /* ---- matrix ---- */
    /* c[M, N] = beta * c + op(a) op(b), op = transpose where said; rows may be strided. beta 0 or 1.
       Tiles are fixed by the shape; BLAS runs on one thread per tile. */
    void (*gemm)(struct tri_queue *q, struct tri_tensor c, struct tri_tensor a, struct tri_tensor b,
                 bool transpose_a, bool transpose_b, float beta, void *workspace);

    /* ---- attention: never holds the score matrix; q, out [S_q, B, H, D]; k, v [S_k, B, G, D], H a
       multiple of G; any strides but the last; lse [B, H, S_q] = log of the sum of exp(scores) ---- */
    void (*attention)(struct tri_queue *q, struct tri_tensor out, struct tri_tensor lse,
                      struct tri_tensor query, struct tri_tensor key, struct tri_tensor value,
                      const struct tri_attention *attention, void *workspace);
    /* dquery, dkey, dvalue are overwritten */
    void (*attention_backward)(struct tri_queue *q, struct tri_tensor dquery,
                               struct tri_tensor dkey, struct tri_tensor dvalue,
                               struct tri_tensor dout, struct tri_tensor out, struct tri_tensor lse,
                               struct tri_tensor query, struct tri_tensor key,
                               struct tri_tensor value, const struct tri_attention *attention,
                               void *workspace);

    /* dsink[h] += -sum over b, i of exp(sink[h] - lse) * (dout . out): the gradient of sinks */
    void (*attention_sink_backward)(struct tri_queue *q, struct tri_tensor dsink,
                                    struct tri_tensor dout, struct tri_tensor out,
                                    struct tri_tensor lse, struct tri_tensor sink);

    /* ---- embedding: table [V, C] holds rows first_row .. first_row + V - 1 ---- */
    /* y[S, B, C] = table[ids[b, s] - first_row], 0 where not owned. ids [B, S] int32 host. */
    void (*embedding)(struct tri_queue *q, struct tri_tensor y, struct tri_tensor table,
                      const int32_t *ids, int64_t first_row);
    /* dtable[ids] += dy, in order of (s, b): the same bits for any team */
    void (*embedding_backward)(struct tri_queue *q, struct tri_tensor dtable, struct tri_tensor dy,
                               const int32_t *ids, int64_t first_row);

    /* ---- optimizer, over n elements ---- */
    /* Sums of squares of x * factor per block of TRI_NORM_BLOCK elements, fp64 in fixed inner order,
       added to sum (the caller's, in block order). */
    void (*sum_squares)(struct tri_queue *q, struct tri_exact_sum *sum, struct tri_tensor x,
                        double factor, void *workspace);
    /* g is multiplied by grad_factor on the way; p, m, v updated in place:
       m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, p -= lr (m/bias1 / (sqrt(v/bias2) + eps) + wd p) */
    void (*adam)(struct tri_queue *q, struct tri_tensor p, struct tri_tensor m, struct tri_tensor v,
                 struct tri_tensor g, float grad_factor, const struct tri_adam *adam);
    /* Index of the first non-finite element of x, or -1. */
    int64_t (*find_non_finite)(struct tri_queue *q, struct tri_tensor x);
};

/* Backends. Each returns a table that lives for the whole program. */
const struct tri_kernels *tri_kernels_cpu_ref(void);
const struct tri_kernels *tri_kernels_cpu_fast(void);
/* Wraps inner: fills outputs with NaN first where the operation overwrites, checks that inputs are
   unchanged and outputs finite, and with shadow repeats each call on cpu_ref and compares. A found
   fault is reported through report, from whatever thread made the call. An operation is handed no
   table, so only one checked table can live at a time; the caller destroys it. */
typedef void tri_checked_report(void *arg, const char *text);
tri_status tri_kernels_create_checked(const struct tri_kernels *inner, bool shadow,
                                      tri_checked_report *report, void *arg, tri_error *err,
                                      struct tri_kernels **table);
void tri_kernels_destroy_checked(struct tri_kernels **table);

/* The backend called name ("cpu_ref", "cpu_fast"); NULL if not in this build, err says why. */
const struct tri_kernels *tri_kernels_find(const char *name, tri_error *err);
/* The scratch functions of the same backend. */
const struct tri_scratch_table *tri_kernels_scratch(const char *name);
/* What decides in which order matrix products are summed on this machine: the BLAS, its version and the
   processor it has chosen its code for. Two ranks give the same bits only where it is the same. */
const char *tri_kernels_arithmetic(void);
