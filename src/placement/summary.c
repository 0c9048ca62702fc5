/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals over all ranks. Ranks of one stage differ in which shards they hold, not in how much:
 * shards of a bucket are equal, and so are the parts that tp cuts. One rank per stage stands for
 * its class.
 */
#include "placement/plan.h"

#include "spec/model_spec.h"

/* Model flops of a step: of one token, times the tokens of the global batch. */
static tri_status summary_flops(const struct tri_placement *placement, tri_error *err,
                                double *flops)
{
    const struct tri_plan_request *request = &placement->request;
    double per_token;
    TRI_TRY(tri_model_flops_per_token(placement->spec, request->seq_length, err, &per_token));
    if (request->forward_only)
        per_token /= 3;
    *flops = per_token * (double)request->global_batch_size * (double)request->seq_length;
    return TRI_OK;
}

tri_status tri_plan_summarise(const struct tri_placement *placement, tri_error *err,
                              struct tri_plan_summary *summary)
{
    struct tri_plan_summary made = {.num_classes = placement->num_stages};
    struct tri_param_count count;
    TRI_TRY(tri_model_count_params(placement->spec, err, &count));
    TRI_TRY(summary_flops(placement, err, &made.flops_per_step));
    made.total_parameters = count.total;
    for (int stage = 0; stage < placement->num_stages; stage++) {
        int rank = tri_grid_move(&placement->grid, 0, TRI_AXIS_PP, stage);
        tri_arena *arena = tri_arena_create();
        TRI_CHECK(arena, err, TRI_NOMEM, "out of memory while summing up the plan");
        struct tri_rank_plan plan;
        tri_status status = tri_rank_plan_make(placement, rank, arena, err, &plan);
        size_t bytes = status == TRI_OK ? plan.total_bytes : 0;
        tri_arena_destroy(&arena);
        TRI_TRY(status);
        if (stage == 0 || bytes > made.heaviest_bytes) {
            made.heaviest_bytes = bytes;
            made.heaviest_rank = rank;
        }
        if (stage == 0 || bytes < made.lightest_bytes)
            made.lightest_bytes = bytes;
    }
    *summary = made;
    return TRI_OK;
}
