/* SPDX-License-Identifier: Apache-2.0 */
/* One stage, one slice: the forward and the backward of each microbatch in turn. */
#include "placement/schedule_rows.h"

static tri_status no_pipelining_plan(const struct tri_schedule_input *input, tri_arena *arena,
                                     tri_error *err, struct tri_schedule *schedule)
{
    if (input->num_stages != 1 || input->num_slices != 1)
        return tri_error_add(
            err, TRI_INVALID,
            "schedule 'no_pipelining' is for one stage with one slice, and there are "
            "%d with %d; use 'auto'",
            input->num_stages, input->num_slices);
    struct tri_rank_schedule *rank = tri_arena_alloc(arena, sizeof(*rank));
    TRI_CHECK(rank, err, TRI_NOMEM, "out of memory while scheduling");
    struct tri_schedule_builder builder;
    tri_schedule_builder_init(&builder, input, 0, arena);
    for (int i = 0; i < input->num_microbatches; i++) {
        tri_schedule_build_forward(&builder, i, 0);
        if (!input->forward_only)
            tri_schedule_build_backward(&builder, i, 0);
    }
    TRI_TRY(tri_schedule_build_end(&builder, err, rank));
    *schedule = (struct tri_schedule){.name = "no_pipelining",
                                      .num_stages = 1,
                                      .num_slices = 1,
                                      .num_microbatches = input->num_microbatches,
                                      .ranks = rank};
    return TRI_OK;
}

const struct tri_schedule_row tri_schedule_no_pipelining = {"no_pipelining", no_pipelining_plan};
