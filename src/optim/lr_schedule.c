/* SPDX-License-Identifier: Apache-2.0 */
/* Learning-rate and weight-decay schedules. */
#include "optim/lr_schedule.h"

#include <math.h>

static void check_lengths(const struct tri_optim_config *config,
                          const struct tri_lr_schedule *schedule, int64_t batch, tri_error *err)
{
    if (schedule->decay <= 0)
        tri_error_add(err, TRI_INVALID,
                      "the learning rate decays over %lld iterations; it must be 1 or more",
                      (long long)(schedule->decay / batch));
    else if (schedule->warmup >= schedule->decay)
        tri_error_add(
            err, TRI_INVALID,
            "the warm-up of %.10g iterations is not shorter than the decay of %.10g; lower "
            "lr_warmup_iters (or lr_warmup_fraction) or raise lr_decay_iters",
            (double)schedule->warmup / (double)batch, (double)schedule->decay / (double)batch);
    if (config->lr_decay_style == TRI_LR_WSD && config->lr_wsd_decay_iters == TRI_UNSET)
        tri_error_add(err, TRI_INVALID, "lr_decay_style WSD needs lr_wsd_decay_iters");
    if (!isnan(config->lr_warmup_fraction) && config->lr_warmup_iters > 0)
        tri_error_add(err, TRI_INVALID,
                      "lr_warmup_fraction %g and lr_warmup_iters %lld exclude each other; give one",
                      config->lr_warmup_fraction, (long long)config->lr_warmup_iters);
}

static void check_values(const struct tri_optim_config *config,
                         const struct tri_lr_schedule *schedule, tri_error *err)
{
    if (isnan(config->lr))
        tri_error_add(err, TRI_INVALID,
                      "'lr' is not set; give the highest learning rate, for example 3e-4");
    if (schedule->min_lr > schedule->max_lr)
        tri_error_add(err, TRI_INVALID, "min_lr %g is above lr %g", schedule->min_lr,
                      schedule->max_lr);
    if (schedule->init_lr > schedule->max_lr)
        tri_error_add(err, TRI_INVALID, "lr_warmup_init %g is above lr %g", schedule->init_lr,
                      schedule->max_lr);
    bool has_ends = !isnan(config->start_weight_decay) || !isnan(config->end_weight_decay);
    if (config->weight_decay_incr_style == TRI_WD_CONSTANT && has_ends)
        tri_error_add(err, TRI_INVALID,
                      "start_weight_decay and end_weight_decay need weight_decay_incr_style linear "
                      "or cosine");
    if (config->weight_decay_incr_style != TRI_WD_CONSTANT &&
        !(schedule->start_wd <= schedule->end_wd))
        tri_error_add(err, TRI_INVALID,
                      "weight_decay_incr_style linear or cosine needs start_weight_decay <= "
                      "end_weight_decay");
}

tri_status tri_lr_schedule_plan(const struct tri_optim_config *config, int64_t train_iters,
                                int64_t global_batch_size, tri_error *err,
                                struct tri_lr_schedule *schedule)
{
    int before = tri_error_count(err);
    bool constant_wd = config->weight_decay_incr_style == TRI_WD_CONSTANT;
    int64_t decay_iters =
        config->lr_decay_iters == TRI_UNSET ? train_iters : config->lr_decay_iters;
    *schedule = (struct tri_lr_schedule){
        .init_lr = config->lr_warmup_init,
        .max_lr = config->lr,
        .min_lr = config->min_lr,
        .decay = decay_iters * global_batch_size,
        .wsd_decay = config->lr_wsd_decay_iters == TRI_UNSET
                         ? 0
                         : config->lr_wsd_decay_iters * global_batch_size,
        .style = config->lr_decay_style,
        .wsd_style = config->lr_wsd_decay_style,
        .start_wd = constant_wd ? config->weight_decay : config->start_weight_decay,
        .end_wd = constant_wd ? config->weight_decay : config->end_weight_decay,
        .wd_steps = constant_wd ? 0 : train_iters * global_batch_size,
        .wd_style = config->weight_decay_incr_style,
    };
    schedule->warmup = isnan(config->lr_warmup_fraction)
                           ? config->lr_warmup_iters * global_batch_size
                           : (int64_t)(config->lr_warmup_fraction * (double)schedule->decay);
    check_lengths(config, schedule, global_batch_size, err);
    check_values(config, schedule, err);
    return tri_error_count(err) > before ? TRI_INVALID : TRI_OK;
}

static double wsd_share(const struct tri_lr_schedule *schedule, double samples)
{
    double start = (double)(schedule->decay - schedule->wsd_decay);
    if (samples <= start)
        return 1.0;
    double share = (samples - start) / (double)schedule->wsd_decay;
    switch (schedule->wsd_style) {
    case TRI_WSD_LINEAR:
        return 1.0 - share;
    case TRI_WSD_COSINE:
        return 0.5 * (cos(M_PI * share) + 1.0);
    case TRI_WSD_MINUS_SQRT:
        return 1.0 - sqrt(share);
    default:
        return 2.0 * pow(0.5, share) - 1.0;
    }
}

double tri_lr_schedule_rate(const struct tri_lr_schedule *schedule, int64_t samples)
{
    double x = (double)samples, warmup = (double)schedule->warmup, decay = (double)schedule->decay;
    double highest = schedule->max_lr, lowest = schedule->min_lr;
    if (schedule->warmup > 0 && samples <= schedule->warmup)
        return schedule->init_lr + (highest - schedule->init_lr) * x / warmup;
    if (schedule->style == TRI_LR_CONSTANT)
        return highest;
    if (samples > schedule->decay)
        return lowest;
    if (schedule->style == TRI_LR_INVERSE_SQUARE_ROOT)
        return fmax(lowest, highest * sqrt(fmax(warmup, 1.0)) / sqrt(fmax(x, 1.0)));
    double share = (x - warmup) / (decay - warmup);
    double coefficient = 1.0 - share;
    if (schedule->style == TRI_LR_COSINE)
        coefficient = 0.5 * (cos(M_PI * share) + 1.0);
    else if (schedule->style == TRI_LR_WSD)
        coefficient = wsd_share(schedule, x);
    return lowest + coefficient * (highest - lowest);
}

double tri_lr_schedule_weight_decay(const struct tri_lr_schedule *schedule, int64_t samples)
{
    if (schedule->wd_style == TRI_WD_CONSTANT || samples > schedule->wd_steps)
        return schedule->end_wd;
    double share = (double)samples / (double)schedule->wd_steps;
    if (schedule->wd_style == TRI_WD_COSINE)
        share = 0.5 * (cos(M_PI * (1.0 - share)) + 1.0);
    return schedule->start_wd + (schedule->end_wd - schedule->start_wd) * share;
}
