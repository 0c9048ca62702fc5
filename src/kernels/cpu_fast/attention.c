/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention by blocks with a running softmax (Dao, Fu, Ermon, Rudra, Re: "FlashAttention", 2022).
 * One task is one block of queries of one head of one batch row: it walks blocks of keys in order,
 *
 *   S = scale Q K^T                        BLAS, [m, n]
 *   new = max(old, rowmax S), P = exp(S - new), sum = sum exp(old - new) + rowsum P
 *   O = O exp(old - new) + P V             BLAS, [m, D]
 *
 * and divides by sum at the end. Keys that no query of the block sees are never touched. A task
 * depends on nothing but its own rows, so the team's size cannot change a bit.
 *
 * Workspace of one member: S [m, n], O [m, D], dropout factors [n], maximum [m], sum [m].
 */
#include "kernels/cpu_fast/attention_block.h"

struct attention {
    struct tri_tensor out, lse, query, key, value;
    const struct tri_attention *a;
    char *workspace;
    size_t member_bytes;
    int64_t S_q, S_k, H, G, D, query_blocks;
};

/* One task's view of it. */
struct attention_task {
    const struct attention *t;
    float *scores, *weighted, *factors, *max, *sum;
    int64_t b, h, g, i0, m, stride; /* stride: of scores */
};

static int64_t attention_member_floats(int64_t S_q, int64_t S_k, int64_t D)
{
    int64_t m = cut_min(S_q, ATTENTION_QUERIES), n = cut_min(S_k, ATTENTION_KEYS);
    return attention_floats(m * n) + attention_floats(m * D) + attention_floats(n) +
           2 * attention_floats(m);
}

size_t tri_fast_attention_bytes(int64_t S_q, int64_t S_k, int64_t B, int64_t H, int64_t G,
                                int64_t D, int team_size)
{
    (void)B;
    (void)H;
    (void)G;
    return (size_t)(attention_member_floats(S_q, S_k, D) * team_size) * sizeof(float);
}

static v8f scores_at(const float *s, int64_t j, int64_t end)
{
    return j + V8 <= end ? v8_load(s + j) : v8_load_part(s + j, end - j, -INFINITY);
}

static float scores_max(const float *s, struct attention_range range)
{
    v8f max = v8_set(-INFINITY);
    for (int64_t j = range.first; j < range.end; j += V8)
        max = v8_max(scores_at(s, j, range.end), max);
    return v8_max_lane(max);
}

/* s = exp(s - max) on the range; returns the sum. */
static float scores_exp(float *s, float max, struct attention_range range)
{
    v8f sum = v8_set(0), m = v8_set(max);
    for (int64_t j = range.first; j < range.end; j += V8) {
        v8f p = v8_exp(scores_at(s, j, range.end) - m);
        sum += p;
        if (j + V8 <= range.end)
            v8_store(s + j, p);
        else
            v8_store_part(s + j, p, range.end - j);
    }
    return v8_sum(sum);
}

/* Row r of a block of scores becomes its part of P; the running maximum and sum, and the row of O,
   move along. Nothing is in O before the first block of keys. */
static void attention_row(const struct attention_task *k, int64_t r, int64_t j0, int64_t n,
                          bool is_first)
{
    const struct attention *t = k->t;
    float *s = k->scores + r * k->stride, *o = k->weighted + r * t->D, old = k->max[r];
    int64_t position = t->a->query_offset + k->i0 + r;
    struct attention_range range = attention_clip(attention_visible(t->a, position, t->S_k), j0, n);
    attention_cap(t->a, s, range);
    attention_mask_segments(t->a, s, k->b, position, j0, range, t->S_k);
    float block_max = scores_max(s, range), max = block_max > old ? block_max : old;
    if (max == -INFINITY)
        range.first = range.end = 0;
    float sum = scores_exp(s, max, range), shrink = max > old ? expf(old - max) : 1;
    k->max[r] = max;
    k->sum[r] = k->sum[r] * shrink + sum;
    for (int64_t d = 0; !is_first && shrink != 1 && d < t->D; d++)
        o[d] *= shrink;
    if (t->a->dropout.threshold != 0 && range.end > range.first) {
        attention_factors(t->a, k->factors, k->b, k->h, position, j0, range);
        for (int64_t j = range.first; j < range.end; j++)
            s[j] *= k->factors[j];
    }
    for (int64_t j = 0; j < range.first; j++)
        s[j] = 0;
    for (int64_t j = range.end; j < n; j++)
        s[j] = 0;
}

static void attention_keys(const struct attention_task *k, int64_t j0, int64_t n, bool is_first)
{
    const struct attention *t = k->t;
    struct tri_blas_matrix q =
        attention_matrix(attention_rows(&t->query, k->i0, k->b, k->h), t->query.strides[0], false);
    struct tri_blas_matrix kt =
        attention_matrix(attention_rows(&t->key, j0, k->b, k->g), t->key.strides[0], true);
    struct tri_blas_matrix p = attention_matrix(k->scores, k->stride, false);
    struct tri_blas_matrix v =
        attention_matrix(attention_rows(&t->value, j0, k->b, k->g), t->value.strides[0], false);
    tri_blas_sgemm(k->scores, k->stride, q, kt, k->m, n, t->D, t->a->scale, 0);
    for (int64_t r = 0; r < k->m; r++)
        attention_row(k, r, j0, n, is_first);
    tri_blas_sgemm(k->weighted, t->D, p, v, k->m, t->D, n, 1, is_first ? 0 : 1);
}

/* The log of row r's sum, *inverse = 1 / sum, both with the sink's part; a row without keys has none but
   that. */
static float attention_sum(const struct attention_task *k, int64_t r, bool none, float *inverse)
{
    const struct tri_attention *a = k->t->a;
    float lse = none ? -INFINITY : k->max[r] + logf(k->sum[r]);
    *inverse = none ? 0 : 1 / k->sum[r];
    if (!a->has_sink)
        return lse;
    float sink = a->sink ? a->sink[k->h] : 0;
    float high = lse > sink ? lse : sink, low = lse > sink ? sink : lse;
    float with_sink = high + log1pf(expf(low - high));
    *inverse *= expf(lse - with_sink);
    return with_sink;
}

/* out = O / sum, lse = max + ln sum; a query that sees no key gets 0 and minus infinity. */
static void attention_finish(const struct attention_task *k, bool is_empty)
{
    const struct attention *t = k->t;
    const struct tri_tensor *lse = &t->lse;
    for (int64_t r = 0; r < k->m; r++) {
        float *out = attention_rows(&t->out, k->i0 + r, k->b, k->h), inverse;
        const float *o = k->weighted + r * t->D;
        bool none = is_empty || k->max[r] == -INFINITY;
        float log_sum = attention_sum(k, r, none, &inverse);
        for (int64_t d = 0; d < t->D; d++)
            out[d] = none ? 0 : o[d] * inverse;
        tri_tensor_f32(
            lse)[k->b * lse->strides[0] + k->h * lse->strides[1] + (k->i0 + r) * lse->strides[2]] =
            log_sum;
    }
}

static void attention_task(void *arg, int64_t task, int member)
{
    const struct attention *t = arg;
    int64_t last = t->query_blocks - 1, row = task / t->query_blocks;
    /* Late queries see most keys; they go first. */
    struct attention_task k = {.t = t, .b = row / t->H, .h = row % t->H};
    k.i0 = (last - task % t->query_blocks) * ATTENTION_QUERIES;
    k.m = cut_min(ATTENTION_QUERIES, t->S_q - k.i0);
    k.g = k.h / (t->H / t->G);
    k.stride = cut_min(t->S_k, ATTENTION_KEYS);
    int64_t rows = cut_min(t->S_q, ATTENTION_QUERIES);
    k.scores = (float *)(void *)(t->workspace + (size_t)member * t->member_bytes);
    k.weighted = k.scores + attention_floats(rows * k.stride);
    k.factors = k.weighted + attention_floats(rows * t->D);
    k.max = k.factors + attention_floats(k.stride);
    k.sum = k.max + attention_floats(rows);
    for (int64_t r = 0; r < k.m; r++) {
        k.max[r] = -INFINITY;
        k.sum[r] = 0;
    }
    struct attention_range range =
        attention_visible_block(t->a, t->a->query_offset + k.i0, k.m, t->S_k);
    for (int64_t j0 = range.first; j0 < range.end; j0 += ATTENTION_KEYS)
        attention_keys(&k, j0, cut_min(ATTENTION_KEYS, range.end - j0), j0 == range.first);
    attention_finish(&k, range.end <= range.first);
}

void tri_fast_attention(struct tri_queue *q, struct tri_tensor out, struct tri_tensor lse,
                        struct tri_tensor query, struct tri_tensor key, struct tri_tensor value,
                        const struct tri_attention *attention, void *workspace)
{
    struct attention t = {.out = out,
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
    t.member_bytes = (size_t)attention_member_floats(t.S_q, t.S_k, t.D) * sizeof(float);
    t.query_blocks = cut_ceil(t.S_q, ATTENTION_QUERIES);
    tri_team_run(q->team, attention_task, &t, query.dims[1] * t.H * t.query_blocks);
}
