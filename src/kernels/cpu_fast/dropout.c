/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout by counter, eight counters (32 columns) at a time: the loops over eight lanes become
 * vector instructions. No mask is stored.
 */
#include "base/rng.h"
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/rows.h"

#define GROUP   (4 * V8) /* columns of eight counters */
#define FACTORS 1024     /* columns whose factors are made at once */

/* lanes[l][i] = word l of Philox4x32-10 for counter (sample, row, first_quad + i) */
static inline void philox8(uint32_t lanes[4][V8], const struct tri_dropout *dropout,
                           uint64_t sample, uint32_t row, uint32_t first_quad)
{
    uint32_t k0 = dropout->key[0], k1 = dropout->key[1];
    uint32_t x0[V8], x1[V8], x2[V8], x3[V8];
    for (uint32_t i = 0; i < V8; i++) {
        x0[i] = (uint32_t)sample;
        x1[i] = (uint32_t)(sample >> 32);
        x2[i] = row;
        x3[i] = first_quad + i;
    }
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < V8; i++) {
            uint64_t p0 = (uint64_t)0xd2511f53u * x0[i], p1 = (uint64_t)0xcd9e8d57u * x2[i];
            x0[i] = (uint32_t)(p1 >> 32) ^ x1[i] ^ k0;
            x1[i] = (uint32_t)p1;
            x2[i] = (uint32_t)(p0 >> 32) ^ x3[i] ^ k1;
            x3[i] = (uint32_t)p0;
        }
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    memcpy(lanes[0], x0, sizeof(x0));
    memcpy(lanes[1], x1, sizeof(x1));
    memcpy(lanes[2], x2, sizeof(x2));
    memcpy(lanes[3], x3, sizeof(x3));
}

static void dropout_group(float factors[GROUP], const struct tri_dropout *dropout, uint64_t sample,
                          uint32_t row, uint32_t first_quad)
{
    uint32_t lanes[4][V8];
    philox8(lanes, dropout, sample, row, first_quad);
    for (int i = 0; i < V8; i++)
        for (int l = 0; l < 4; l++)
            factors[4 * i + l] = lanes[l][i] >= dropout->threshold ? dropout->scale : 0.0f;
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
    for (int64_t i = 0; d->threshold == 0 && i < FACTORS; i++)
        factors[i] = 1;
    for (int64_t c = 0; c < piece.count; c += FACTORS) {
        int64_t count = cut_min(FACTORS, piece.count - c), column = piece.first_column + c;
        if (d->threshold != 0)
            tri_fast_dropout_factors(factors, d, d->sample_ids[r % t->B],
                                     d->first_position + r / t->B, d->first_column + column, count);
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
