/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the optimizer and of the learning-rate schedule: part of the run file's train
   section. */
#pragma once

#include "base/options.h"

enum tri_lr_style {
    TRI_LR_CONSTANT,
    TRI_LR_LINEAR,
    TRI_LR_COSINE,
    TRI_LR_INVERSE_SQUARE_ROOT,
    TRI_LR_WSD
};
enum tri_wsd_style { TRI_WSD_EXPONENTIAL, TRI_WSD_LINEAR, TRI_WSD_COSINE, TRI_WSD_MINUS_SQRT };
enum tri_wd_style { TRI_WD_CONSTANT, TRI_WD_LINEAR, TRI_WD_COSINE };

struct tri_optim_config {
    int64_t optimizer; /* index into the optimizers: adam */
    double lr;         /* highest rate; required to train */
    double min_lr;
    int64_t lr_decay_style;     /* enum tri_lr_style */
    int64_t lr_decay_iters;     /* unset: train_iters */
    int64_t lr_wsd_decay_style; /* enum tri_wsd_style */
    int64_t lr_wsd_decay_iters; /* unset */
    double lr_warmup_fraction;  /* unset */
    int64_t lr_warmup_iters;
    double lr_warmup_init;
    bool override_opt_param_scheduler; /* on load: this run's schedule, not the checkpoint's */
    bool use_checkpoint_opt_param_scheduler; /* on load: the checkpoint's */
    double weight_decay;
    double start_weight_decay, end_weight_decay; /* unset */
    int64_t weight_decay_incr_style;             /* enum tri_wd_style */
    double clip_grad;                            /* 0: off */
    double adam_beta1, adam_beta2, adam_eps;
};
extern const struct tri_option_table tri_optim_options;
