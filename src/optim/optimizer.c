/* SPDX-License-Identifier: Apache-2.0 */
/* Norm, clipping, and the rules of the update. */
#include "optim/optimizer.h"

#include "base/exact_sum.h"

#include <math.h>

/* AdamW (Loshchilov and Hutter): the decay is not part of the gradient. */
static void adam_update(struct tri_context *context, const struct tri_optim_config *config,
                        const struct tri_shard *shard, float *const *moments,
                        const struct tri_update *update)
{
    double divisor = shard->param->spec->lr_divisor > 0 ? shard->param->spec->lr_divisor : 1;
    struct tri_adam adam = {
        .lr = (float)(update->lr / divisor),
        .beta1 = (float)config->adam_beta1,
        .beta2 = (float)config->adam_beta2,
        .eps = (float)(config->adam_eps / divisor),
        .weight_decay = (float)update->weight_decay,
        .bias1 = (float)(1.0 - pow(config->adam_beta1, (double)update->step)),
        .bias2 = (float)(1.0 - pow(config->adam_beta2, (double)update->step)),
    };
    int64_t n = shard->value.dims[0];
    context->update->adam(&context->queue, shard->value, tri_tensor_f32_1d(moments[0], n),
                          tri_tensor_f32_1d(moments[1], n), shard->grad, (float)update->grad_factor,
                          &adam);
}

static const char *const adam_moments[] = {"exp_avg", "exp_avg_sq"};

/* In the order of the option's choices. */
static const struct tri_optimizer_row optimizers[] = {
    {.name = "adam", .num_moments = 2, .moment_names = adam_moments, .update = adam_update},
};

const struct tri_optimizer_row *tri_optimizer_get(int64_t index)
{
    return &optimizers[index];
}

void tri_optimizer_plan(const struct tri_optim_config *config, size_t *bytes, int *num_moments)
{
    *num_moments = tri_optimizer_get(config->optimizer)->num_moments;
    *bytes = (size_t)*num_moments * sizeof(float);
}

float *tri_optimizer_moment(const struct tri_model *model, int moment, int64_t state)
{
    float *base = tri_storage_get(model->context->arena[TRI_ARENA_OPTIM], 0);
    return base + moment * model->shard_elements + state;
}

void tri_optimizer_sum_squares(const struct tri_model *model, double factor,
                               struct tri_exact_sum *sum)
{
    struct tri_context *context = model->context;
    void *workspace = tri_context_row_named(context, "optimizer", "workspace");
    for (int i = 0; i < model->num_shards; i++) {
        const struct tri_shard *shard = &model->shards[i];
        struct tri_tensor counted = tri_tensor_slice(&shard->grad, 0, 0, shard->counted);
        if (shard->counted > 0)
            context->update->sum_squares(&context->queue, sum, counted, factor, workspace);
    }
}

tri_status tri_optimizer_check_finite(const struct tri_model *model, int64_t iteration)
{
    struct tri_context *context = model->context;
    for (int i = 0; i < model->num_shards; i++) {
        const struct tri_shard *shard = &model->shards[i];
        if (!shard->counted)
            continue;
        int64_t where = context->update->find_non_finite(&context->queue, shard->grad);
        if (where >= 0)
            return tri_error_set(
                context->err, TRI_NUMERIC,
                "iteration %lld: the gradient of '%s' is %g at element %lld on rank %d; "
                "nothing was updated",
                (long long)iteration, shard->param->spec->name,
                (double)tri_tensor_f32(&shard->grad)[where], (long long)(shard->first + where),
                context->world->rank);
    }
    return TRI_OK;
}

double tri_clip_coefficient(double clip, double norm)
{
    double coefficient = clip / (norm + 1e-6);
    return clip > 0 && coefficient < 1.0 ? coefficient : 1.0;
}

void tri_optimizer_step(struct tri_model *model, const struct tri_optim_config *config,
                        const struct tri_update *update)
{
    const struct tri_optimizer_row *row = tri_optimizer_get(config->optimizer);
    for (int i = 0; i < model->num_shards; i++) {
        const struct tri_shard *shard = &model->shards[i];
        float *moments[4];
        for (int m = 0; m < row->num_moments; m++)
            moments[m] = tri_optimizer_moment(model, m, shard->state);
        struct tri_update own = *update;
        if (!shard->param->spec->weight_decay)
            own.weight_decay = 0;
        row->update(model->context, config, shard, moments, &own);
    }
}
