/* SPDX-License-Identifier: Apache-2.0 */
/* Groups from the grid, arenas from the plan. */
#include "model/context.h"

#include <stdio.h>
#include <stdlib.h>

static tri_status make_group(struct tri_context *context, const char *name, tri_axis_set axes,
                             tri_group **group)
{
    const struct tri_grid *grid = &context->placement->grid;
    int size = tri_grid_group_size(grid, axes);
    int *ranks = malloc((size_t)size * sizeof *ranks);
    if (!ranks)
        return tri_error_set(context->err, TRI_NOMEM, "out of memory for the group '%s'", name);
    tri_grid_group(grid, context->world->rank, axes, ranks);
    tri_status status = tri_group_create(context->world, name, ranks, size, group);
    free(ranks);
    return status;
}

tri_group *tri_context_shared_heads(const struct tri_context *context, int64_t copies)
{
    for (int i = 0; i < context->num_shared_heads; i++)
        if (context->shared_heads[i]->size == copies)
            return context->shared_heads[i];
    return NULL;
}

/* Layers with fewer key/value heads than tp ranks: neighbours hold the same ones. */
static tri_status make_shared_heads(struct tri_context *context)
{
    const tri_group *tp = context->tp;
    for (int i = 0; i < context->plan->num_params; i++) {
        int64_t first_row;
        int copies = (int)tri_param_copies(context->plan->params[i].spec, tp->size, &first_row);
        if (copies == 1 || tri_context_shared_heads(context, copies))
            continue;
        TRI_CHECK(context->num_shared_heads < TRI_MAX_SHARED_HEADS, context->err, TRI_UNSUPPORTED,
                  "layers have more than %d different numbers of key/value heads below "
                  "'tensor_model_parallel_size' %d; use a smaller one",
                  TRI_MAX_SHARED_HEADS, tp->size);
        TRI_TRY(tri_group_create(context->world, "shared_heads",
                                 &tp->ranks[tp->rank / copies * copies], copies,
                                 &context->shared_heads[context->num_shared_heads]));
        context->num_shared_heads++;
    }
    return TRI_OK;
}

static tri_status make_groups(struct tri_context *context)
{
    TRI_TRY(make_group(context, "tp", TRI_AXES(TRI_AXIS_TP), &context->tp));
    TRI_TRY(make_group(context, "pp", TRI_AXES(TRI_AXIS_PP), &context->pp));
    TRI_TRY(
        make_group(context, "dp_cp", TRI_AXES(TRI_AXIS_DP) | TRI_AXES(TRI_AXIS_CP), &context->dp));
    TRI_TRY(make_group(context, "world",
                       TRI_AXES(TRI_AXIS_TP) | TRI_AXES(TRI_AXIS_CP) | TRI_AXES(TRI_AXIS_DP) |
                           TRI_AXES(TRI_AXIS_PP),
                       &context->all));
    TRI_TRY(make_shared_heads(context));
    if (!context->placement->tied_exchange)
        return TRI_OK;
    int ranks[2];
    bool member = false;
    int size =
        tri_grid_embedding_group(&context->placement->grid, context->world->rank, ranks, &member);
    if (!member || size < 2)
        return TRI_OK;
    return tri_group_create(context->world, "embd", ranks, size, &context->embd);
}

void tri_context_lend_staging(const struct tri_context *context, tri_group *group,
                              const char *owner)
{
    int row = tri_rank_plan_row(context->plan, owner, "staging");
    if (row >= 0)
        tri_group_lend_staging(group, tri_context_row(context, row, 0),
                               context->plan->rows[row].bytes);
}

/* What the groups of dp are lent changes from bucket to bucket (grads.c). */
static void lend_staging(struct tri_context *context)
{
    char owner[64];
    tri_context_lend_staging(context, context->tp, "group tp");
    tri_context_lend_staging(context, context->all, "group world");
    if (context->embd)
        tri_context_lend_staging(context, context->embd, "group embd");
    for (int i = 0; i < context->num_shared_heads; i++) {
        snprintf(owner, sizeof owner, "group shared_heads %d", context->shared_heads[i]->size);
        tri_context_lend_staging(context, context->shared_heads[i], owner);
    }
}

tri_status tri_context_create(const struct tri_context_request *request,
                              struct tri_context **result)
{
    tri_error *err = request->world->err;
    struct tri_context *context = calloc(1, sizeof *context);
    if (!context)
        return tri_error_set(err, TRI_NOMEM, "out of memory for the rank's context");
    context->err = err;
    context->world = request->world;
    context->queue.device = &tri_device_host;
    context->queue.team = request->team;
    context->placement = request->placement;
    context->plan = request->plan;
    context->extensions = request->extensions;
    context->num_extensions = request->num_extensions;
    context->seed = request->seed;
    context->num_kernels = request->num_kernels;
    for (int i = 0; i < request->num_kernels; i++)
        context->kernels[i] = request->kernels[i];
    context->update = request->kernels[0].kernels;

    tri_status status = make_groups(context);
    for (int i = 0; status == TRI_OK && i < TRI_NUM_ARENAS; i++)
        status = tri_storage_create(context->queue.device, tri_arena_name((enum tri_arena_kind)i),
                                    context->plan->arena_bytes[i], err, &context->arena[i]);
    if (status == TRI_OK)
        status = tri_context_close_gaps(context);
    if (status == TRI_OK)
        lend_staging(context);
    if (status != TRI_OK) {
        tri_context_destroy(&context);
        return status;
    }
    *result = context;
    return TRI_OK;
}

void tri_context_destroy(struct tri_context **result)
{
    struct tri_context *context = *result;
    if (!context)
        return;
    tri_group_destroy(&context->embd);
    for (int i = 0; i < TRI_MAX_SHARED_HEADS; i++)
        tri_group_destroy(&context->shared_heads[i]);
    tri_group_destroy(&context->all);
    tri_group_destroy(&context->dp);
    tri_group_destroy(&context->pp);
    tri_group_destroy(&context->tp);
    for (int i = 0; i < TRI_NUM_ARENAS; i++)
        tri_storage_destroy(&context->arena[i]);
    free(context->gaps);
    free(context);
    *result = NULL;
}

void *tri_context_row(const struct tri_context *context, int row, int copy)
{
    const struct tri_plan_row *r = &context->plan->rows[row];
    return tri_storage_get(context->arena[r->arena], r->offset + (size_t)copy * r->stride);
}

void *tri_context_row_named(const struct tri_context *context, const char *owner, const char *name)
{
    int row = tri_rank_plan_row(context->plan, owner, name);
    TRI_ASSERT(row >= 0);
    return tri_context_row(context, row, 0);
}
