/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter storage and initial values. */
#include "model/params.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* Elements that one task of the team fills. */
#define FILL_TASK 65536

static struct tri_tensor param_view(tri_storage *arena, const struct tri_param_plan *plan)
{
    const struct tri_param_spec *spec = plan->spec;
    return tri_tensor_view(tri_storage_get(arena, (size_t)plan->offset * sizeof(float)),
                           TRI_DTYPE_F32, spec->num_dims, spec->local_dims);
}

tri_status tri_params_create(struct tri_context *context, struct tri_param **result)
{
    const struct tri_rank_plan *plan = context->plan;
    struct tri_param *params = calloc((size_t)plan->num_params + 1, sizeof *params);
    if (!params)
        return tri_error_set(context->err, TRI_NOMEM, "out of memory for %d parameters",
                             plan->num_params);
    for (int i = 0; i < plan->num_params; i++) {
        const struct tri_param_plan *p = &plan->params[i];
        params[i].spec = p->spec;
        params[i].plan = p;
        params[i].value = param_view(context->arena[TRI_ARENA_PARAMS], p);
        if (!context->placement->request.forward_only)
            params[i].grad = param_view(context->arena[TRI_ARENA_GRADS], p);
    }
    *result = params;
    return TRI_OK;
}

/* A run of local elements that are consecutive in the global tensor as well. */
struct run {
    int64_t local, global, count;
};

/* Runs of a parameter, by rows of its first dim: row r of the local tensor is global row .. */
static int64_t global_row(const struct tri_param_spec *spec, int tp, int tp_rank, int64_t local)
{
    if (spec->cut_dim != 0)
        return local;
    if (spec->padded_rows != spec->dims[0])
        return (int64_t)tp_rank * (spec->padded_rows / tp) + local;
    for (int i = 0; i < spec->num_parts; i++) {
        int64_t share = tri_part_share(&spec->parts[i], tp);
        if (local < share)
            return tri_part_first(&spec->parts[i], tp, tp_rank) + local;
        local -= share;
    }
    return spec->dims[0];
}

static struct run row_run(const struct tri_param_spec *spec, int tp, int tp_rank, int64_t row)
{
    int64_t columns = spec->num_dims > 1 ? spec->dims[1] : 1;
    int64_t local_columns = spec->num_dims > 1 ? spec->local_dims[1] : 1;
    int64_t first_column = spec->cut_dim == 1 ? tp_rank * local_columns : 0;
    int64_t global = global_row(spec, tp, tp_rank, row);
    struct run run = {.local = row * local_columns,
                      .global = global * columns + first_column,
                      .count = global < spec->dims[0] ? local_columns : 0};
    return run;
}

struct fill {
    const struct tri_context *context;
    const struct tri_param *param;
    struct tri_rng_key key;
    int64_t rows_per_task;
};

static void fill_values(const struct fill *fill, struct run run)
{
    const struct tri_param_spec *spec = fill->param->spec;
    float *out = tri_tensor_f32(&fill->param->value) + run.local;
    if (spec->init == TRI_INIT_NORMAL)
        tri_rng_normal(fill->key, run.global, run.count, (float)spec->init_std, out);
    else if (spec->init == TRI_INIT_UNIFORM)
        tri_rng_uniform(fill->key, run.global, run.count, (float)spec->init_std, out);
    else
        for (int64_t i = 0; i < run.count; i++)
            out[i] = spec->init == TRI_INIT_ONE ? 1.0f : 0.0f;
}

static void fill_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct fill *fill = arg;
    const struct tri_param_spec *spec = fill->param->spec;
    int tp = fill->context->tp->size, tp_rank = fill->context->tp->rank;
    int64_t first = task * fill->rows_per_task, end = first + fill->rows_per_task;
    if (end > spec->local_dims[0])
        end = spec->local_dims[0];
    struct run pending = {0};
    for (int64_t row = first; row < end; row++) {
        struct run run = row_run(spec, tp, tp_rank, row);
        if (pending.count > 0 && run.count > 0 && pending.local + pending.count == run.local &&
            pending.global + pending.count == run.global) {
            pending.count += run.count;
            continue;
        }
        if (pending.count > 0)
            fill_values(fill, pending);
        pending = run;
    }
    if (pending.count > 0)
        fill_values(fill, pending);
}

tri_status tri_params_initialise(struct tri_context *context, struct tri_param *params)
{
    for (int i = 0; i < context->plan->num_params; i++) {
        const struct tri_param_spec *spec = params[i].spec;
        int64_t columns = spec->num_dims > 1 ? spec->local_dims[1] : 1;
        if (spec->init == TRI_INIT_ZERO || spec->local_dims[0] == 0 || columns == 0)
            continue;
        struct fill fill = {
            .context = context,
            .param = &params[i],
            .key = tri_rng_key(context->seed, TRI_RNG_INIT, tri_rng_hash(spec->name)),
            .rows_per_task = 1 + FILL_TASK / columns,
        };
        int64_t tasks = (spec->local_dims[0] + fill.rows_per_task - 1) / fill.rows_per_task;
        tri_team_run(context->queue.team, fill_task, &fill, tasks);
    }
    return TRI_OK;
}

void tri_params_zero_grads(struct tri_context *context)
{
    tri_storage *grads = context->arena[TRI_ARENA_GRADS];
    struct tri_tensor all = tri_tensor_f32_1d(tri_storage_get(grads, 0),
                                              (int64_t)(tri_storage_bytes(grads) / sizeof(float)));
    context->update->fill(&context->queue, all, 0.0f);
}
