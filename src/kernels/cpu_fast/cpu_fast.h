/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of cpu_fast, named as in cpu_ref. All of them run as fixed tasks on the queue's team
 * (cut.h); sums over a row are formed in eight or more fp32 lanes, sums over rows in fixed blocks.
 * What each operation computes is said in kernels/kernels.h.
 */
#pragma once

#include "kernels/kernels.h"

/* elementwise.c, bias.c */
void tri_fast_fill(struct tri_queue *q, struct tri_tensor y, float value);
void tri_fast_copy(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x);
void tri_fast_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor a,
                  struct tri_tensor b);
void tri_fast_scale(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float alpha);
void tri_fast_softcap(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x, float cap);
void tri_fast_bias_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor bias);
void tri_fast_bias_backward(struct tri_queue *q, struct tri_tensor dbias, struct tri_tensor dy,
                            void *workspace);
int64_t tri_fast_find_non_finite(struct tri_queue *q, struct tri_tensor x);

/* dropout.c */
/* factors[0 .. count - 1]: what elements (row, first_column ..) of a sample are multiplied by, 0 or
   scale. The threshold is not 0. */
void tri_fast_dropout_factors(float *factors, const struct tri_dropout *dropout, int64_t sample,
                              int64_t row, int64_t first_column, int64_t count);
void tri_fast_dropout_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                          struct tri_tensor residual, const struct tri_dropout *dropout);
void tri_fast_dropout_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                               const struct tri_dropout *dropout);

/* activation.c */
void tri_fast_activation(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                         const struct tri_activation_form *form);
void tri_fast_activation_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                                  struct tri_tensor x, const struct tri_activation_form *form);

/* gate.c */
void tri_fast_gate(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                   struct tri_tensor gate);
void tri_fast_gate_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dgate,
                            struct tri_tensor dy, struct tri_tensor x, struct tri_tensor gate);

/* layernorm.c, rmsnorm.c */
void tri_fast_layernorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor mean,
                        struct tri_tensor rstd, struct tri_tensor x, struct tri_tensor weight,
                        struct tri_tensor bias, float eps);
void tri_fast_layernorm_backward(struct tri_queue *q, struct tri_tensor dx,
                                 struct tri_tensor dweight, struct tri_tensor dbias,
                                 struct tri_tensor dy, struct tri_tensor x, struct tri_tensor mean,
                                 struct tri_tensor rstd, struct tri_tensor weight, void *workspace);
void tri_fast_rmsnorm(struct tri_queue *q, struct tri_tensor y, struct tri_tensor rstd,
                      struct tri_tensor x, struct tri_tensor weight, float eps);
void tri_fast_rmsnorm_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dweight,
                               struct tri_tensor dy, struct tri_tensor x, struct tri_tensor rstd,
                               struct tri_tensor weight, void *workspace);

/* rope.c */
void tri_fast_rope(struct tri_queue *q, struct tri_tensor x, struct tri_tensor cos,
                   struct tri_tensor sin, const struct tri_rope *rope);

/* cross_entropy.c */
void tri_fast_ce_max(struct tri_queue *q, struct tri_tensor row_max, struct tri_tensor logits,
                     int64_t first_column, int64_t num_valid);
void tri_fast_ce_sum(struct tri_queue *q, struct tri_tensor row_sum, struct tri_tensor target,
                     struct tri_tensor moment, struct tri_tensor logits, struct tri_tensor row_max,
                     const int32_t *labels, int64_t first_column, int64_t num_valid);
void tri_fast_ce_backward(struct tri_queue *q, struct tri_tensor logits, struct tri_tensor row_max,
                          struct tri_tensor row_sum, const int32_t *labels, const float *weights,
                          float seed, float softcap, int64_t first_column, int64_t num_valid);

/* gemm.c */
void tri_fast_gemm(struct tri_queue *q, struct tri_tensor c, struct tri_tensor a,
                   struct tri_tensor b, bool transpose_a, bool transpose_b, float beta,
                   void *workspace);

/* attention.c, attention_backward.c */
void tri_fast_attention(struct tri_queue *q, struct tri_tensor out, struct tri_tensor lse,
                        struct tri_tensor query, struct tri_tensor key, struct tri_tensor value,
                        const struct tri_attention *attention, void *workspace);
void tri_fast_attention_sink_backward(struct tri_queue *q, struct tri_tensor dsink,
                                      struct tri_tensor dout, struct tri_tensor out,
                                      struct tri_tensor lse, struct tri_tensor sink);
void tri_fast_attention_backward(struct tri_queue *q, struct tri_tensor dquery,
                                 struct tri_tensor dkey, struct tri_tensor dvalue,
                                 struct tri_tensor dout, struct tri_tensor out,
                                 struct tri_tensor lse, struct tri_tensor query,
                                 struct tri_tensor key, struct tri_tensor value,
                                 const struct tri_attention *attention, void *workspace);

/* embedding.c */
void tri_fast_embedding(struct tri_queue *q, struct tri_tensor y, struct tri_tensor table,
                        const int32_t *ids, int64_t first_row);
void tri_fast_embedding_backward(struct tri_queue *q, struct tri_tensor dtable,
                                 struct tri_tensor dy, const int32_t *ids, int64_t first_row);

/* optimizer.c */
void tri_fast_sum_squares(struct tri_queue *q, struct tri_exact_sum *sum, struct tri_tensor x,
                          double factor, void *workspace);
void tri_fast_adam(struct tri_queue *q, struct tri_tensor p, struct tri_tensor m,
                   struct tri_tensor v, struct tri_tensor g, float grad_factor,
                   const struct tri_adam *adam);

/* Bytes of workspace, as in spec/scratch.h. */
size_t tri_fast_bias_backward_bytes(int64_t R, int64_t C, int team_size);
size_t tri_fast_layernorm_backward_bytes(int64_t R, int64_t C, int team_size);
size_t tri_fast_rmsnorm_backward_bytes(int64_t R, int64_t C, int team_size);
size_t tri_fast_gemm_bytes(int64_t M, int64_t N, int64_t K, int team_size);
size_t tri_fast_attention_bytes(int64_t S_q, int64_t S_k, int64_t B, int64_t H, int64_t G,
                                int64_t D, int team_size);
size_t tri_fast_attention_backward_bytes(int64_t S_q, int64_t S_k, int64_t B, int64_t H, int64_t G,
                                         int64_t D, int team_size);
size_t tri_fast_sum_squares_bytes(int64_t n, int team_size);
