/* SPDX-License-Identifier: Apache-2.0 */
/* y[R, C] += bias[C], and its gradient: fixed blocks of rows, each summed in row order. */
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/rows.h"

struct bias {
    struct tri_rows rows;
    const float *bias;
    float *partial; /* [num_blocks, stride] */
    int64_t block_rows, stride;
    struct fast_cut cut;
};

static void bias_add_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct bias *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    const float *bias = t->bias + piece.first_column;
    for (int64_t r = piece.first_row; r < piece.end_row; r++) {
        float *y = tri_rows_get(&t->rows, r) + piece.first_column;
        for (int64_t c = 0; c < piece.count; c++)
            y[c] += bias[c];
    }
}

void tri_fast_bias_add(struct tri_queue *q, struct tri_tensor y, struct tri_tensor bias)
{
    struct bias t = {.rows = tri_rows_of(y), .bias = tri_tensor_f32(&bias)};
    t.cut = fast_cut(t.rows.num, t.rows.columns);
    tri_team_run(q->team, bias_add_task, &t, t.cut.num_tasks);
}

static void bias_backward_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct bias *t = arg;
    int64_t C = t->rows.columns, first = task * t->block_rows;
    int64_t end = cut_min(first + t->block_rows, t->rows.num);
    float *sum = t->partial + task * t->stride;
    memset(sum, 0, (size_t)C * sizeof(*sum));
    for (int64_t r = first; r < end; r++) {
        const float *dy = tri_rows_get(&t->rows, r);
        for (int64_t c = 0; c < C; c++)
            sum[c] += dy[c];
    }
}

void tri_fast_bias_backward(struct tri_queue *q, struct tri_tensor dbias, struct tri_tensor dy,
                            void *workspace)
{
    struct bias t = {.rows = tri_rows_of(dy), .partial = workspace};
    if (t.rows.num == 0)
        return;
    t.block_rows = fast_block_rows(t.rows.num);
    t.stride = fast_partial_stride(t.rows.columns);
    int64_t num = fast_num_blocks(t.rows.num);
    tri_team_run(q->team, bias_backward_task, &t, num);
    tri_fast_add_partials(q->team, tri_tensor_f32(&dbias), t.partial, num, t.stride,
                          t.rows.columns);
}

size_t tri_fast_bias_backward_bytes(int64_t R, int64_t C, int team_size)
{
    (void)team_size;
    return fast_partial_bytes(R, C, 1);
}
