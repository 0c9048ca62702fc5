/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the checked backend: every operation is turned into a checked_call (its tensors with
 * their roles, its other arguments, and a function that makes the call on any table), and one
 * function runs all of them.
 */
#pragma once

#include "base/exact_sum.h"
#include "kernels/kernels.h"

#define CHECKED_MAX_TENSORS 10

enum checked_role {
    CHECKED_IN,      /* must be as before */
    CHECKED_OUT,     /* overwritten: holds NaN before the call, finite after */
    CHECKED_OUT_LOW, /* the same, minus infinity allowed */
    CHECKED_INOUT,   /* added to or changed in place */
};

struct checked_tensor {
    const char *name;
    enum checked_role role;
    struct tri_tensor t;
};

/* Arguments that are no tensors; each operation uses what it needs. */
struct checked_args {
    float scalar;
    int64_t first, count;
    const int32_t *ids;
    const float *weights;
    const void *
        settings; /* struct tri_dropout, tri_activation_form, tri_attention, tri_rope or tri_adam */
    bool flag[2];
    double factor;
    double result;            /* out: of operations that return a number */
    struct tri_exact_sum sum; /* out: of sum_squares */
};

/* Makes the call on table k. t: the tensors in the order of the call's list. */
typedef void checked_fn(const struct tri_kernels *k, struct tri_queue *q,
                        const struct tri_tensor *t, struct checked_args *args, void *workspace);

struct checked_call {
    const char *name;
    checked_fn *fn;
    int num;
    struct checked_tensor tensors[CHECKED_MAX_TENSORS];
    struct checked_args args;
    void *workspace;
};

void tri_checked_run(struct tri_queue *q, struct checked_call *call);

/* checked_rows.c */
void tri_checked_fill(struct tri_queue *q, struct tri_tensor y, float value);
void tri_checked_copy(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x);
void tri_checked_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor a,
                     struct tri_tensor b);
void tri_checked_scale(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float alpha);
void tri_checked_softcap(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float cap);
void tri_checked_bias_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor bias);
void tri_checked_bias_backward(struct tri_queue *q, struct tri_tensor dbias, struct tri_tensor dy,
                               void *workspace);
void tri_checked_dropout_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                             struct tri_tensor residual, const struct tri_dropout *dropout);
void tri_checked_dropout_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                                  const struct tri_dropout *dropout);
void tri_checked_activation(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                            const struct tri_activation_form *form);
void tri_checked_activation_backward(struct tri_queue *q, struct tri_tensor dx,
                                     struct tri_tensor dy, struct tri_tensor x,
                                     const struct tri_activation_form *form);
void tri_checked_gate(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                      struct tri_tensor gate);
void tri_checked_gate_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dgate,
                               struct tri_tensor dy, struct tri_tensor x, struct tri_tensor gate);
void tri_checked_layernorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor mean,
                           struct tri_tensor rstd, struct tri_tensor x, struct tri_tensor weight,
                           struct tri_tensor bias, float eps);
void tri_checked_layernorm_backward(struct tri_queue *q, struct tri_tensor dx,
                                    struct tri_tensor dweight, struct tri_tensor dbias,
                                    struct tri_tensor dy, struct tri_tensor x,
                                    struct tri_tensor mean, struct tri_tensor rstd,
                                    struct tri_tensor weight, void *workspace);
void tri_checked_rmsnorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor rstd,
                         struct tri_tensor x, struct tri_tensor weight, float eps);
void tri_checked_rmsnorm_backward(struct tri_queue *q, struct tri_tensor dx,
                                  struct tri_tensor dweight, struct tri_tensor dy,
                                  struct tri_tensor x, struct tri_tensor rstd,
                                  struct tri_tensor weight, void *workspace);
void tri_checked_rope(struct tri_queue *q, struct tri_tensor x, struct tri_tensor cosine,
                      struct tri_tensor sine, const struct tri_rope *rope);

/* checked_model.c */
void tri_checked_ce_max(struct tri_queue *q, struct tri_tensor row_max, struct tri_tensor logits,
                        int64_t first_column, int64_t num_valid);
void tri_checked_ce_sum(struct tri_queue *q, struct tri_tensor row_sum, struct tri_tensor target,
                        struct tri_tensor moment, struct tri_tensor logits,
                        struct tri_tensor row_max, const int32_t *labels, int64_t first_column,
                        int64_t num_valid);
void tri_checked_ce_loss(struct tri_queue *q, struct tri_tensor loss, struct tri_tensor row_sum,
                         struct tri_tensor target, const int32_t *labels, int64_t B, int64_t S);
void tri_checked_ce_entropy(struct tri_queue *q, struct tri_tensor entropy,
                            struct tri_tensor row_sum, struct tri_tensor moment);
void tri_checked_ce_backward(struct tri_queue *q, struct tri_tensor logits,
                             struct tri_tensor row_max, struct tri_tensor row_sum,
                             const int32_t *labels, const float *weights, float seed, float softcap,
                             int64_t first_column, int64_t num_valid);
void tri_checked_gemm(struct tri_queue *q, struct tri_tensor c, struct tri_tensor a,
                      struct tri_tensor b, bool transpose_a, bool transpose_b, float beta,
                      void *workspace);
void tri_checked_attention(struct tri_queue *q, struct tri_tensor out, struct tri_tensor lse,
                           struct tri_tensor query, struct tri_tensor key, struct tri_tensor value,
                           const struct tri_attention *attention, void *workspace);
void tri_checked_attention_sink_backward(struct tri_queue *q, struct tri_tensor dsink,
                                         struct tri_tensor dout, struct tri_tensor out,
                                         struct tri_tensor lse, struct tri_tensor sink);
void tri_checked_attention_backward(struct tri_queue *q, struct tri_tensor dquery,
                                    struct tri_tensor dkey, struct tri_tensor dvalue,
                                    struct tri_tensor dout, struct tri_tensor out,
                                    struct tri_tensor lse, struct tri_tensor query,
                                    struct tri_tensor key, struct tri_tensor value,
                                    const struct tri_attention *attention, void *workspace);
void tri_checked_embedding(struct tri_queue *q, struct tri_tensor y, struct tri_tensor table,
                           const int32_t *ids, int64_t first_row);
void tri_checked_embedding_backward(struct tri_queue *q, struct tri_tensor dtable,
                                    struct tri_tensor dy, const int32_t *ids, int64_t first_row);
void tri_checked_adam(struct tri_queue *q, struct tri_tensor p, struct tri_tensor m,
                      struct tri_tensor v, struct tri_tensor g, float grad_factor,
                      const struct tri_adam *adam);
void tri_checked_sum_squares(struct tri_queue *q, struct tri_exact_sum *sum, struct tri_tensor x,
                             double factor, void *workspace);
int64_t tri_checked_find_non_finite(struct tri_queue *q, struct tri_tensor x);
