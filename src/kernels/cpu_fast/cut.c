/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of a sum over rows: partial rows are added in block order. */
#include "kernels/cpu_fast/cut.h"

struct partials {
    float *sum;
    const float *partial;
    int64_t num, stride;
    struct fast_cut cut;
};

static void partials_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct partials *t = arg;
    struct fast_piece piece = fast_cut_piece(&t->cut, task);
    float *sum = t->sum + piece.first_column;
    const float *partial = t->partial + piece.first_column;
    int64_t c = 0;
    for (; c + V8 <= piece.count; c += V8) {
        v8f total = v8_load(partial + c);
        for (int64_t i = 1; i < t->num; i++)
            total += v8_load(partial + i * t->stride + c);
        v8_store(sum + c, v8_load(sum + c) + total);
    }
    for (; c < piece.count; c++) {
        float total = partial[c];
        for (int64_t i = 1; i < t->num; i++)
            total += partial[i * t->stride + c];
        sum[c] += total;
    }
}

void tri_fast_add_partials(tri_team *team, float *sum, const float *partial, int64_t num,
                           int64_t stride, int64_t C)
{
    struct partials t = {.sum = sum,
                         .partial = partial,
                         .num = num,
                         .stride = stride,
                         .cut = {.R = 1,
                                 .C = C,
                                 .row_step = 1,
                                 .column_step = 256,
                                 .column_tasks = cut_ceil(C, 256),
                                 .num_tasks = cut_ceil(C, 256)}};
    tri_team_run(team, partials_task, &t, t.cut.num_tasks);
}
