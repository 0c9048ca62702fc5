/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's limit: what a plain matrix product reaches on all ranks at once. */
#include "train/metrics.h"

#include "base/cancel.h"

#include <stdlib.h>

#define SIDE        768
#define MIN_SECONDS 0.1

/* The best of several products, each timed alone. */
static double best_rate(struct tri_context *context, float *a, float *b, float *c, void *workspace)
{
    struct tri_tensor ta = tri_tensor_f32_2d(a, SIDE, SIDE), tb = tri_tensor_f32_2d(b, SIDE, SIDE);
    struct tri_tensor tc = tri_tensor_f32_2d(c, SIDE, SIDE);
    double flops = 2.0 * SIDE * SIDE * SIDE, best = 0;
    for (double start = tri_clock_seconds(); tri_clock_seconds() - start < MIN_SECONDS;) {
        double before = tri_clock_seconds();
        context->update->gemm(&context->queue, tc, ta, tb, false, true, 0.0f, workspace);
        double rate = flops / (tri_clock_seconds() - before);
        best = rate > best ? rate : best;
    }
    return best;
}

tri_status tri_measure_limit(struct tri_session *session, double *flops_per_second)
{
    struct tri_context *context = session->context;
    size_t scratch = tri_kernels_scratch(context->update->name)
                         ->gemm(SIDE, SIDE, SIDE, tri_team_size(session->team));
    size_t bytes = 3 * SIDE * SIDE * sizeof(float) + scratch;
    float *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!block)
        return tri_error_set(session->err, TRI_NOMEM,
                             "out of memory to measure the machine's limit");
    for (int i = 0; i < 3 * SIDE * SIDE; i++)
        block[i] = (float)(i % 7) - 3.0f;
    tri_status status = tri_group_barrier(context->all);
    double rate = best_rate(context, block, block + SIDE * SIDE, block + 2 * SIDE * SIDE,
                            block + 3 * SIDE * SIDE);
    free(block);
    if (status == TRI_OK)
        status = tri_group_all_reduce(context->all, &rate, 1, TRI_DTYPE_F64, TRI_REDUCE_SUM);
    if (status == TRI_OK)
        *flops_per_second = rate;
    return status;
}
