/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients after backward: buckets over dp, partial sums over tp, shared key/value heads over the ranks
 * that hold them, the tied table over embd; and
 * values made whole after the optimizer. With sharding only this rank's shard of a bucket is
 * meaningful once reduced; sums over tp and embd may run over more, since the layout is the same on
 * all their members.
 */
#include "model/model.h"

#include <stdio.h>

static float *element(struct tri_context *context, enum tri_arena_kind arena, int64_t offset)
{
    return tri_storage_get(context->arena[arena], (size_t)offset * sizeof(float));
}

static bool is_sharded(const struct tri_bucket_plan *bucket)
{
    return bucket->shard_elements != bucket->elements;
}

void tri_model_begin_step(struct tri_model *model)
{
    for (int b = 0; b < model->context->plan->num_buckets; b++)
        model->reduced[b] = false;
    tri_params_zero_grads(model->context);
}

static tri_status reduce_bucket(struct tri_model *model, int b)
{
    struct tri_context *context = model->context;
    const struct tri_bucket_plan *bucket = &context->plan->buckets[b];
    model->reduced[b] = true;
    if (context->dp->size == 1)
        return TRI_OK;
    char owner[32];
    snprintf(owner, sizeof owner, "bucket %d", b);
    tri_context_lend_staging(context, context->dp, owner);
    float *grads = element(context, TRI_ARENA_GRADS, bucket->offset);
    if (!is_sharded(bucket))
        return context->dp->ops->all_reduce_begin(context->dp, grads, bucket->elements,
                                                  TRI_DTYPE_F32, TRI_REDUCE_SUM, &model->reduce[b]);
    return context->dp->ops->reduce_scatter_begin(
        context->dp, element(context, TRI_ARENA_GRADS, bucket->shard_offset), grads,
        bucket->shard_elements, TRI_DTYPE_F32, TRI_REDUCE_SUM, &model->reduce[b]);
}

tri_status tri_model_reduce_begin(struct tri_model *model, int slice, int bucket)
{
    const struct tri_rank_plan *plan = model->context->plan;
    for (int b = 0; b < plan->num_buckets; b++)
        if (plan->buckets[b].slice == slice && bucket-- == 0)
            return reduce_bucket(model, b);
    return tri_error_set(model->context->err, TRI_BUG, "slice %d has no such bucket", slice);
}

static tri_status end_reductions(struct tri_model *model)
{
    struct tri_context *context = model->context;
    for (int b = 0; b < context->plan->num_buckets; b++)
        if (!model->reduced[b])
            TRI_TRY(reduce_bucket(model, b));
    for (int b = 0; b < context->plan->num_buckets; b++)
        if (model->reduce[b])
            TRI_TRY(tri_request_end(context->dp, &model->reduce[b]));
    return TRI_OK;
}

/* Norms and row biases under sequence parallelism: every tp rank saw only its positions. */
static tri_status sum_over_tp(struct tri_model *model)
{
    struct tri_context *context = model->context;
    if (context->tp->size == 1)
        return TRI_OK;
    for (int i = 0; i < model->num_params; i++) {
        struct tri_param *param = &model->params[i];
        if (param->spec->sum_axes & TRI_AXES(TRI_AXIS_TP))
            TRI_TRY(tri_group_all_reduce(context->tp, param->grad.data, param->plan->elements,
                                         TRI_DTYPE_F32, TRI_REDUCE_SUM));
    }
    return TRI_OK;
}

/* Key/value heads that several tp ranks hold: each saw the gradient of its own queries. */
static tri_status sum_over_shared_heads(struct tri_model *model)
{
    struct tri_context *context = model->context;
    for (int i = 0; context->num_shared_heads > 0 && i < model->num_params; i++) {
        struct tri_param *param = &model->params[i];
        int64_t rows = param->spec->local_dims[0], first;
        int64_t copies = tri_param_copies(param->spec, context->tp->size, &first);
        if (copies == 1)
            continue;
        int64_t columns = param->plan->elements / rows;
        TRI_TRY(tri_group_all_reduce(tri_context_shared_heads(context, copies),
                                     tri_tensor_f32(&param->grad) + first * columns,
                                     (rows - first) * columns, TRI_DTYPE_F32, TRI_REDUCE_SUM));
    }
    return TRI_OK;
}

static tri_status exchange_tied(struct tri_model *model)
{
    struct tri_context *context = model->context;
    if (!context->embd)
        return TRI_OK;
    for (int b = 0; b < context->plan->num_buckets; b++) {
        const struct tri_bucket_plan *bucket = &context->plan->buckets[b];
        if (bucket->tied)
            TRI_TRY(tri_group_all_reduce(context->embd,
                                         element(context, TRI_ARENA_GRADS, bucket->shard_offset),
                                         bucket->shard_elements, TRI_DTYPE_F32, TRI_REDUCE_SUM));
    }
    return TRI_OK;
}

tri_status tri_model_finish_grads(struct tri_model *model)
{
    TRI_TRY(end_reductions(model));
    TRI_TRY(sum_over_tp(model));
    TRI_TRY(sum_over_shared_heads(model));
    return exchange_tied(model);
}

tri_status tri_model_gather_params(struct tri_model *model)
{
    struct tri_context *context = model->context;
    for (int b = 0; b < context->plan->num_buckets; b++) {
        const struct tri_bucket_plan *bucket = &context->plan->buckets[b];
        if (!is_sharded(bucket))
            continue;
        TRI_TRY(context->dp->ops->all_gather_begin(
            context->dp, element(context, TRI_ARENA_PARAMS, bucket->offset),
            element(context, TRI_ARENA_PARAMS, bucket->shard_offset), bucket->shard_elements,
            TRI_DTYPE_F32, &model->reduce[b]));
    }
    for (int b = 0; b < context->plan->num_buckets; b++)
        if (model->reduce[b])
            TRI_TRY(tri_request_end(context->dp, &model->reduce[b]));
    for (int i = 0; i < model->num_slices; i++)
        for (int u = 0; u < model->slices[i]->num_units; u++) {
            tri_module *unit = model->slices[i]->units[u];
            TRI_TRY(unit->ops->end_step(unit));
        }
    return TRI_OK;
}
