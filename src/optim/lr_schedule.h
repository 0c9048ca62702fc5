/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning rate and weight decay as pure functions of the samples seen, with Megatron-LM's formulas
 * (OptimizerParamScheduler): the first update uses the value at 0 samples.
 */
#pragma once

#include "base/check.h"
#include "optim/config.h"

/* All lengths in samples. */
struct tri_lr_schedule {
    double init_lr, max_lr, min_lr;
    int64_t warmup, decay, wsd_decay;
    int64_t style, wsd_style;
    double start_wd, end_wd;
    int64_t wd_steps;
    int64_t wd_style;
};

/* Converts the options of a run of train_iters iterations of global_batch_size samples, and
   checks them; every problem is added to err with both numbers and the rule. */
tri_status tri_lr_schedule_plan(const struct tri_optim_config *config, int64_t train_iters,
                                int64_t global_batch_size, tri_error *err,
                                struct tri_lr_schedule *schedule);
double tri_lr_schedule_rate(const struct tri_lr_schedule *schedule, int64_t samples);
double tri_lr_schedule_weight_decay(const struct tri_lr_schedule *schedule, int64_t samples);
