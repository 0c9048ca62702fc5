/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The placement of a run: checks, grid, layout, unit records, schedules. What is the same on every
 * rank is made here once; rank_plan.c makes the rest for one rank.
 */
#include "placement/plan.h"

#include "placement/buckets.h"
#include "placement/plan_check.h"
#include "spec/split.h"

#include <stdlib.h>
#include <string.h>

static tri_status plan_out_of_memory(tri_error *err)
{
    return tri_error_set(err, TRI_NOMEM, "out of memory while planning");
}

/* It is off with one tensor-parallel rank. */
static void plan_apply_sequence_parallel(struct tri_placement *placement)
{
    struct tri_placement_config *config = &placement->config;
    if (config->tensor_model_parallel_size <= 1)
        config->sequence_parallel = false;
    int64_t tp = config->tensor_model_parallel_size;
    placement->split = (struct tri_split){
        .tp = tp, .sp = config->sequence_parallel ? tp : 1, .cp = 1, .ep = 1, .etp = tp};
}

static tri_status plan_check_sizes(const struct tri_placement_config *config, tri_error *err)
{
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {
        {"tensor_model_parallel_size", config->tensor_model_parallel_size},
        {"pipeline_model_parallel_size", config->pipeline_model_parallel_size},
        {"virtual_pipeline_model_parallel_size", config->virtual_pipeline_model_parallel_size},
        {"num_layers_per_virtual_pipeline_stage", config->num_layers_per_virtual_pipeline_stage},
        {"microbatch_group_size_per_vp_stage", config->microbatch_group_size_per_vp_stage},
        {"ddp_bucket_size", config->ddp_bucket_size},
    };
    tri_status status = TRI_OK;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i].value != TRI_UNSET && (sizes[i].value < 1 || sizes[i].value > INT32_MAX))
            status = tri_error_add(err, TRI_INVALID, "'%s' is %lld; use 1 to %d", sizes[i].name,
                                   (long long)sizes[i].value, INT32_MAX);
    return status;
}

/* The grid, layout and batch, with all their problems; what depends on a failed one is left out. */
static tri_status plan_geometry(struct tri_placement *placement, tri_error *err)
{
    const struct tri_placement_config *config = &placement->config;
    const struct tri_plan_request *request = &placement->request;
    const struct tri_gpt_config *shape = &placement->spec->shape;
    TRI_TRY(plan_check_sizes(config, err));
    tri_status status = tri_plan_check_request(request, err);
    int tp = (int)config->tensor_model_parallel_size;
    int pp = (int)config->pipeline_model_parallel_size;
    tri_status grid = tri_grid_plan(request->world_size, tp, 1, 1, tp, pp,
                                    config->use_tp_pp_dp_mapping, err, &placement->grid);
    if (status == TRI_OK && grid == TRI_OK) {
        placement->dp = placement->grid.size[TRI_AXIS_DP] * placement->grid.size[TRI_AXIS_CP];
        status = tri_plan_check_batch(request, placement->dp, err, &placement->num_microbatches);
    }
    tri_split_check(shape, &placement->split, request->seq_length, err);
    struct tri_layout layout;
    int64_t num_layers = shape->transformer.num_layers;
    tri_status placed = tri_layout_plan(config, num_layers, placement->arena, err, &layout);
    if (placed != TRI_OK)
        return placed;
    placement->num_stages = layout.num_stages;
    placement->num_slices = layout.num_slices;
    placement->slices = layout.slices;
    return status != TRI_OK ? status : grid;
}

/* What the generators see; without buckets until the units are known. */
static tri_status plan_schedule_input(const struct tri_placement *placement, tri_error *err,
                                      struct tri_schedule_input *input)
{
    int num = placement->num_stages * placement->num_slices;
    int *num_units = tri_arena_alloc(placement->arena, (size_t)num * sizeof(int));
    if (!num_units)
        return plan_out_of_memory(err);
    for (int i = 0; i < num; i++)
        num_units[i] = placement->slices[i].num_units;
    int64_t group = placement->config.microbatch_group_size_per_vp_stage;
    *input = (struct tri_schedule_input){
        .num_stages = placement->num_stages,
        .num_slices = placement->num_slices,
        .num_microbatches = placement->num_microbatches,
        .group_size = group == TRI_UNSET ? placement->num_stages : (int)group,
        .forward_only = placement->request.forward_only,
        .num_units = num_units,
    };
    return TRI_OK;
}

static tri_status plan_bucket_input(const struct tri_placement *placement, tri_error *err,
                                    struct tri_schedule_input *input)
{
    int num = placement->num_stages * placement->num_slices;
    struct tri_bucket_rule rule = tri_bucket_rule_of(placement, 0);
    int *num_buckets = tri_arena_alloc(placement->arena, (size_t)num * sizeof(int));
    const int **bucket_unit = tri_arena_alloc(placement->arena, (size_t)num * sizeof(int *));
    if (!num_buckets || !bucket_unit)
        return plan_out_of_memory(err);
    for (int i = 0; i < num; i++) {
        struct tri_bucket_list list;
        TRI_TRY(tri_buckets_plan(&placement->slices[i], placement->units, &rule, placement->arena,
                                 err, &list));
        int *units = tri_arena_alloc(placement->arena, (size_t)list.num_buckets * sizeof(int));
        if (!units)
            return plan_out_of_memory(err);
        for (int k = 0; k < list.num_buckets; k++)
            units[k] = list.buckets[k].lowest_unit;
        num_buckets[i] = list.num_buckets;
        bucket_unit[i] = units;
    }
    input->num_buckets = num_buckets;
    input->bucket_unit = bucket_unit;
    return TRI_OK;
}

static void plan_sizing_input(struct tri_placement *placement)
{
    const struct tri_plan_request *request = &placement->request;
    placement->sizing = (struct tri_sizing_input){
        .shape = &placement->spec->shape,
        .split = placement->split,
        .micro_batch_size = request->micro_batch_size,
        .seq_length = request->seq_length,
        .cache_length = request->cache_length,
        .team_size = request->team_size,
        .forward_only = request->forward_only,
        .shared_head = placement->num_stages * placement->num_slices == 1,
        .num_scratch = request->num_scratch,
    };
    memcpy(placement->sizing.scratch, request->scratch, sizeof(request->scratch));
}

static tri_status plan_units(struct tri_placement *placement, tri_error *err)
{
    int num = placement->spec->num_units;
    struct tri_unit_size *units = tri_arena_alloc(placement->arena, (size_t)num * sizeof(*units));
    if (!units)
        return plan_out_of_memory(err);
    for (int unit = 0; unit < num; unit++)
        TRI_TRY(tri_size_unit(placement->spec, unit, &placement->sizing, placement->arena, err,
                              &units[unit]));
    placement->units = units;
    return TRI_OK;
}

/* Plans and proves the schedules; units are described again when the backward is split. */
static tri_status plan_schedules(struct tri_placement *placement, struct tri_schedule_input *input,
                                 tri_error *err)
{
    struct tri_schedule_input eval = *input;
    eval.forward_only = true;
    TRI_TRY(tri_schedule_plan("auto", &eval, placement->arena, err, &placement->eval_schedule));
    TRI_TRY(tri_schedule_check(&placement->eval_schedule, &eval, err));
    placement->schedule = placement->eval_schedule;
    if (placement->request.forward_only)
        return TRI_OK;
    TRI_TRY(plan_bucket_input(placement, err, input));
    TRI_TRY(tri_schedule_plan(placement->config.schedule, input, placement->arena, err,
                              &placement->schedule));
    TRI_TRY(tri_schedule_check(&placement->schedule, input, err));
    for (int stage = 0; stage < placement->num_stages; stage++)
        placement->sizing.split_backward |= placement->schedule.ranks[stage].split_backward;
    return placement->sizing.split_backward ? plan_units(placement, err) : TRI_OK;
}

static tri_status plan_all(struct tri_placement *placement, tri_error *err)
{
    int problems = tri_error_count(err);
    plan_apply_sequence_parallel(placement);
    tri_status status = plan_geometry(placement, err);
    struct tri_schedule_input input;
    if (status == TRI_OK)
        status = plan_schedule_input(placement, err, &input);
    if (status == TRI_OK && tri_error_count(err) > problems) {
        /* nothing will be planned; find out what the generator has to say besides */
        struct tri_schedule unused;
        tri_schedule_plan(placement->config.schedule, &input, placement->arena, err, &unused);
        return TRI_INVALID;
    }
    TRI_TRY(status);
    const struct tri_gpt_config *shape = &placement->spec->shape;
    placement->padded_vocab_size = tri_vocab_padded(
        shape->vocab_size, shape->make_vocab_size_divisible_by, placement->split.tp);
    placement->tied_exchange = !shape->untie_embeddings_and_output_weights &&
                               placement->num_stages * placement->num_slices > 1;
    plan_sizing_input(placement);
    TRI_TRY(plan_units(placement, err));
    return plan_schedules(placement, &input, err);
}

tri_status tri_placement_plan(const struct tri_model_spec *spec,
                              const struct tri_placement_config *config,
                              const struct tri_plan_request *request, tri_error *err,
                              struct tri_placement **placement)
{
    tri_arena *arena = tri_arena_create();
    struct tri_placement *made = arena ? tri_arena_alloc(arena, sizeof(*made)) : NULL;
    if (!made) {
        if (arena)
            tri_arena_destroy(&arena);
        return plan_out_of_memory(err);
    }
    *made = (struct tri_placement){
        .spec = spec, .config = *config, .request = *request, .arena = arena};
    tri_status status = plan_all(made, err);
    if (status != TRI_OK) {
        tri_placement_destroy(&made);
        return status;
    }
    *placement = made;
    return TRI_OK;
}

void tri_placement_destroy(struct tri_placement **placement)
{
    if (!*placement)
        return;
    tri_arena *arena = (*placement)->arena; /* the placement itself lies in it */
    *placement = NULL;
    tri_arena_destroy(&arena);
}
