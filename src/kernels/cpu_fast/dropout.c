/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout by counter, eight counters (32 columns) at a time. No mask is stored.
 */
#include "base/rng.h"
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/rows.h"

#define GROUP   (4 * V8) /* columns of eight counters */
#define FACTORS 1024     /* columns whose factors are made at once */

/* The words *high and *low of factor * x, lane by lane. */
static inline void multiply8(v8u x, uint32_t factor, v8u *high, v8u *low)
{
    const v8u f = {factor, factor, factor, factor, factor, factor, factor, factor};
    v4u even = v8_multiply_even(x, f), odd = v8_multiply_even((v8u)((v4u)x >> 32), f);
    *high = (v8u)((even >> 32) | (odd & 0xffffffff00000000u));
    *low = (v8u)((even & 0xffffffffu) | (odd << 32));
}

/* Word l of Philox4x32-10 for counters (sample, row, first_quad + lane) in x[l]. */
static inline void philox8(v8u x[4], const struct tri_dropout *dropout, uint64_t sample,
                           uint32_t row, uint32_t first_quad)
{
    uint32_t k0 = dropout->key[0], k1 = dropout->key[1];
    const v8u count = {0, 1, 2, 3, 4, 5, 6, 7}, zero = {0};
    x[0] = zero + (uint32_t)sample;
    x[1] = zero + (uint32_t)(sample >> 32);
    x[2] = zero + row;
    x[3] = count + first_quad;
    for (int round = 0; round < 10; round++) {
        v8u high0, low0, high1, low1;
        multiply8(x[0], 0xd2511f53u, &high0, &low0);
        multiply8(x[2], 0xcd9e8d57u, &high1, &low1);
        x[0] = high1 ^ x[1] ^ (zero + k0);
        x[1] = low1;
        x[2] = high0 ^ x[3] ^ (zero + k1);
        x[3] = low0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

static inline void store_factors(float *factors, v8u words, const struct tri_dropout *dropout)
{
    const v8u zero = {0};
    v8i keep = (v8i)(words >= zero + dropout->threshold);
    v8_store(factors, v8_select(keep, v8_set(dropout->scale), v8_set(0)));
}

/* Lane i of the four words is columns 4 i .. 4 i + 3: a transposition, in three steps of pairs. */
static void dropout_group(float factors[GROUP], const struct tri_dropout *dropout, uint64_t sample,
                          uint32_t row, uint32_t first_quad)
{
    v8u x[4];
    philox8(x, dropout, sample, row, first_quad);
    v8u a = __builtin_shufflevector(x[0], x[1], 0, 8, 1, 9, 4, 12, 5, 13);
    v8u b = __builtin_shufflevector(x[0], x[1], 2, 10, 3, 11, 6, 14, 7, 15);
    v8u c = __builtin_shufflevector(x[2], x[3], 0, 8, 1, 9, 4, 12, 5, 13);
    v8u d = __builtin_shufflevector(x[2], x[3], 2, 10, 3, 11, 6, 14, 7, 15);
    v8u e = __builtin_shufflevector(a, c, 0, 1, 8, 9, 4, 5, 12, 13);   /* quads 0, 4 */
    v8u f = __builtin_shufflevector(a, c, 2, 3, 10, 11, 6, 7, 14, 15); /* 1, 5 */
    v8u g = __builtin_shufflevector(b, d, 0, 1, 8, 9, 4, 5, 12, 13);   /* 2, 6 */
    v8u h = __builtin_shufflevector(b, d, 2, 3, 10, 11, 6, 7, 14, 15); /* 3, 7 */
    store_factors(factors, __builtin_shufflevector(e, f, 0, 1, 2, 3, 8, 9, 10, 11), dropout);
    store_factors(factors + 8, __builtin_shufflevector(g, h, 0, 1, 2, 3, 8, 9, 10, 11), dropout);
    store_factors(factors + 16, __builtin_shufflevector(e, f, 4, 5, 6, 7, 12, 13, 14, 15), dropout);
    store_factors(factors + 24, __builtin_shufflevector(g, h, 4, 5, 6, 7, 12, 13, 14, 15), dropout);
}

void tri_fast_dropout_factors(float *factors, const struct tri_dropout *dropout, int64_t sample,
                              int64_t row, int64_t first_column, int64_t count)
{
    int64_t quad = first_column / 4, skip = first_column % 4, done = 0;
    float group[GROUP];
    while (done < count) {
        int64_t take = cut_min(GROUP - skip, count - done);
        bool is_whole = take == GROUP;
        dropout_group(is_whole ? factors + done : group, dropout, (uint64_t)sample, (uint32_t)row,
                      (uint32_t)quad);
        if (!is_whole)
            memcpy(factors + done, group + skip, (size_t)take * sizeof(*factors));
        done += take;
        quad += V8;
        skip = 0;
    }
}

struct dropout {
    struct tri_rows y, x, residual; /* residual.data NULL: none */
    const struct tri_dropout *dropout;
    int64_t B;
    struct fast_cut cut;
};

/* y = residual + factor * x on n columns */
static void dropout_apply(float *y, const float *x, const float *residual, const float *factors,
                          int64_t n)
{
    int64_t c = 0;
    for (; c + V8 <= n; c += V8) {
        v8f base = residual ? v8_load(residual + c) : v8_set(0.0f);
        v8_store(y + c, v8_load(factors + c) * v8_load(x + c) + base);
    }
    if (c < n) {
        v8f base = residual ? v8_load_part(residual + c, n - c, 0) : v8_set(0.0f);
        v8f kept = v8_load_part(factors + c, n - c, 0) * v8_load_part(x + c, n - c, 0);
        v8_store_part(y + c, kept + base, n - c);
    }
}

static void dropout_row(const struct dropout *t, int64_t r, struct fast_piece piece)
{
    const struct tri_dropout *d = t->dropout;
    float factors[FACTORS];
    for (int64_t c = 0; c < piece.count; c += FACTORS) {
        int64_t count = cut_min(FACTORS, piece.count - c), column = piece.first_column + c;
        tri_fast_dropout_factors(factors, d, d->sample_ids[r % t->B], d->first_position + r / t->B,
                                 d->first_column + column, count);
        const float *residual = t->residual.data ? tri_rows_get(&t->residual, r) + column : NULL;
        dropout_apply(tri_rows_get(&t->y, r) + column, tri_rows_get(&t->x, r) + column, residual,
                      factors, count);
    }
}

static void dropout_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct dropout *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    for (int64_t r = piece.first_row; r < piece.end_row; r++)
        dropout_row(t, r, piece);
}

void tri_fast_dropout_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor x,
                          struct tri_tensor residual, const struct tri_dropout *dropout)
{
    if (dropout->threshold == 0) {
        if (residual.data)
            tri_fast_add(q, y, x, residual);
        else if (y.data != x.data)
            tri_fast_copy(q, y, x);
        return;
    }
    struct dropout t = {
        .y = tri_rows_of(y), .x = tri_rows_of(x), .dropout = dropout, .B = tri_rows_batch(&y)};
    if (residual.data)
        t.residual = tri_rows_of(residual);
    t.cut = fast_cut(t.y.num, t.y.columns);
    tri_team_run(q->team, dropout_task, &t, t.cut.num_tasks);
}

void tri_fast_dropout_backward(struct tri_queue *q, struct tri_tensor dx, struct tri_tensor dy,
                               const struct tri_dropout *dropout)
{
    tri_fast_dropout_add(q, dx, dy, (struct tri_tensor){.data = NULL}, dropout);
}
