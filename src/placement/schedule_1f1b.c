/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One slice per stage: stage r of p runs w = min(p - r - 1, m) forwards ahead, then a forward and a
 * backward in turn, then the backwards that are left. It holds w + 1 microbatches at most.
 */
#include "placement/schedule_rows.h"

static tri_status one_forward_plan_stage(const struct tri_schedule_input *input, int stage,
                                         tri_arena *arena, tri_error *err,
                                         struct tri_rank_schedule *rank)
{
    int m = input->num_microbatches, ahead = input->num_stages - stage - 1;
    if (ahead > m || input->forward_only)
        ahead = m;
    struct tri_schedule_builder builder;
    tri_schedule_builder_init(&builder, input, stage, arena);
    for (int i = 0; i < ahead; i++)
        tri_schedule_build_forward(&builder, i, 0);
    for (int i = 0; i < m && !input->forward_only; i++) {
        if (ahead + i < m)
            tri_schedule_build_forward(&builder, ahead + i, 0);
        tri_schedule_build_backward(&builder, i, 0);
    }
    return tri_schedule_build_end(&builder, err, rank);
}

static tri_status one_forward_plan(const struct tri_schedule_input *input, tri_arena *arena,
                                   tri_error *err, struct tri_schedule *schedule)
{
    if (input->num_slices != 1)
        return tri_error_add(err, TRI_INVALID,
                             "schedule '1f1b' is for one slice per stage, and there are %d; use "
                             "'interleaved' or 'auto'",
                             input->num_slices);
    int p = input->num_stages;
    struct tri_rank_schedule *ranks = tri_arena_alloc(arena, (size_t)p * sizeof(*ranks));
    TRI_CHECK(ranks, err, TRI_NOMEM, "out of memory while scheduling");
    for (int stage = 0; stage < p; stage++)
        TRI_TRY(one_forward_plan_stage(input, stage, arena, err, &ranks[stage]));
    *schedule = (struct tri_schedule){.name = "1f1b",
                                      .num_stages = p,
                                      .num_slices = 1,
                                      .num_microbatches = input->num_microbatches,
                                      .ranks = ranks};
    return TRI_OK;
}

const struct tri_schedule_row tri_schedule_1f1b = {"1f1b", one_forward_plan};
