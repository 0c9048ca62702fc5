/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows of the optimizer and the learning-rate schedule. */
#include "optim/config.h"

#include <stddef.h>

#define FIELD(name) offsetof(struct tri_optim_config, name)

static const char *const optimizers[] = {"adam", NULL};
static const char *const lr_styles[] = {"constant", "linear", "cosine", "inverse-square-root", "WSD", NULL};
static const char *const wsd_styles[] = {"exponential", "linear", "cosine", "minus_sqrt", NULL};
static const char *const wd_styles[] = {"constant", "linear", "cosine", NULL};

static const struct tri_option rows[] = {
    {.name = "optimizer", .type = TRI_OPTION_CHOICE, .offset = FIELD(optimizer), .default_text = "adam",
     .choices = optimizers, .help = "rule of the update; adam decouples the weight decay (AdamW)"},
    {.name = "lr", .type = TRI_OPTION_DOUBLE, .offset = FIELD(lr), .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "highest learning rate"},
    {.name = "min_lr", .type = TRI_OPTION_DOUBLE, .offset = FIELD(min_lr), .default_text = "0",
     .flags = TRI_OPTION_NON_NEGATIVE, .help = "learning rate at the end of the decay"},
    {.name = "lr_decay_style", .type = TRI_OPTION_CHOICE, .offset = FIELD(lr_decay_style),
     .default_text = "linear", .choices = lr_styles, .help = "how the learning rate falls after the warm-up"},
    {.name = "lr_decay_iters", .type = TRI_OPTION_INT, .offset = FIELD(lr_decay_iters),
     .flags = TRI_OPTION_POSITIVE, .unit = "iterations",
     .help = "iteration at which the decay ends; train_iters when unset"},
    {.name = "lr_wsd_decay_style", .type = TRI_OPTION_CHOICE, .offset = FIELD(lr_wsd_decay_style),
     .default_text = "exponential", .choices = wsd_styles, .help = "shape of the final fall of WSD"},
    {.name = "lr_wsd_decay_iters", .type = TRI_OPTION_INT, .offset = FIELD(lr_wsd_decay_iters),
     .flags = TRI_OPTION_POSITIVE, .unit = "iterations", .help = "length of the final fall of WSD"},
    {.name = "lr_warmup_fraction", .type = TRI_OPTION_DOUBLE, .offset = FIELD(lr_warmup_fraction), .min = 0,
     .max = 1, .help = "warm-up as a share of the decay; instead of lr_warmup_iters"},
    {.name = "lr_warmup_iters", .type = TRI_OPTION_INT, .offset = FIELD(lr_warmup_iters), .default_text = "0",
     .flags = TRI_OPTION_NON_NEGATIVE, .unit = "iterations", .help = "length of the linear warm-up"},
    {.name = "lr_warmup_init", .type = TRI_OPTION_DOUBLE, .offset = FIELD(lr_warmup_init),
     .default_text = "0", .flags = TRI_OPTION_NON_NEGATIVE, .help = "learning rate of the first iteration"},
    {.name = "override_opt_param_scheduler", .type = TRI_OPTION_BOOL,
     .offset = FIELD(override_opt_param_scheduler), .default_text = "false",
     .help = "on load, this run's learning-rate schedule replaces the checkpoint's"},
    {.name = "use_checkpoint_opt_param_scheduler", .type = TRI_OPTION_BOOL,
     .offset = FIELD(use_checkpoint_opt_param_scheduler), .default_text = "false",
     .help = "on load, the checkpoint's learning-rate schedule replaces this run's"},
    {.name = "weight_decay", .type = TRI_OPTION_DOUBLE, .offset = FIELD(weight_decay), .default_text = "0.01",
     .flags = TRI_OPTION_NON_NEGATIVE, .help = "decay of parameters with two or more dimensions"},
    {.name = "start_weight_decay", .type = TRI_OPTION_DOUBLE, .offset = FIELD(start_weight_decay),
     .flags = TRI_OPTION_NON_NEGATIVE, .help = "weight decay at the start, when it changes"},
    {.name = "end_weight_decay", .type = TRI_OPTION_DOUBLE, .offset = FIELD(end_weight_decay),
     .flags = TRI_OPTION_NON_NEGATIVE, .help = "weight decay at the end, when it changes"},
    {.name = "weight_decay_incr_style", .type = TRI_OPTION_CHOICE, .offset = FIELD(weight_decay_incr_style),
     .default_text = "constant", .choices = wd_styles, .help = "how the weight decay changes"},
    {.name = "clip_grad", .type = TRI_OPTION_DOUBLE, .offset = FIELD(clip_grad), .default_text = "1.0",
     .flags = TRI_OPTION_NON_NEGATIVE, .help = "largest norm of the gradient; 0: no clipping"},
    {.name = "adam_beta1", .type = TRI_OPTION_DOUBLE, .offset = FIELD(adam_beta1), .default_text = "0.9",
     .min = 0, .max = 1, .help = "decay of the first moment"},
    {.name = "adam_beta2", .type = TRI_OPTION_DOUBLE, .offset = FIELD(adam_beta2), .default_text = "0.999",
     .min = 0, .max = 1, .help = "decay of the second moment"},
    {.name = "adam_eps", .type = TRI_OPTION_DOUBLE, .offset = FIELD(adam_eps), .default_text = "1e-8",
     .flags = TRI_OPTION_NON_NEGATIVE, .help = "added to the root of the second moment"},
};

const struct tri_option_table tri_optim_options = {
    .section = "train",
    .rows = rows,
    .num_rows = (int)(sizeof rows / sizeof rows[0]),
    .struct_bytes = sizeof(struct tri_optim_config),
};
