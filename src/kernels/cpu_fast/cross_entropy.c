/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vocabulary-parallel cross entropy, a row at a time: exp in eight lanes, sums in fp32 over chunks
 * of columns and in double over the chunks.
 */
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/cpu_fast/vmath.h"
#include "kernels/rows.h"

#define CHUNK 1024 /* columns summed in fp32 */

struct cross_entropy {
    struct tri_rows logits;
    float *row_max, *row_sum, *target;
    float *moment; /* NULL: not wanted */
    const int32_t *labels;
    const float *weights;
    float seed;
    float softcap; /* backward; 0: none */
    int64_t B, first_column, valid;
    struct fast_cut cut;
};

static struct cross_entropy ce_make(struct tri_tensor logits, int64_t first_column,
                                    int64_t num_valid)
{
    struct cross_entropy t = {
        .logits = tri_rows_of(logits), .B = tri_rows_batch(&logits), .first_column = first_column};
    int64_t valid = num_valid - first_column;
    t.valid = cut_min(valid > 0 ? valid : 0, t.logits.columns);
    t.cut = fast_cut_rows(t.logits.num, t.logits.columns);
    return t;
}

/* Where row r lies in labels and weights [B, S]. */
static int64_t ce_index(const struct cross_entropy *t, int64_t r)
{
    return r % t->B * (t->logits.num / t->B) + r / t->B;
}

static float ce_row_max(const float *x, int64_t n)
{
    v8f m0 = v8_set(-INFINITY), m1 = m0;
    int64_t c = 0;
    for (; c + 2 * V8 <= n; c += 2 * V8) {
        m0 = v8_max(v8_load(x + c), m0);
        m1 = v8_max(v8_load(x + c + V8), m1);
    }
    float max = v8_max_lane(v8_max(m0, m1));
    for (; c < n; c++)
        max = x[c] > max ? x[c] : max;
    return max;
}

static void ce_max_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct cross_entropy *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++)
        t->row_max[r] = ce_row_max(tri_rows_get(&t->logits, r), t->valid);
}

void tri_fast_ce_max(struct tri_queue *q, struct tri_tensor row_max, struct tri_tensor logits,
                     int64_t first_column, int64_t num_valid)
{
    struct cross_entropy t = ce_make(logits, first_column, num_valid);
    t.row_max = tri_tensor_f32(&row_max);
    tri_team_run(q->team, ce_max_task, &t, t.cut.num_tasks);
}

/* Sum of exp(x - max) over n <= CHUNK columns. */
static float ce_chunk_sum(const float *x, float max, int64_t n)
{
    v8f s0 = v8_set(0), s1 = s0, m = v8_set(max);
    int64_t c = 0;
    for (; c + 2 * V8 <= n; c += 2 * V8) {
        s0 += v8_exp(v8_load(x + c) - m);
        s1 += v8_exp(v8_load(x + c + V8) - m);
    }
    for (; c < n; c += V8)
        s0 += v8_exp(v8_load_part(x + c, n - c, -INFINITY) - m);
    return v8_sum(s0 + s1);
}

/* The same sum, bit for bit, and *moment += the sum of exp(x - max) (x - max). Where exp is 0, x may be minus
   infinity. */
static float ce_chunk_moment(const float *x, float max, int64_t n, double *moment)
{
    v8f s0 = v8_set(0), s1 = s0, t0 = s0, t1 = s0, m = v8_set(max), least = v8_set(-100);
    int64_t c = 0;
    for (; c + 2 * V8 <= n; c += 2 * V8) {
        v8f d0 = v8_load(x + c) - m, d1 = v8_load(x + c + V8) - m;
        v8f e0 = v8_exp(d0), e1 = v8_exp(d1);
        s0 += e0;
        s1 += e1;
        t0 += e0 * v8_max(least, d0);
        t1 += e1 * v8_max(least, d1);
    }
    for (; c < n; c += V8) {
        v8f d0 = v8_load_part(x + c, n - c, -INFINITY) - m, e0 = v8_exp(d0);
        s0 += e0;
        t0 += e0 * v8_max(least, d0);
    }
    *moment += v8_sum(t0 + t1);
    return v8_sum(s0 + s1);
}

static void ce_sum_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct cross_entropy *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        const float *x = tri_rows_get(&t->logits, r);
        float max = t->row_max[r];
        double sum = 0, moment = 0;
        for (int64_t c = 0; c < t->valid; c += CHUNK) {
            int64_t n = cut_min(CHUNK, t->valid - c);
            sum +=
                t->moment ? ce_chunk_moment(x + c, max, n, &moment) : ce_chunk_sum(x + c, max, n);
        }
        int64_t label = t->labels[ce_index(t, r)], column = label - t->first_column;
        bool owned = label >= 0 && column >= 0 && column < t->valid;
        t->row_sum[r] = (float)sum;
        t->target[r] = owned ? x[column] - max : 0;
        if (t->moment)
            t->moment[r] = (float)moment;
    }
}

void tri_fast_ce_sum(struct tri_queue *q, struct tri_tensor row_sum, struct tri_tensor target,
                     struct tri_tensor moment, struct tri_tensor logits, struct tri_tensor row_max,
                     const int32_t *labels, int64_t first_column, int64_t num_valid)
{
    struct cross_entropy t = ce_make(logits, first_column, num_valid);
    t.row_max = tri_tensor_f32(&row_max);
    t.row_sum = tri_tensor_f32(&row_sum);
    t.target = tri_tensor_f32(&target);
    t.moment = tri_tensor_f32(&moment);
    t.labels = labels;
    tri_team_run(q->team, ce_sum_task, &t, t.cut.num_tasks);
}

/* softmax * factor, times the slope of a soft cap: bend is one over the cap, 0 without */
static inline v8f ce_gradient(v8f x, v8f max, v8f scale, v8f bend)
{
    v8f bent = x * bend;
    return v8_exp(x - max) * scale * (v8_set(1.0f) - bent * bent);
}

/* x = (exp(x - max) / sum - onehot) * factor * slope on the valid columns, 0 on the others */
static void ce_row_backward(const struct cross_entropy *t, int64_t r)
{
    float *x = tri_rows_get(&t->logits, r);
    int64_t index = ce_index(t, r), label = t->labels[index], column = label - t->first_column;
    float factor = t->weights ? t->weights[index] * t->seed : t->seed;
    int64_t n = label < 0 ? 0 : t->valid, c = 0;
    v8f m = v8_set(t->row_max[r]), scale = v8_set(factor / t->row_sum[r]);
    float bend = t->softcap > 0 ? 1 / t->softcap : 0;
    bool has_label = column >= 0 && column < n;
    float bent = has_label ? x[column] * bend : 0;
    for (; c + V8 <= n; c += V8)
        v8_store(x + c, ce_gradient(v8_load(x + c), m, scale, v8_set(bend)));
    if (c < n)
        v8_store_part(x + c, ce_gradient(v8_load_part(x + c, n - c, 0), m, scale, v8_set(bend)),
                      n - c);
    if (has_label)
        x[column] -= factor * (1 - bent * bent);
    memset(x + n, 0, (size_t)(t->logits.columns - n) * sizeof(*x));
}

static void ce_backward_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct cross_entropy *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++)
        ce_row_backward(t, r);
}

void tri_fast_ce_backward(struct tri_queue *q, struct tri_tensor logits, struct tri_tensor row_max,
                          struct tri_tensor row_sum, const int32_t *labels, const float *weights,
                          float seed, float softcap, int64_t first_column, int64_t num_valid)
{
    struct cross_entropy t = ce_make(logits, first_column, num_valid);
    t.row_max = tri_tensor_f32(&row_max);
    t.row_sum = tri_tensor_f32(&row_sum);
    t.labels = labels;
    t.weights = weights;
    t.seed = seed;
    t.softcap = softcap;
    tri_team_run(q->team, ce_backward_task, &t, t.cut.num_tasks);
}
