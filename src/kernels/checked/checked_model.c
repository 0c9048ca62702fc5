/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross entropy, matrix products, attention, embedding and the optimizer under watch. Two
 * functions each: the call on any table, and the entry that lists the tensors with their roles.
 */
#include "kernels/checked/checked.h"

static void call_ce_max(const struct tri_kernels *k, struct tri_queue *q,
                        const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->ce_max(q, t[0], t[1], a->first, a->count);
}

void tri_checked_ce_max(struct tri_queue *q, struct tri_tensor row_max, struct tri_tensor logits,
                        int64_t first_column, int64_t num_valid)
{
    struct checked_call call = {
        .name = "ce_max",
        .fn = call_ce_max,
        .num = 2,
        .tensors = {{"row_max", CHECKED_OUT_LOW, row_max}, {"logits", CHECKED_IN, logits}},
        .args = {.first = first_column, .count = num_valid}};
    tri_checked_run(q, &call);
}

static void call_ce_sum(const struct tri_kernels *k, struct tri_queue *q,
                        const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->ce_sum(q, t[0], t[1], t[2], t[3], t[4], a->ids, a->first, a->count);
}

void tri_checked_ce_sum(struct tri_queue *q, struct tri_tensor row_sum, struct tri_tensor target,
                        struct tri_tensor moment, struct tri_tensor logits,
                        struct tri_tensor row_max, const int32_t *labels, int64_t first_column,
                        int64_t num_valid)
{
    struct checked_call call = {.name = "ce_sum",
                                .fn = call_ce_sum,
                                .num = 5,
                                .tensors = {{"row_sum", CHECKED_OUT, row_sum},
                                            {"target", CHECKED_OUT, target},
                                            {"moment", CHECKED_OUT, moment},
                                            {"logits", CHECKED_IN, logits},
                                            {"row_max", CHECKED_IN, row_max}},
                                .args = {.ids = labels, .first = first_column, .count = num_valid}};
    tri_checked_run(q, &call);
}

static void call_ce_loss(const struct tri_kernels *k, struct tri_queue *q,
                         const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->ce_loss(q, t[0], t[1], t[2], a->ids, a->first, a->count);
}

void tri_checked_ce_loss(struct tri_queue *q, struct tri_tensor loss, struct tri_tensor row_sum,
                         struct tri_tensor target, const int32_t *labels, int64_t B, int64_t S)
{
    struct checked_call call = {.name = "ce_loss",
                                .fn = call_ce_loss,
                                .num = 3,
                                .tensors = {{"loss", CHECKED_OUT, loss},
                                            {"row_sum", CHECKED_IN, row_sum},
                                            {"target", CHECKED_IN, target}},
                                .args = {.ids = labels, .first = B, .count = S}};
    tri_checked_run(q, &call);
}

static void call_ce_entropy(const struct tri_kernels *k, struct tri_queue *q,
                            const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)a;
    (void)workspace;
    k->ce_entropy(q, t[0], t[1], t[2]);
}

void tri_checked_ce_entropy(struct tri_queue *q, struct tri_tensor entropy,
                            struct tri_tensor row_sum, struct tri_tensor moment)
{
    struct checked_call call = {.name = "ce_entropy",
                                .fn = call_ce_entropy,
                                .num = 3,
                                .tensors = {{"entropy", CHECKED_OUT, entropy},
                                            {"row_sum", CHECKED_IN, row_sum},
                                            {"moment", CHECKED_IN, moment}}};
    tri_checked_run(q, &call);
}

static void call_ce_backward(const struct tri_kernels *k, struct tri_queue *q,
                             const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->ce_backward(q, t[0], t[1], t[2], a->ids, a->weights, a->scalar, (float)a->factor, a->first,
                   a->count);
}

void tri_checked_ce_backward(struct tri_queue *q, struct tri_tensor logits,
                             struct tri_tensor row_max, struct tri_tensor row_sum,
                             const int32_t *labels, const float *weights, float seed, float softcap,
                             int64_t first_column, int64_t num_valid)
{
    struct checked_call call = {.name = "ce_backward",
                                .fn = call_ce_backward,
                                .num = 3,
                                .tensors = {{"logits", CHECKED_INOUT, logits},
                                            {"row_max", CHECKED_IN, row_max},
                                            {"row_sum", CHECKED_IN, row_sum}},
                                .args = {.ids = labels,
                                         .weights = weights,
                                         .scalar = seed,
                                         .factor = softcap,
                                         .first = first_column,
                                         .count = num_valid}};
    tri_checked_run(q, &call);
}

static void call_gemm(const struct tri_kernels *k, struct tri_queue *q, const struct tri_tensor *t,
                      struct checked_args *a, void *workspace)
{
    k->gemm(q, t[0], t[1], t[2], a->flag[0], a->flag[1], a->scalar, workspace);
}

void tri_checked_gemm(struct tri_queue *q, struct tri_tensor c, struct tri_tensor a,
                      struct tri_tensor b, bool transpose_a, bool transpose_b, float beta,
                      void *workspace)
{
    struct checked_call call = {.name = "gemm",
                                .fn = call_gemm,
                                .num = 3,
                                .tensors = {{"c", beta == 0 ? CHECKED_OUT : CHECKED_INOUT, c},
                                            {"a", CHECKED_IN, a},
                                            {"b", CHECKED_IN, b}},
                                .args = {.flag = {transpose_a, transpose_b}, .scalar = beta},
                                .workspace = workspace};
    tri_checked_run(q, &call);
}

static void call_attention(const struct tri_kernels *k, struct tri_queue *q,
                           const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    k->attention(q, t[0], t[1], t[2], t[3], t[4], a->settings, workspace);
}

void tri_checked_attention(struct tri_queue *q, struct tri_tensor out, struct tri_tensor lse,
                           struct tri_tensor query, struct tri_tensor key, struct tri_tensor value,
                           const struct tri_attention *attention, void *workspace)
{
    struct checked_call call = {.name = "attention",
                                .fn = call_attention,
                                .num = 5,
                                .tensors = {{"out", CHECKED_OUT, out},
                                            {"lse", CHECKED_OUT_LOW, lse},
                                            {"query", CHECKED_IN, query},
                                            {"key", CHECKED_IN, key},
                                            {"value", CHECKED_IN, value}},
                                .args = {.settings = attention},
                                .workspace = workspace};
    tri_checked_run(q, &call);
}

static void call_attention_backward(const struct tri_kernels *k, struct tri_queue *q,
                                    const struct tri_tensor *t, struct checked_args *a,
                                    void *workspace)
{
    k->attention_backward(q, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], a->settings,
                          workspace);
}

void tri_checked_attention_backward(struct tri_queue *q, struct tri_tensor dquery,
                                    struct tri_tensor dkey, struct tri_tensor dvalue,
                                    struct tri_tensor dout, struct tri_tensor out,
                                    struct tri_tensor lse, struct tri_tensor query,
                                    struct tri_tensor key, struct tri_tensor value,
                                    const struct tri_attention *attention, void *workspace)
{
    struct checked_call call = {.name = "attention_backward",
                                .fn = call_attention_backward,
                                .num = 9,
                                .tensors = {{"dquery", CHECKED_OUT, dquery},
                                            {"dkey", CHECKED_OUT, dkey},
                                            {"dvalue", CHECKED_OUT, dvalue},
                                            {"dout", CHECKED_IN, dout},
                                            {"out", CHECKED_IN, out},
                                            {"lse", CHECKED_IN, lse},
                                            {"query", CHECKED_IN, query},
                                            {"key", CHECKED_IN, key},
                                            {"value", CHECKED_IN, value}},
                                .args = {.settings = attention},
                                .workspace = workspace};
    tri_checked_run(q, &call);
}

static void call_attention_sink_backward(const struct tri_kernels *k, struct tri_queue *q,
                                         const struct tri_tensor *t, struct checked_args *a,
                                         void *workspace)
{
    (void)a;
    (void)workspace;
    k->attention_sink_backward(q, t[0], t[1], t[2], t[3], t[4]);
}

void tri_checked_attention_sink_backward(struct tri_queue *q, struct tri_tensor dsink,
                                         struct tri_tensor dout, struct tri_tensor out,
                                         struct tri_tensor lse, struct tri_tensor sink)
{
    struct checked_call call = {.name = "attention_sink_backward",
                                .fn = call_attention_sink_backward,
                                .num = 5,
                                .tensors = {{"dsink", CHECKED_INOUT, dsink},
                                            {"dout", CHECKED_IN, dout},
                                            {"out", CHECKED_IN, out},
                                            {"lse", CHECKED_IN, lse},
                                            {"sink", CHECKED_IN, sink}}};
    tri_checked_run(q, &call);
}

static void call_embedding(const struct tri_kernels *k, struct tri_queue *q,
                           const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->embedding(q, t[0], t[1], a->ids, a->first);
}

void tri_checked_embedding(struct tri_queue *q, struct tri_tensor y, struct tri_tensor table,
                           const int32_t *ids, int64_t first_row)
{
    struct checked_call call = {.name = "embedding",
                                .fn = call_embedding,
                                .num = 2,
                                .tensors = {{"y", CHECKED_OUT, y}, {"table", CHECKED_IN, table}},
                                .args = {.ids = ids, .first = first_row}};
    tri_checked_run(q, &call);
}

static void call_embedding_backward(const struct tri_kernels *k, struct tri_queue *q,
                                    const struct tri_tensor *t, struct checked_args *a,
                                    void *workspace)
{
    (void)workspace;
    k->embedding_backward(q, t[0], t[1], a->ids, a->first);
}

void tri_checked_embedding_backward(struct tri_queue *q, struct tri_tensor dtable,
                                    struct tri_tensor dy, const int32_t *ids, int64_t first_row)
{
    struct checked_call call = {
        .name = "embedding_backward",
        .fn = call_embedding_backward,
        .num = 2,
        .tensors = {{"dtable", CHECKED_INOUT, dtable}, {"dy", CHECKED_IN, dy}},
        .args = {.ids = ids, .first = first_row}};
    tri_checked_run(q, &call);
}

static void call_adam(const struct tri_kernels *k, struct tri_queue *q, const struct tri_tensor *t,
                      struct checked_args *a, void *workspace)
{
    (void)workspace;
    k->adam(q, t[0], t[1], t[2], t[3], a->scalar, a->settings);
}

void tri_checked_adam(struct tri_queue *q, struct tri_tensor p, struct tri_tensor m,
                      struct tri_tensor v, struct tri_tensor g, float grad_factor,
                      const struct tri_adam *adam)
{
    struct checked_call call = {.name = "adam",
                                .fn = call_adam,
                                .num = 4,
                                .tensors = {{"p", CHECKED_INOUT, p},
                                            {"m", CHECKED_INOUT, m},
                                            {"v", CHECKED_INOUT, v},
                                            {"g", CHECKED_IN, g}},
                                .args = {.scalar = grad_factor, .settings = adam}};
    tri_checked_run(q, &call);
}

/* The sum is formed apart and merged by the entry, so that a shadow leaves the caller's alone. */
static void call_sum_squares(const struct tri_kernels *k, struct tri_queue *q,
                             const struct tri_tensor *t, struct checked_args *a, void *workspace)
{
    tri_exact_sum_init(&a->sum);
    k->sum_squares(q, &a->sum, t[0], a->factor, workspace);
    struct tri_exact_sum own = a->sum;
    tri_exact_sum_normalise(&own);
    a->result = tri_exact_sum_value(&own);
}

void tri_checked_sum_squares(struct tri_queue *q, struct tri_exact_sum *sum, struct tri_tensor x,
                             double factor, void *workspace)
{
    struct checked_call call = {.name = "sum_squares",
                                .fn = call_sum_squares,
                                .num = 1,
                                .tensors = {{"x", CHECKED_IN, x}},
                                .args = {.factor = factor},
                                .workspace = workspace};
    tri_checked_run(q, &call);
    tri_exact_sum_merge(sum, &call.args.sum);
}

static void call_find_non_finite(const struct tri_kernels *k, struct tri_queue *q,
                                 const struct tri_tensor *t, struct checked_args *a,
                                 void *workspace)
{
    (void)workspace;
    a->result = (double)k->find_non_finite(q, t[0]);
}

int64_t tri_checked_find_non_finite(struct tri_queue *q, struct tri_tensor x)
{
    struct checked_call call = {.name = "find_non_finite",
                                .fn = call_find_non_finite,
                                .num = 1,
                                .tensors = {{"x", CHECKED_IN, x}}};
    tri_checked_run(q, &call);
    return (int64_t)call.args.result;
}
