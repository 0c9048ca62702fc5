/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several slices per stage. Steps k = 0 .. m v - 1 are numbered in groups of N microbatches: the
 * group on slice 0, then on slice 1, and so on. Forward k runs (microbatch, slice) of step k,
 * backward k the same microbatch on slice v - 1 - slice. Stage r of p runs w = 2 (p - r - 1) + (v
 * - 1) N forwards ahead, then forward w + k and backward k in turn.
 *
 * A group smaller than p would wait for itself: backward k on the last stage needs the first
 * stage's backward of the slice behind, one group earlier, and that comes 2 (p - 1) forwards later
 * there.
 */
#include "placement/schedule_rows.h"

struct step {
    int microbatch, slice;
};

/* Step k of the table. */
static struct step interleaved_step(const struct tri_schedule_input *input, int k)
{
    int full = input->group_size * input->num_slices;
    int first = k / full * input->group_size;
    int group = input->num_microbatches - first;
    if (group > input->group_size)
        group = input->group_size;
    int within = k % full;
    return (struct step){first + within % group, within / group};
}

static void interleaved_forward(struct tri_schedule_builder *builder, int k)
{
    struct step step = interleaved_step(builder->input, k);
    tri_schedule_build_forward(builder, step.microbatch, step.slice);
}

static void interleaved_backward(struct tri_schedule_builder *builder, int k)
{
    struct step step = interleaved_step(builder->input, k);
    tri_schedule_build_backward(builder, step.microbatch,
                                builder->input->num_slices - 1 - step.slice);
}

static tri_status interleaved_plan_stage(const struct tri_schedule_input *input, int stage,
                                         tri_arena *arena, tri_error *err,
                                         struct tri_rank_schedule *rank)
{
    int num_steps = input->num_microbatches * input->num_slices;
    int ahead = 2 * (input->num_stages - stage - 1) + (input->num_slices - 1) * input->group_size;
    if (ahead > num_steps || input->forward_only)
        ahead = num_steps;
    struct tri_schedule_builder builder;
    tri_schedule_builder_init(&builder, input, stage, arena);
    for (int k = 0; k < ahead; k++)
        interleaved_forward(&builder, k);
    for (int k = 0; k < num_steps && !input->forward_only; k++) {
        if (ahead + k < num_steps)
            interleaved_forward(&builder, ahead + k);
        interleaved_backward(&builder, k);
    }
    return tri_schedule_build_end(&builder, err, rank);
}

static bool interleaved_fits(int m, int group, int p)
{
    return m >= group && (m % group == 0 || m % group >= p);
}

static tri_status interleaved_check(const struct tri_schedule_input *input, tri_error *err)
{
    int p = input->num_stages, m = input->num_microbatches, group = input->group_size;
    if (p < 2 || input->num_slices < 2)
        return tri_error_add(
            err, TRI_INVALID,
            "schedule 'interleaved' needs at least 2 stages with 2 slices, and there "
            "are %d with %d; set 'virtual_pipeline_model_parallel_size', or use 'auto'",
            p, input->num_slices);
    if (group < p)
        return tri_error_add(err, TRI_INVALID,
                             "'microbatch_group_size_per_vp_stage' %d is below "
                             "'pipeline_model_parallel_size' %d; use %d or more",
                             group, p, p);
    if (interleaved_fits(m, group, p))
        return TRI_OK;
    int above = m, below = m;
    while (!interleaved_fits(above, group, p))
        above++;
    while (below > 0 && !interleaved_fits(below, group, p))
        below--;
    char lower[32] = "";
    if (below > 0)
        snprintf(lower, sizeof(lower), "%d or ", below);
    return tri_error_add(
        err, TRI_INVALID,
        "%d microbatches on %d stages with %d slices do not fill groups of %d "
        "('microbatch_group_size_per_vp_stage'); use %s%d microbatches per step, or "
        "one slice per stage",
        m, p, input->num_slices, group, lower, above);
}

static tri_status interleaved_plan(const struct tri_schedule_input *input, tri_arena *arena,
                                   tri_error *err, struct tri_schedule *schedule)
{
    TRI_TRY(interleaved_check(input, err));
    int p = input->num_stages;
    struct tri_rank_schedule *ranks = tri_arena_alloc(arena, (size_t)p * sizeof(*ranks));
    TRI_CHECK(ranks, err, TRI_NOMEM, "out of memory while scheduling");
    for (int stage = 0; stage < p; stage++)
        TRI_TRY(interleaved_plan_stage(input, stage, arena, err, &ranks[stage]));
    *schedule = (struct tri_schedule){.name = "interleaved",
                                      .num_stages = p,
                                      .num_slices = input->num_slices,
                                      .num_microbatches = input->num_microbatches,
                                      .ranks = ranks};
    return TRI_OK;
}

const struct tri_schedule_row tri_schedule_interleaved = {"interleaved", interleaved_plan};
