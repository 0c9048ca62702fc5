/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of placement/buckets.h. */
#include "placement/buckets.h"

#include "base/exact_sum.h"

#include <string.h>

#define TIED_TABLE "embedding.word_embeddings.weight"

static int64_t round_up(int64_t value, int64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static int64_t param_elements(const struct tri_param_spec *spec)
{
    return spec->local_dims[0] * (spec->num_dims > 1 ? spec->local_dims[1] : 1);
}

static int64_t param_counted(const struct tri_param_spec *spec, const struct tri_bucket_rule *rule)
{
    int64_t elements = param_elements(spec), first;
    int64_t copies = tri_param_copies(spec, rule->tp, &first);
    if (spec->tied_copy || (spec->cut_dim < 0 && rule->tp_rank != 0))
        return 0;
    return rule->tp_rank % copies == 0 ? elements : elements / spec->local_dims[0] * first;
}

/* The walk over a slice's parameters: each gets the number of its bucket. */
struct bucket_walk {
    const struct tri_bucket_rule *rule;
    struct tri_bucket_list *list;
    int open;          /* bucket that takes parameters, -1: none */
    int64_t open_size; /* elements, blocks filled up */
};

static void walk_put(struct bucket_walk *walk, const struct tri_param_spec *spec, int unit,
                     int local_unit)
{
    struct tri_bucket_list *list = walk->list;
    bool tied = walk->rule->tied_exchange && strcmp(spec->name, TIED_TABLE) == 0;
    int bucket = tied ? list->num_buckets : walk->open;
    if (bucket < 0)
        bucket = walk->open = list->num_buckets;
    if (bucket == list->num_buckets)
        list->buckets[list->num_buckets++] = (struct tri_bucket_plan){.tied = tied};
    int64_t elements = param_elements(spec);
    list->buckets[bucket].lowest_unit = local_unit;
    list->buckets[bucket].num_params++;
    if (!tied)
        walk->open_size += round_up(elements, TRI_NORM_BLOCK);
    list->params[list->num_params++] = (struct tri_param_plan){
        .spec = spec,
        .unit = unit,
        .bucket = bucket,
        .elements = elements,
        .counted = param_counted(spec, walk->rule),
    };
}

static void walk_slice(struct bucket_walk *walk, const struct tri_slice_plan *slice,
                       const struct tri_unit_size *units)
{
    for (int u = slice->num_units - 1; u >= 0; u--) {
        const struct tri_unit_size *size = &units[slice->first_unit + u];
        for (int i = size->num_params - 1; i >= 0; i--)
            walk_put(walk, &size->params[i], slice->first_unit + u, u);
        if (walk->open >= 0 && walk->open_size >= walk->rule->bucket_size) {
            walk->open = -1;
            walk->open_size = 0;
        }
    }
}

/* Brings buckets into the order in which backward completes them, and parameters into bucket
   order. */
static void list_sort(struct tri_bucket_list *list, int *order, struct tri_param_plan *sorted,
                      struct tri_bucket_plan *buckets)
{
    int num = list->num_buckets, at = 0;
    for (int i = 0; i < num; i++) {
        int k = i;
        for (; k > 0 && list->buckets[order[k - 1]].lowest_unit < list->buckets[i].lowest_unit; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    for (int i = 0; i < num; i++) {
        buckets[i] = list->buckets[order[i]];
        buckets[i].first_param = at;
        for (int k = 0; k < list->num_params; k++)
            if (list->params[k].bucket == order[i])
                sorted[at++] = list->params[k];
    }
    list->params = sorted;
    list->buckets = buckets;
}

static void list_lay_out(struct tri_bucket_list *list, const struct tri_slice_plan *slice,
                         const struct tri_bucket_rule *rule)
{
    for (int i = 0; i < list->num_buckets; i++) {
        struct tri_bucket_plan *bucket = &list->buckets[i];
        bucket->slice = slice->index;
        bucket->offset = list->elements;
        int64_t end = bucket->offset;
        for (int k = 0; k < bucket->num_params; k++) {
            struct tri_param_plan *param = &list->params[bucket->first_param + k];
            param->slice = slice->index;
            param->bucket = i;
            param->offset = end;
            end += round_up(param->elements, TRI_NORM_BLOCK);
        }
        bucket->elements = round_up(end - bucket->offset, (int64_t)rule->dp * TRI_NORM_BLOCK);
        bucket->shard_elements = bucket->elements / (rule->sharded ? rule->dp : 1);
        bucket->shard_offset =
            bucket->offset + (rule->sharded ? rule->dp_rank * bucket->shard_elements : 0);
        bucket->optim_offset = list->shard_elements;
        list->elements += bucket->elements;
        list->shard_elements += bucket->shard_elements;
    }
}

tri_status tri_buckets_plan(const struct tri_slice_plan *slice, const struct tri_unit_size *units,
                            const struct tri_bucket_rule *rule, tri_arena *arena, tri_error *err,
                            struct tri_bucket_list *list)
{
    size_t num = 1;
    for (int u = 0; u < slice->num_units; u++)
        num += (size_t)units[slice->first_unit + u].num_params;
    *list = (struct tri_bucket_list){
        .params = tri_arena_alloc(arena, num * sizeof(struct tri_param_plan)),
        .buckets = tri_arena_alloc(arena, num * sizeof(struct tri_bucket_plan))};
    struct tri_param_plan *params = tri_arena_alloc(arena, num * sizeof(*params));
    struct tri_bucket_plan *buckets = tri_arena_alloc(arena, num * sizeof(*buckets));
    int *order = tri_arena_alloc(arena, num * sizeof(int));
    TRI_CHECK(list->params && list->buckets && params && buckets && order, err, TRI_NOMEM,
              "out of memory while planning buckets");
    struct bucket_walk walk = {.rule = rule, .list = list, .open = -1};
    walk_slice(&walk, slice, units);
    list_sort(list, order, params, buckets);
    list_lay_out(list, slice, rule);
    return TRI_OK;
}

struct tri_bucket_rule tri_bucket_rule_of(const struct tri_placement *placement, int rank)
{
    const struct tri_grid *grid = &placement->grid;
    int64_t size = placement->config.ddp_bucket_size;
    if (size == TRI_UNSET)
        size = placement->dp > 40 ? 1000000 * (int64_t)placement->dp : 40000000;
    int dp = tri_grid_coordinate(grid, rank, TRI_AXIS_DP);
    int cp = tri_grid_coordinate(grid, rank, TRI_AXIS_CP);
    return (struct tri_bucket_rule){
        .bucket_size = size,
        .dp = placement->dp,
        .dp_rank = dp * grid->size[TRI_AXIS_CP] + cp,
        .tp = grid->size[TRI_AXIS_TP],
        .tp_rank = tri_grid_coordinate(grid, rank, TRI_AXIS_TP),
        .sharded = placement->config.use_distributed_optimizer,
        .tied_exchange = placement->tied_exchange,
    };
}
