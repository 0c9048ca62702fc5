/* SPDX-License-Identifier: Apache-2.0 */
/* One training step. */
#include "train/step.h"

#include "base/cancel.h"
#include "base/exact_sum.h"
#include "optim/optimizer.h"

#include <math.h>

tri_status tri_step_total_loss(struct tri_session *session, const struct tri_loss_term *term,
                               double values[2])
{
    const struct tri_context *context = session->context;
    bool owner = context->tp->rank == 0 && context->pp->rank == context->pp->size - 1;
    values[0] = owner ? term->value : 0.0;
    values[1] = owner ? term->count : 0.0;
    return tri_group_all_reduce(context->all, values, 2, TRI_DTYPE_F64, TRI_REDUCE_SUM);
}

/* The norm and whatever else ranks must agree on travel as integers in one message. */
struct agreement {
    int64_t word[TRI_EXACT_SUM_WORDS];
    int64_t stop;
};

static tri_status agree(struct tri_session *session, bool stop_asked, double *norm_squared,
                        int64_t *non_finite, bool *stop)
{
    struct tri_exact_sum sum;
    struct agreement message = {.stop = stop_asked};
    tri_exact_sum_init(&sum);
    tri_optimizer_sum_squares(session->model, 1.0, &sum);
    tri_exact_sum_normalise(&sum);
    for (int i = 0; i < TRI_EXACT_SUM_LIMBS; i++)
        message.word[i] = sum.limb[i];
    message.word[TRI_EXACT_SUM_LIMBS] = sum.num_non_finite;
    TRI_TRY(tri_group_all_reduce(session->context->all, &message, TRI_EXACT_SUM_WORDS + 1,
                                 TRI_DTYPE_I64, TRI_REDUCE_SUM));
    for (int i = 0; i < TRI_EXACT_SUM_LIMBS; i++)
        sum.limb[i] = message.word[i];
    sum.num_non_finite = message.word[TRI_EXACT_SUM_LIMBS];
    *norm_squared = tri_exact_sum_value(&sum);
    *non_finite = sum.num_non_finite;
    *stop = message.stop > 0;
    return TRI_OK;
}

static tri_status run_schedule(struct tri_session *session, const struct tri_batch_source *source,
                               struct tri_execution *execution)
{
    const struct tri_train_config *train = &session->config.train;
    *execution = (struct tri_execution){
        .training = true,
        .seed = session->seed,
        .microbatch = source->microbatch,
        .arg = source->arg,
    };
    /* Megatron-LM's default: the mean of microbatch means over microbatches and ranks. */
    if (!train->calculate_per_token_loss)
        execution->mean_over = (double)train->global_batch_size / (double)train->micro_batch_size;
    return tri_executor_run(session->train_executor, execution);
}

/* A non-finite gradient ends the run; the rank that holds it names it, the others learn that it
   was not them. */
static tri_status refuse_non_finite(struct tri_session *session, int64_t iteration)
{
    tri_status mine = tri_optimizer_check_finite(session->model, iteration);
    TRI_TRY(tri_group_agree(session->context->all, mine));
    return tri_error_set(session->err, TRI_NUMERIC,
                         "iteration %lld: the gradient norm is not finite; nothing was updated",
                         (long long)iteration);
}

static double lap(double *clock)
{
    double now = tri_clock_seconds(), seconds = now - *clock;
    *clock = now;
    return seconds;
}

tri_status tri_step_run(struct tri_session *session, const struct tri_batch_source *source,
                        const struct tri_lr_schedule *schedule, bool stop_asked,
                        struct tri_progress *progress, struct tri_step_result *result)
{
    const struct tri_train_config *train = &session->config.train;
    double start = tri_clock_seconds(), clock = start;
    struct tri_execution execution;
    double loss[2], norm_squared;
    int64_t non_finite;

    TRI_TRY(source->begin_step(source->arg, progress->consumed_samples));
    result->phase_seconds[TRI_PHASE_DATA] = lap(&clock);

    tri_model_begin_step(session->model);
    TRI_TRY(run_schedule(session, source, &execution));
    result->phase_seconds[TRI_PHASE_MODEL] = lap(&clock);

    TRI_TRY(tri_model_finish_grads(session->model));
    TRI_TRY(tri_step_total_loss(session, &execution.loss[TRI_LOSS_LM], loss));
    TRI_TRY(agree(session, stop_asked, &norm_squared, &non_finite, &result->stop));
    result->phase_seconds[TRI_PHASE_REDUCE] = lap(&clock);
    if (non_finite > 0 && train->check_for_nan_in_loss_and_grad)
        return refuse_non_finite(session, progress->iteration + 1);

    double factor =
        train->calculate_per_token_loss ? 1.0 / (fmax(loss[1], 1.0) * session->seed) : 1.0;
    result->loss = loss[0] / fmax(loss[1], 1.0);
    result->valid_tokens = loss[1];
    result->grad_norm = sqrt(norm_squared) * factor;
    result->lr = tri_lr_schedule_rate(schedule, progress->schedule_samples);
    struct tri_update update = {
        .lr = result->lr,
        .weight_decay = tri_lr_schedule_weight_decay(schedule, progress->schedule_samples),
        .grad_factor =
            factor * tri_clip_coefficient(session->config.optim.clip_grad, result->grad_norm),
        .step = progress->updates + 1,
    };
    tri_optimizer_step(session->model, &session->config.optim, &update);
    TRI_TRY(tri_model_gather_params(session->model));
    TRI_TRY(tri_context_check_gaps(session->context));
    result->phase_seconds[TRI_PHASE_UPDATE] = lap(&clock);

    progress->iteration++;
    progress->updates++;
    progress->consumed_samples += train->global_batch_size;
    progress->schedule_samples += train->global_batch_size;
    result->seconds = tri_clock_seconds() - start;
    return TRI_OK;
}
