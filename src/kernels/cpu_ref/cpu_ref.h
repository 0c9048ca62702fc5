/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of cpu_ref, one file per family: the definition of correct. Plain loops in fp32,
 * no threads, no intrinsics, no BLAS. Sums over a row, a column or a contraction are accumulated in
 * double in the order of the index and rounded once; exp, tanh, erf and log are evaluated in double
 * and rounded once. What each operation computes is said in kernels/kernels.h.
 */
#pragma once

#include "kernels/kernels.h"

/* elementwise.c */
void tri_ref_fill(struct tri_queue *q, struct tri_tensor y, float value);
void tri_ref_copy(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x);
void tri_ref_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor a,
                 struct tri_tensor b);
void tri_ref_scale(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float alpha);
void tri_ref_softcap(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float cap);
void tri_ref_bias_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor bias);
void tri_ref_bias_backward(struct tri_queue *q, struct tri_tensor dbias, struct tri_tensor dy,
                           void *workspace);
int64_t tri_ref_find_non_finite(struct tri_queue *q, struct tri_tensor x);

/* dropout.c */
void tri_ref_dropout_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                         struct tri_tensor residual, const struct tri_dropout *dropout);
void tri_ref_dropout_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                              const struct tri_dropout *dropout);
/* What the element at (batch row b, mask row, mask column) is multiplied by: 0 or dropout->scale;
   1 when the threshold is 0. */
float tri_ref_dropout_factor(const struct tri_dropout *dropout, int64_t b, int64_t row,
                             int64_t column);

/* activation.c */
void tri_ref_activation(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                        const struct tri_activation_form *form);
void tri_ref_activation_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                                 struct tri_tensor x, const struct tri_activation_form *form);

/* gate.c */
void tri_ref_gate(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                  struct tri_tensor gate);
void tri_ref_gate_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dgate,
                           struct tri_tensor dy, struct tri_tensor x, struct tri_tensor gate);

/* layernorm.c, rmsnorm.c */
void tri_ref_layernorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor mean,
                       struct tri_tensor rstd, struct tri_tensor x, struct tri_tensor weight,
                       struct tri_tensor bias, float eps);
void tri_ref_layernorm_backward(struct tri_queue *q, struct tri_tensor dx,
                                struct tri_tensor dweight, struct tri_tensor dbias,
                                struct tri_tensor dy, struct tri_tensor x, struct tri_tensor mean,
                                struct tri_tensor rstd, struct tri_tensor weight, void *workspace);
void tri_ref_rmsnorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor rstd,
                     struct tri_tensor x, struct tri_tensor weight, float eps);
void tri_ref_rmsnorm_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dweight,
                              struct tri_tensor dy, struct tri_tensor x, struct tri_tensor rstd,
                              struct tri_tensor weight, void *workspace);

/* rope.c */
void tri_ref_rope(struct tri_queue *q, struct tri_tensor x, struct tri_tensor cos,
                  struct tri_tensor sin, const struct tri_rope *rope);

/* cross_entropy.c */
void tri_ref_ce_max(struct tri_queue *q, struct tri_tensor row_max, struct tri_tensor logits,
                    int64_t first_column, int64_t num_valid);
void tri_ref_ce_sum(struct tri_queue *q, struct tri_tensor row_sum, struct tri_tensor target,
                    struct tri_tensor moment, struct tri_tensor logits, struct tri_tensor row_max,
                    const int32_t *labels, int64_t first_column, int64_t num_valid);
void tri_ref_ce_loss(struct tri_queue *q, struct tri_tensor loss, struct tri_tensor row_sum,
                     struct tri_tensor target, const int32_t *labels, int64_t B, int64_t S);
void tri_ref_ce_entropy(struct tri_queue *q, struct tri_tensor entropy, struct tri_tensor row_sum,
                        struct tri_tensor moment);
void tri_ref_ce_backward(struct tri_queue *q, struct tri_tensor logits, struct tri_tensor row_max,
                         struct tri_tensor row_sum, const int32_t *labels, const float *weights,
                         float seed, float softcap, int64_t first_column, int64_t num_valid);

/* gemm.c */
void tri_ref_gemm(struct tri_queue *q, struct tri_tensor c, struct tri_tensor a,
                  struct tri_tensor b, bool transpose_a, bool transpose_b, float beta,
                  void *workspace);

/* attention.c */
void tri_ref_attention(struct tri_queue *q, struct tri_tensor out, struct tri_tensor lse,
                       struct tri_tensor query, struct tri_tensor key, struct tri_tensor value,
                       const struct tri_attention *attention, void *workspace);
void tri_ref_attention_sink_backward(struct tri_queue *q, struct tri_tensor dsink,
                                     struct tri_tensor dout, struct tri_tensor out,
                                     struct tri_tensor lse, struct tri_tensor sink);
void tri_ref_attention_backward(struct tri_queue *q, struct tri_tensor dquery,
                                struct tri_tensor dkey, struct tri_tensor dvalue,
                                struct tri_tensor dout, struct tri_tensor out,
                                struct tri_tensor lse, struct tri_tensor query,
                                struct tri_tensor key, struct tri_tensor value,
                                const struct tri_attention *attention, void *workspace);

/* embedding.c */
void tri_ref_embedding(struct tri_queue *q, struct tri_tensor y, struct tri_tensor table,
                       const int32_t *ids, int64_t first_row);
void tri_ref_embedding_backward(struct tri_queue *q, struct tri_tensor dtable, struct tri_tensor dy,
                                const int32_t *ids, int64_t first_row);

/* optimizer.c */
void tri_ref_sum_squares(struct tri_queue *q, struct tri_exact_sum *sum, struct tri_tensor x,
                         double factor, void *workspace);
void tri_ref_adam(struct tri_queue *q, struct tri_tensor p, struct tri_tensor m,
                  struct tri_tensor v, struct tri_tensor g, float grad_factor,
                  const struct tri_adam *adam);
