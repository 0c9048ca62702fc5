/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of one rank: its coordinates, its slices' buckets put one behind the other, its memory.
   */
#include "placement/buckets.h"
#include "placement/memory.h"

#include <string.h>

const char *tri_arena_name(enum tri_arena_kind kind)
{
    static const char *const names[TRI_NUM_ARENAS] = {"params", "grads", "optim", "saved",
                                                      "work",   "comm",  "run"};
    return (unsigned)kind < TRI_NUM_ARENAS ? names[kind] : "unknown arena";
}

/* Elements that are the model's: without vocabulary padding. */
static int64_t param_real_elements(const struct tri_param_plan *param, int tp_rank)
{
    const struct tri_param_spec *spec = param->spec;
    if (spec->cut_dim != 0 || spec->padded_rows == spec->dims[0])
        return param->counted;
    int64_t columns = spec->local_dims[0] ? param->elements / spec->local_dims[0] : 0;
    int64_t rows = spec->dims[0] - tp_rank * spec->local_dims[0];
    if (rows < 0)
        rows = 0;
    return (rows < spec->local_dims[0] ? rows : spec->local_dims[0]) * columns;
}

/* Appends one slice's list, whose offsets and numbers move behind those of the slices before. */
static void rank_plan_append(struct tri_rank_plan *plan, const struct tri_bucket_list *list,
                             int64_t offset, struct tri_param_plan *params,
                             struct tri_bucket_plan *buckets)
{
    for (int i = 0; i < list->num_buckets; i++) {
        struct tri_bucket_plan *bucket = &buckets[plan->num_buckets + i];
        *bucket = list->buckets[i];
        bucket->first_param += plan->num_params;
        bucket->offset += offset;
        bucket->shard_offset += offset;
        bucket->optim_offset += plan->shard_elements;
    }
    for (int i = 0; i < list->num_params; i++) {
        struct tri_param_plan *param = &params[plan->num_params + i];
        *param = list->params[i];
        param->bucket += plan->num_buckets;
        param->offset += offset;
        if (param->counted > 0)
            plan->local_parameters += param_real_elements(param, plan->coordinate[TRI_AXIS_TP]);
    }
    plan->num_params += list->num_params;
    plan->num_buckets += list->num_buckets;
    plan->shard_elements += list->shard_elements;
}

static tri_status rank_plan_buckets(struct tri_rank_plan *plan, tri_arena *arena, tri_error *err)
{
    const struct tri_placement *placement = plan->placement;
    struct tri_bucket_rule rule = tri_bucket_rule_of(placement, plan->rank);
    size_t num = (size_t)plan->num_slices, num_params = 0, num_buckets = 0;
    struct tri_bucket_list *lists = tri_arena_alloc(arena, num * sizeof(*lists));
    TRI_CHECK(lists, err, TRI_NOMEM, "out of memory while planning buckets");
    for (size_t i = 0; i < num; i++) {
        TRI_TRY(tri_buckets_plan(&plan->slices[i], placement->units, &rule, arena, err, &lists[i]));
        num_params += (size_t)lists[i].num_params;
        num_buckets += (size_t)lists[i].num_buckets;
    }
    struct tri_param_plan *params = tri_arena_alloc(arena, num_params * sizeof(*params));
    struct tri_bucket_plan *buckets = tri_arena_alloc(arena, num_buckets * sizeof(*buckets));
    TRI_CHECK(params && buckets, err, TRI_NOMEM, "out of memory while planning buckets");
    plan->params = params;
    plan->buckets = buckets;
    int64_t offset = 0;
    for (size_t i = 0; i < num; i++) {
        rank_plan_append(plan, &lists[i], offset, params, buckets);
        offset += lists[i].elements;
    }
    return TRI_OK;
}

tri_status tri_rank_plan_make(const struct tri_placement *placement, int rank, tri_arena *arena,
                              tri_error *err, struct tri_rank_plan *plan)
{
    const struct tri_grid *grid = &placement->grid;
    TRI_CHECK(rank >= 0 && rank < grid->world_size, err, TRI_INVALID,
              "rank %d is not in a world of %d; use 0 to %d", rank, grid->world_size,
              grid->world_size - 1);
    struct tri_rank_plan made = {.placement = placement, .rank = rank};
    for (enum tri_axis axis = 0; axis < TRI_NUM_AXES; axis++)
        made.coordinate[axis] = tri_grid_coordinate(grid, rank, axis);
    int stage = made.coordinate[TRI_AXIS_PP];
    made.num_slices = placement->num_slices;
    made.slices = &placement->slices[stage * placement->num_slices];
    made.schedule = &placement->schedule.ranks[stage];
    made.eval_schedule = &placement->eval_schedule.ranks[stage];
    TRI_TRY(rank_plan_buckets(&made, arena, err));
    TRI_TRY(tri_memory_plan(&made, arena, err));
    *plan = made;
    return TRI_OK;
}

size_t tri_rank_plan_slot_offset(const struct tri_rank_plan *plan, int slice, int slot)
{
    size_t offset = (size_t)slot * plan->slot_bytes[slice];
    for (int i = 0; i < slice; i++)
        offset += (size_t)plan->num_slots[i] * plan->slot_bytes[i];
    return offset;
}

size_t tri_rank_plan_unit_offset(const struct tri_rank_plan *plan, int slice, int local_unit)
{
    const struct tri_unit_size *units = &plan->placement->units[plan->slices[slice].first_unit];
    size_t offset = 0;
    for (int i = 0; i < local_unit; i++)
        offset += tri_plan_round(units[i].saved_bytes);
    return offset;
}

size_t tri_rank_plan_run_offset(const struct tri_rank_plan *plan, int slice, int local_unit)
{
    size_t offset = 0;
    for (int i = 0; i <= slice; i++) {
        const struct tri_unit_size *units = &plan->placement->units[plan->slices[i].first_unit];
        int num = i < slice ? plan->slices[i].num_units : local_unit;
        for (int u = 0; u < num; u++)
            offset += tri_plan_round(units[u].run_bytes);
    }
    return offset;
}

int tri_rank_plan_row(const struct tri_rank_plan *plan, const char *owner, const char *name)
{
    for (int i = 0; i < plan->num_rows; i++)
        if (strcmp(plan->rows[i].name, name) == 0 && strcmp(plan->rows[i].owner, owner) == 0)
            return i;
    return -1;
}
