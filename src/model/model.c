/* SPDX-License-Identifier: Apache-2.0 */
/* Building and wrapping a rank's slices. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The part of param that bucket's shard covers; false if they do not meet. */
static bool shard_of(const struct tri_model *model, const struct tri_bucket_plan *bucket,
                     const struct tri_param *param, int64_t state, struct tri_shard *shard)
{
    int64_t offset = param->plan->offset, end = offset + param->plan->elements;
    int64_t first = max64(offset, bucket->shard_offset);
    int64_t last = min64(end, bucket->shard_offset + bucket->shard_elements);
    if (first >= last)
        return false;
    *shard = (struct tri_shard){
        .param = param,
        .first = first - offset,
        .value = tri_tensor_f32_1d(tri_tensor_f32(&param->value) + (first - offset), last - first),
        .state = state + (first - bucket->shard_offset),
        .counted = min64(max64(param->plan->counted - (first - offset), 0), last - first),
    };
    shard->grad = tri_tensor_f32_1d(tri_tensor_f32(&param->grad) + (first - offset), last - first);
    /* Without sharding every dp rank owns all of a bucket; it counts on the first of them. */
    bool sharded = bucket->shard_elements != bucket->elements;
    if (!sharded && model->context->dp->rank != 0)
        shard->counted = 0;
    return true;
}

static tri_status make_shards(struct tri_model *model)
{
    const struct tri_rank_plan *plan = model->context->plan;
    model->shards = calloc((size_t)plan->num_params + 1, sizeof *model->shards);
    if (!model->shards)
        return tri_error_set(model->context->err, TRI_NOMEM,
                             "out of memory for the optimizer's shards");
    for (int b = 0; b < plan->num_buckets; b++) {
        const struct tri_bucket_plan *bucket = &plan->buckets[b];
        for (int i = 0; i < bucket->num_params; i++)
            if (shard_of(model, bucket, &model->params[bucket->first_param + i],
                         bucket->optim_offset, &model->shards[model->num_shards]))
                model->num_shards++;
    }
    model->shard_elements = plan->shard_elements;
    return TRI_OK;
}

static tri_status build_slices(struct tri_model *model)
{
    struct tri_context *context = model->context;
    model->num_slices = context->plan->num_slices;
    model->num_params = context->plan->num_params;
    model->slices = calloc((size_t)model->num_slices + 1, sizeof(struct tri_slice *));
    if (!model->slices)
        return tri_error_set(context->err, TRI_NOMEM, "out of memory for the slices");
    TRI_TRY(tri_params_create(context, &model->params));
    for (int i = 0; i < model->num_slices; i++)
        TRI_TRY(tri_slice_build(context, i, model->params, &model->slices[i]));
    return TRI_OK;
}

static tri_status wrap(struct tri_model *model)
{
    size_t num_buckets = (size_t)model->context->plan->num_buckets;
    if (model->context->placement->request.forward_only)
        return TRI_OK;
    model->reduce = calloc(num_buckets + 1, sizeof(tri_request *));
    model->reduced = calloc(num_buckets + 1, sizeof *model->reduced);
    if (!model->reduce || !model->reduced)
        return tri_error_set(model->context->err, TRI_NOMEM, "out of memory for the buckets");
    return make_shards(model);
}

tri_status tri_model_build(struct tri_context *context, const struct tri_hooks *hooks,
                           struct tri_model **result)
{
    struct tri_model *model = calloc(1, sizeof *model);
    if (!model)
        return tri_error_set(context->err, TRI_NOMEM, "out of memory for the model");
    model->context = context;
    if (hooks)
        model->hooks = *hooks;
    tri_status status = build_slices(model);
    if (status == TRI_OK && model->hooks.pre_wrap)
        status = model->hooks.pre_wrap(model->hooks.user, model);
    if (status == TRI_OK)
        status = wrap(model);
    if (status == TRI_OK && model->hooks.post_wrap)
        status = model->hooks.post_wrap(model->hooks.user, model);
    if (status != TRI_OK) {
        tri_model_destroy(&model);
        return status;
    }
    *result = model;
    return TRI_OK;
}

void tri_model_destroy(struct tri_model **result)
{
    struct tri_model *model = *result;
    if (!model)
        return;
    for (int i = 0; model->slices && i < model->num_slices; i++)
        tri_slice_destroy(&model->slices[i]);
    free(model->slices);
    free(model->params);
    free(model->shards);
    free(model->reduce);
    free(model->reduced);
    free(model);
    *result = NULL;
}
