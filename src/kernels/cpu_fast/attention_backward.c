/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention backward by blocks. One task is one key/value head of one batch row, which alone writes
 * its dkey and dvalue: it walks the query heads of the group, their query blocks and the key blocks
 * each sees, always in this order. With f the dropout factors:
 *
 *   P  = exp(scale Q K^T - lse)            BLAS, [m, n]
 *   dP = dO V^T                            BLAS
 *   dS = scale P (f dP - delta), delta = rowsum dO O, with a cap times 1 - tanh^2
 *   dV += (P f)^T dO,  dQ += dS K,  dK += dS^T Q    BLAS
 *
 * Workspace of one member: P [m, n], dP [m, n], dQ [m, D], dropout factors [n], delta [m].
 */
#include "kernels/cpu_fast/attention_block.h"

struct attention_grad {
    struct tri_tensor dquery, dkey, dvalue, dout, out, lse, query, key, value;
    const struct tri_attention *a;
    char *workspace;
    size_t member_bytes;
    int64_t S_q, S_k, H, G, D;
};

/* One block of queries of one head. */
struct attention_grad_block {
    const struct attention_grad *t;
    float *p, *dp, *dq, *factors, *delta;
    int64_t b, h, g, i0, m, stride; /* stride: of p and dp */
};

static int64_t attention_grad_floats(int64_t S_q, int64_t S_k, int64_t D)
{
    int64_t m = cut_min(S_q, ATTENTION_QUERIES), n = cut_min(S_k, ATTENTION_KEYS);
    return 2 * attention_floats(m * n) + attention_floats(m * D) + attention_floats(n) +
           attention_floats(m);
}

size_t tri_fast_attention_backward_bytes(int64_t S_q, int64_t S_k, int64_t B, int64_t H, int64_t G,
                                         int64_t D, int team_size)
{
    (void)B;
    (void)H;
    (void)G;
    return (size_t)(attention_grad_floats(S_q, S_k, D) * team_size) * sizeof(float);
}

static v8f grad_load(const float *x, int64_t j, int64_t end)
{
    return j + V8 <= end ? v8_load(x + j) : v8_load_part(x + j, end - j, -INFINITY);
}

static void grad_store(float *x, v8f v, int64_t j, int64_t end)
{
    if (j + V8 <= end)
        v8_store(x + j, v);
    else
        v8_store_part(x + j, v, end - j);
}

/* Row r: scores become P f, dP becomes dS. */
static void attention_grad_row(const struct attention_grad_block *k, int64_t r, int64_t j0,
                               int64_t n)
{
    const struct attention_grad *t = k->t;
    const struct tri_tensor *lse = &t->lse;
    float *p = k->p + r * k->stride, *dp = k->dp + r * k->stride;
    int64_t position = t->a->query_offset + k->i0 + r;
    float row_lse = tri_tensor_f32(
        lse)[k->b * lse->strides[0] + k->h * lse->strides[1] + (k->i0 + r) * lse->strides[2]];
    struct attention_range range = attention_clip(attention_visible(t->a, position, t->S_k), j0, n);
    if (row_lse == -INFINITY)
        range.first = range.end = 0;
    attention_cap(t->a, p, range);
    bool drops = t->a->dropout.threshold != 0 && range.end > range.first;
    attention_mask_segments(t->a, p, k->b, position, j0, range, t->S_k);
    if (drops)
        attention_factors(t->a, k->factors, k->b, k->h, position, j0, range);
    v8f shift = v8_set(row_lse), delta = v8_set(k->delta[r]), scale = v8_set(t->a->scale);
    for (int64_t j = range.first; j < range.end; j += V8) {
        v8f factor = drops ? grad_load(k->factors, j, range.end) : v8_set(1);
        v8f score = grad_load(p, j, range.end), pj = v8_exp(score - shift);
        v8f slope = scale * attention_cap_slope(t->a, score);
        v8f ds = slope * pj * (factor * grad_load(dp, j, range.end) - delta);
        grad_store(p, pj * factor, j, range.end);
        grad_store(dp, ds, j, range.end);
    }
    for (int64_t j = 0; j < range.first; j++)
        p[j] = dp[j] = 0;
    for (int64_t j = range.end; j < n; j++)
        p[j] = dp[j] = 0;
}

static void attention_grad_keys(const struct attention_grad_block *k, int64_t j0, int64_t n,
                                bool is_first)
{
    const struct attention_grad *t = k->t;
    const float *q = attention_rows(&t->query, k->i0, k->b, k->h);
    const float *dout = attention_rows(&t->dout, k->i0, k->b, k->h);
    const float *key = attention_rows(&t->key, j0, k->b, k->g);
    const float *value = attention_rows(&t->value, j0, k->b, k->g);
    int64_t q_stride = t->query.strides[0], dout_stride = t->dout.strides[0], D = t->D;
    tri_blas_sgemm(k->p, k->stride, attention_matrix(q, q_stride, false),
                   attention_matrix(key, t->key.strides[0], true), k->m, n, D, t->a->scale, 0);
    tri_blas_sgemm(k->dp, k->stride, attention_matrix(dout, dout_stride, false),
                   attention_matrix(value, t->value.strides[0], true), k->m, n, D, 1, 0);
    for (int64_t r = 0; r < k->m; r++)
        attention_grad_row(k, r, j0, n);
    tri_blas_sgemm(attention_rows(&t->dvalue, j0, k->b, k->g), t->dvalue.strides[0],
                   attention_matrix(k->p, k->stride, true),
                   attention_matrix(dout, dout_stride, false), n, D, k->m, 1, 1);
    tri_blas_sgemm(k->dq, D, attention_matrix(k->dp, k->stride, false),
                   attention_matrix(key, t->key.strides[0], false), k->m, D, n, 1,
                   is_first ? 0 : 1);
    tri_blas_sgemm(attention_rows(&t->dkey, j0, k->b, k->g), t->dkey.strides[0],
                   attention_matrix(k->dp, k->stride, true), attention_matrix(q, q_stride, false),
                   n, D, k->m, 1, 1);
}

/* dout . out of one query */
static float attention_delta(const struct tri_tensor *dout, const struct tri_tensor *out, int64_t i,
                             int64_t b, int64_t h)
{
    const float *x = attention_rows(dout, i, b, h), *y = attention_rows(out, i, b, h);
    v8f sum = v8_set(0);
    for (int64_t d = 0; d < out->dims[3]; d += V8) {
        int64_t n = out->dims[3] - d;
        sum += n >= V8 ? v8_load(x + d) * v8_load(y + d)
                       : v8_load_part(x + d, n, 0) * v8_load_part(y + d, n, 0);
    }
    return v8_sum(sum);
}

static void attention_grad_queries(const struct attention_grad_block *k)
{
    const struct attention_grad *t = k->t;
    int64_t D = t->D;
    for (int64_t r = 0; r < k->m; r++)
        k->delta[r] = attention_delta(&t->dout, &t->out, k->i0 + r, k->b, k->h);
    struct attention_range range =
        attention_visible_block(t->a, t->a->query_offset + k->i0, k->m, t->S_k);
    for (int64_t j0 = range.first; j0 < range.end; j0 += ATTENTION_KEYS)
        attention_grad_keys(k, j0, cut_min(ATTENTION_KEYS, range.end - j0), j0 == range.first);
    for (int64_t r = 0; r < k->m; r++) {
        float *dquery = attention_rows(&t->dquery, k->i0 + r, k->b, k->h);
        for (int64_t d = 0; d < D; d++)
            dquery[d] = range.end > range.first ? k->dq[r * D + d] : 0;
    }
}

static void attention_grad_task(void *arg, int64_t task, int member)
{
    const struct attention_grad *t = arg;
    struct attention_grad_block k = {.t = t, .b = task / t->G, .g = task % t->G};
    int64_t rows = cut_min(t->S_q, ATTENTION_QUERIES), heads = t->H / t->G;
    k.stride = cut_min(t->S_k, ATTENTION_KEYS);
    k.p = (float *)(void *)(t->workspace + (size_t)member * t->member_bytes);
    k.dp = k.p + attention_floats(rows * k.stride);
    k.dq = k.dp + attention_floats(rows * k.stride);
    k.factors = k.dq + attention_floats(rows * t->D);
    k.delta = k.factors + attention_floats(k.stride);
    for (int64_t j = 0; j < t->S_k; j++) {
        memset(attention_rows(&t->dkey, j, k.b, k.g), 0, (size_t)t->D * sizeof(float));
        memset(attention_rows(&t->dvalue, j, k.b, k.g), 0, (size_t)t->D * sizeof(float));
    }
    for (k.h = k.g * heads; k.h < (k.g + 1) * heads; k.h++)
        for (k.i0 = 0; k.i0 < t->S_q; k.i0 += ATTENTION_QUERIES) {
            k.m = cut_min(ATTENTION_QUERIES, t->S_q - k.i0);
            attention_grad_queries(&k);
        }
}

void tri_fast_attention_backward(struct tri_queue *q, struct tri_tensor dquery,
                                 struct tri_tensor dkey, struct tri_tensor dvalue,
                                 struct tri_tensor dout, struct tri_tensor out,
                                 struct tri_tensor lse, struct tri_tensor query,
                                 struct tri_tensor key, struct tri_tensor value,
                                 const struct tri_attention *attention, void *workspace)
{
    struct attention_grad t = {.dquery = dquery,
                               .dkey = dkey,
                               .dvalue = dvalue,
                               .dout = dout,
                               .out = out,
                               .lse = lse,
                               .query = query,
                               .key = key,
                               .value = value,
                               .a = attention,
                               .workspace = workspace,
                               .S_q = query.dims[0],
                               .S_k = key.dims[0],
                               .H = query.dims[2],
                               .G = key.dims[2],
                               .D = query.dims[3]};
    t.member_bytes = (size_t)attention_grad_floats(t.S_q, t.S_k, t.D) * sizeof(float);
    tri_team_run(q->team, attention_grad_task, &t, query.dims[1] * t.G);
}

struct sink_grad {
    struct tri_tensor dsink, dout, out, lse, sink;
};

/* One head: its queries in order, summed in double. */
static void sink_grad_task(void *arg, int64_t h, int member)
{
    (void)member;
    const struct sink_grad *t = arg;
    const struct tri_tensor *lse = &t->lse;
    float z = tri_tensor_f32(&t->sink)[h];
    double sum = 0;
    for (int64_t b = 0; b < t->out.dims[1]; b++)
        for (int64_t i = 0; i < t->out.dims[0]; i++) {
            float row = tri_tensor_f32(
                lse)[b * lse->strides[0] + h * lse->strides[1] + i * lse->strides[2]];
            sum += (double)expf(z - row) * (double)attention_delta(&t->dout, &t->out, i, b, h);
        }
    tri_tensor_f32(&t->dsink)[h] -= (float)sum;
}

void tri_fast_attention_sink_backward(struct tri_queue *q, struct tri_tensor dsink,
                                      struct tri_tensor dout, struct tri_tensor out,
                                      struct tri_tensor lse, struct tri_tensor sink)
{
    struct sink_grad t = {.dsink = dsink, .dout = dout, .out = out, .lse = lse, .sink = sink};
    tri_team_run(q->team, sink_grad_task, &t, out.dims[2]);
}
