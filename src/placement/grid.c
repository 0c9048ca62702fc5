/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two mixed-radix numberings of the same ranks: rank = sum over axes of coordinate * stride, where
 * an axis' stride is the product of the sizes before it in the order. The dense grid has ep = 1,
 * the expert grid cp = 1, tp and dp replaced by etp and edp.
 */
#include "placement/grid.h"

#include <stdio.h>

#define GRID_NUM_ORDER 5
#define EXPERT_AXES    (TRI_AXES(TRI_AXIS_ETP) | TRI_AXES(TRI_AXIS_EDP) | TRI_AXES(TRI_AXIS_EP))

/* Which numbering a question is about: its order, and the axis that has size 1 in it. */
struct grid_view {
    const int *order;
    int size[GRID_NUM_ORDER];
    int stride[GRID_NUM_ORDER];
};

static struct grid_view grid_view_make(const struct tri_grid *grid, bool expert)
{
    struct grid_view view = {.order = expert ? grid->expert_order : grid->order};
    int absent = expert ? TRI_AXIS_CP : TRI_AXIS_EP;
    int stride = 1;
    for (int i = 0; i < GRID_NUM_ORDER; i++) {
        view.size[i] = view.order[i] == absent ? 1 : grid->size[view.order[i]];
        view.stride[i] = stride;
        stride *= view.size[i];
    }
    return view;
}

static struct grid_view grid_view_of(const struct tri_grid *grid, tri_axis_set axes)
{
    return grid_view_make(grid, (axes & EXPERT_AXES) != 0);
}

/* Says which world sizes near world_size would work for a product of sizes. */
static tri_status grid_check_world(int world_size, int64_t product, const char *sizes,
                                   tri_error *err)
{
    if (world_size % product == 0)
        return TRI_OK;
    int64_t below = world_size / product * product;
    if (below == 0)
        return tri_error_add(err, TRI_INVALID,
                             "'%d ranks' are no multiple of %s = %lld; use %lld or %lld ranks, or "
                             "smaller sizes",
                             world_size, sizes, (long long)product, (long long)product,
                             (long long)(2 * product));
    return tri_error_add(
        err, TRI_INVALID, "'%d ranks' are no multiple of %s = %lld; use %lld or %lld ranks",
        world_size, sizes, (long long)product, (long long)below, (long long)(below + product));
}

static bool grid_check_sizes(int world_size, const int *sizes, tri_error *err)
{
    static const char *const names[] = {"tensor_model_parallel_size", "context_parallel_size",
                                        "expert_model_parallel_size", "expert_tensor_parallel_size",
                                        "pipeline_model_parallel_size"};
    bool good = true;
    for (int i = 0; i < 5; i++) {
        if (sizes[i] >= 1)
            continue;
        tri_error_add(err, TRI_INVALID, "'%s' is %d; use a size of at least 1", names[i], sizes[i]);
        good = false;
    }
    if (world_size < 1) {
        tri_error_add(err, TRI_INVALID, "the world has %d ranks; use at least 1", world_size);
        good = false;
    }
    return good;
}

tri_status tri_grid_plan(int world_size, int tp, int cp, int ep, int etp, int pp,
                         bool tp_pp_dp_mapping, tri_error *err, struct tri_grid *grid)
{
    if (!grid_check_sizes(world_size, (const int[]){tp, cp, ep, etp, pp}, err))
        return TRI_INVALID;
    char sizes[160];
    int64_t dense = (int64_t)tp * cp * pp, expert = (int64_t)etp * ep * pp;
    snprintf(sizes, sizeof(sizes), "tp %d x cp %d x pp %d", tp, cp, pp);
    TRI_TRY(grid_check_world(world_size, dense, sizes, err));
    snprintf(sizes, sizeof(sizes), "etp %d x ep %d x pp %d", etp, ep, pp);
    TRI_TRY(grid_check_world(world_size, expert, sizes, err));
    int dp = (int)(world_size / dense), edp = (int)(world_size / expert);
    if (tp_pp_dp_mapping && pp > 1 && edp != dp)
        return tri_error_add(
            err, TRI_INVALID,
            "'use_tp_pp_dp_mapping' needs as many expert data-parallel ranks (%d) as "
            "data-parallel ones (%d); leave it out, or make etp x ep equal tp x cp",
            edp, dp);
    *grid = (struct tri_grid){
        .world_size = world_size,
        .size = {[TRI_AXIS_TP] = tp,
                 [TRI_AXIS_CP] = cp,
                 [TRI_AXIS_EP] = ep,
                 [TRI_AXIS_DP] = dp,
                 [TRI_AXIS_PP] = pp,
                 [TRI_AXIS_ETP] = etp,
                 [TRI_AXIS_EDP] = edp},
        .order = {TRI_AXIS_TP, TRI_AXIS_CP, TRI_AXIS_EP, TRI_AXIS_DP, TRI_AXIS_PP},
        .expert_order = {TRI_AXIS_ETP, TRI_AXIS_CP, TRI_AXIS_EP, TRI_AXIS_EDP, TRI_AXIS_PP},
    };
    if (tp_pp_dp_mapping) {
        grid->order[3] = grid->expert_order[3] = TRI_AXIS_PP;
        grid->order[4] = TRI_AXIS_DP;
        grid->expert_order[4] = TRI_AXIS_EDP;
    }
    return TRI_OK;
}

int tri_grid_coordinate(const struct tri_grid *grid, int rank, enum tri_axis axis)
{
    struct grid_view view = grid_view_of(grid, TRI_AXES(axis));
    for (int i = 0; i < GRID_NUM_ORDER; i++)
        if (view.order[i] == (int)axis)
            return rank / view.stride[i] % view.size[i];
    return 0;
}

int tri_grid_move(const struct tri_grid *grid, int rank, enum tri_axis axis, int value)
{
    struct grid_view view = grid_view_of(grid, TRI_AXES(axis));
    for (int i = 0; i < GRID_NUM_ORDER; i++)
        if (view.order[i] == (int)axis)
            return rank + (value - rank / view.stride[i] % view.size[i]) * view.stride[i];
    return rank;
}

int tri_grid_group_size(const struct tri_grid *grid, tri_axis_set axes)
{
    struct grid_view view = grid_view_of(grid, axes);
    int size = 1;
    for (int i = 0; i < GRID_NUM_ORDER; i++)
        if (axes & TRI_AXES(view.order[i]))
            size *= view.size[i];
    return size;
}

int tri_grid_group(const struct tri_grid *grid, int rank, tri_axis_set axes, int *ranks)
{
    struct grid_view view = grid_view_of(grid, axes);
    int first = rank, position = 0, size = 1;
    for (int i = 0; i < GRID_NUM_ORDER; i++) {
        if (!(axes & TRI_AXES(view.order[i])))
            continue;
        int coordinate = rank / view.stride[i] % view.size[i];
        first -= coordinate * view.stride[i];
        position += coordinate * size;
        size *= view.size[i];
    }
    for (int member = 0; member < size; member++) {
        int rest = member;
        ranks[member] = first;
        for (int i = 0; i < GRID_NUM_ORDER; i++) {
            if (!(axes & TRI_AXES(view.order[i])))
                continue;
            ranks[member] += rest % view.size[i] * view.stride[i];
            rest /= view.size[i];
        }
    }
    return position;
}

int tri_grid_embedding_group(const struct tri_grid *grid, int rank, int *ranks, bool *member)
{
    int last = grid->size[TRI_AXIS_PP] - 1;
    int stage = tri_grid_coordinate(grid, rank, TRI_AXIS_PP);
    ranks[0] = tri_grid_move(grid, rank, TRI_AXIS_PP, 0);
    *member = stage == 0 || stage == last;
    if (last == 0)
        return 1;
    ranks[1] = tri_grid_move(grid, rank, TRI_AXIS_PP, last);
    return 2;
}
