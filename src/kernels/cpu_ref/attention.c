/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention by plain online softmax: one query at a time walks the keys it sees and keeps a running
 * maximum, a running sum and the weighted values; no row of scores is ever stored. Head h reads
 * key/value head h / (H / G). out [S_q, B, H, D], lse [B, H, S_q]. Dots and sums are in double.
 */
#include "kernels/cpu_ref/cpu_ref.h"

#include <math.h>

/* Widest head; a query's weighted values lie on the stack. */
#define PART                                                                                       \
    1024 /* channels that are summed up at once; of wider heads the scores are made again */

/* Row [D] of head h at position s of batch row b in [S, B, H, D]. */
static float *attention_row(const struct tri_tensor *t, int64_t s, int64_t b, int64_t h)
{
    return tri_tensor_f32(t) + s * t->strides[0] + b * t->strides[1] + h * t->strides[2];
}

static float *attention_lse(const struct tri_tensor *lse, int64_t b, int64_t h, int64_t i)
{
    return tri_tensor_f32(lse) + b * lse->strides[0] + h * lse->strides[1] + i * lse->strides[2];
}

static double attention_dot(const float *a, const float *b, int64_t D)
{
    double sum = 0;
    for (int64_t d = 0; d < D; d++)
        sum += (double)a[d] * b[d];
    return sum;
}

/* Does the query at a position see key j? num_keys is S_k. */
static bool attention_sees(const struct tri_attention *attention, int64_t b, int64_t position,
                           int64_t j, int64_t num_keys)
{
    if (attention->causal && j > position)
        return false;
    if (attention->window > 0 && position - j >= attention->window)
        return false;
    const int32_t *segments = attention->segments;
    return !segments || segments[b * num_keys + j] == segments[b * num_keys + position];
}

static float attention_factor(const struct tri_attention *attention, int64_t b, int64_t h,
                              int64_t position, int64_t j)
{
    int64_t row = (attention->first_head + h) * attention->seq_length + position;
    return tri_ref_dropout_factor(&attention->dropout, b, row, j);
}

static double attention_cap(const struct tri_attention *attention, double score)
{
    double cap = attention->softcap;
    return cap > 0 ? cap * tanh(score / cap) : score;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* One query: out = sum of p_j factor_j v_j, p = softmax(scale q.k_j), from channel first on; returns the log of
   the sum. A sink is where the sum starts. */
static float attention_query(float *out, const float *qp, const struct tri_tensor *key,
                             const struct tri_tensor *value, const struct tri_attention *attention,
                             int64_t i, int64_t b, int64_t h, int64_t g, int64_t first)
{
    int64_t S_k = key->dims[0], D = key->dims[3], position = attention->query_offset + i;
    int64_t width = smaller(D - first, PART);
    double max = -INFINITY, sum = 0, weighted[PART] = {0};
    if (attention->has_sink) {
        max = attention->sink ? attention->sink[h] : 0;
        sum = 1;
    }
    for (int64_t j = 0; j < S_k; j++) {
        if (!attention_sees(attention, b, position, j, S_k))
            continue;
        double dot = attention_dot(qp, attention_row(key, j, b, g), D);
        double score = attention_cap(attention, attention->scale * dot);
        if (score > max) {
            double shrink = exp(max - score);
            sum *= shrink;
            for (int64_t d = 0; d < width; d++)
                weighted[d] *= shrink;
            max = score;
        }
        double p = exp(score - max);
        double kept = p * attention_factor(attention, b, h, position, j);
        const float *vp = attention_row(value, j, b, g) + first;
        sum += p;
        for (int64_t d = 0; d < width; d++)
            weighted[d] += kept * vp[d];
    }
    for (int64_t d = 0; d < width; d++)
        out[first + d] = sum > 0 ? (float)(weighted[d] / sum) : 0;
    return sum > 0 ? (float)(max + log(sum)) : -INFINITY;
}

void tri_ref_attention(struct tri_queue *q, struct tri_tensor out, struct tri_tensor lse,
                       struct tri_tensor query, struct tri_tensor key, struct tri_tensor value,
                       const struct tri_attention *attention, void *workspace)
{
    (void)q;
    (void)workspace;
    int64_t S_q = query.dims[0], B = query.dims[1], H = query.dims[2], G = key.dims[2];
    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < H; h++)
            for (int64_t i = 0; i < S_q; i++)
                for (int64_t first = 0; first < query.dims[3]; first += PART)
                    *attention_lse(&lse, b, h, i) = attention_query(
                        attention_row(&out, i, b, h), attention_row(&query, i, b, h), &key, &value,
                        attention, i, b, h, h / (H / G), first);
}

struct attention_grads {
    struct tri_tensor dquery, dkey, dvalue, dout, out, lse, query, key, value;
    const struct tri_attention *attention;
};

/*
 * One query i, over the keys j it sees, with p_j = exp(scale q.k_j - lse) and f_j the dropout factor:
 *   dv_j += p_j f_j dout
 *   ds_j = p_j (f_j dout.v_j - dout.out) scale, with a cap times 1 - tanh^2
 *   dq  += ds_j k_j,  dk_j += ds_j q
 */
static void attention_query_backward(const struct attention_grads *t, int64_t i, int64_t b,
                                     int64_t h, int64_t g, int64_t first)
{
    int64_t S_k = t->key.dims[0], D = t->key.dims[3];
    int64_t position = t->attention->query_offset + i;
    const float *qp = attention_row(&t->query, i, b, h), *dop = attention_row(&t->dout, i, b, h);
    float *dqp = attention_row(&t->dquery, i, b, h);
    double lse = *attention_lse(&t->lse, b, h, i), scale = t->attention->scale;
    double cap = t->attention->softcap;
    double delta = attention_dot(dop, attention_row(&t->out, i, b, h), D);
    int64_t width = smaller(D - first, PART);
    double dq[PART] = {0};
    for (int64_t j = 0; j < S_k; j++) {
        if (!attention_sees(t->attention, b, position, j, S_k))
            continue;
        const float *kp = attention_row(&t->key, j, b, g), *vp = attention_row(&t->value, j, b, g);
        float *dkp = attention_row(&t->dkey, j, b, g), *dvp = attention_row(&t->dvalue, j, b, g);
        double score = attention_cap(t->attention, scale * attention_dot(qp, kp, D));
        double slope = cap > 0 ? 1 - score / cap * (score / cap) : 1;
        double p = exp(score - lse);
        double factor = attention_factor(t->attention, b, h, position, j);
        double ds = p * (factor * attention_dot(dop, vp, D) - delta) * scale * slope;
        for (int64_t d = 0; d < width; d++) {
            dq[d] += ds * kp[first + d];
            dkp[first + d] += (float)(ds * qp[first + d]);
            dvp[first + d] += (float)(p * factor * dop[first + d]);
        }
    }
    for (int64_t d = 0; d < width; d++)
        dqp[first + d] = (float)dq[d];
}

/* dkey and dvalue gather over the heads of their group, then over queries, in this order. */
void tri_ref_attention_backward(struct tri_queue *q, struct tri_tensor dquery,
                                struct tri_tensor dkey, struct tri_tensor dvalue,
                                struct tri_tensor dout, struct tri_tensor out,
                                struct tri_tensor lse, struct tri_tensor query,
                                struct tri_tensor key, struct tri_tensor value,
                                const struct tri_attention *attention, void *workspace)
{
    (void)workspace;
    const struct attention_grads t = {.dquery = dquery,
                                      .dkey = dkey,
                                      .dvalue = dvalue,
                                      .dout = dout,
                                      .out = out,
                                      .lse = lse,
                                      .query = query,
                                      .key = key,
                                      .value = value,
                                      .attention = attention};
    int64_t S_q = query.dims[0], B = query.dims[1], H = query.dims[2], G = key.dims[2];
    tri_ref_fill(q, dkey, 0);
    tri_ref_fill(q, dvalue, 0);
    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < H; h++)
            for (int64_t i = 0; i < S_q; i++)
                for (int64_t first = 0; first < query.dims[3]; first += PART)
                    attention_query_backward(&t, i, b, h, h / (H / G), first);
}

void tri_ref_attention_sink_backward(struct tri_queue *q, struct tri_tensor dsink,
                                     struct tri_tensor dout, struct tri_tensor out,
                                     struct tri_tensor lse, struct tri_tensor sink)
{
    (void)q;
    int64_t S = out.dims[0], B = out.dims[1], H = out.dims[2], D = out.dims[3];
    for (int64_t h = 0; h < H; h++) {
        double z = tri_tensor_f32(&sink)[h], sum = 0;
        for (int64_t b = 0; b < B; b++)
            for (int64_t i = 0; i < S; i++)
                sum +=
                    exp(z - *attention_lse(&lse, b, h, i)) *
                    attention_dot(attention_row(&dout, i, b, h), attention_row(&out, i, b, h), D);
        tri_tensor_f32(&dsink)[h] -= (float)sum;
    }
}
