/* SPDX-License-Identifier: Apache-2.0 */
/* Two schedules, field by field. */
#include "train/reconcile.h"

#include <stddef.h>
#include <stdint.h>

struct field {
    const char *name;
    size_t offset;
    bool is_integer;
};
#define REAL(name, field)                                                                          \
    {                                                                                              \
        name, offsetof(struct tri_lr_schedule, field), false                                       \
    }
#define WHOLE(name, field)                                                                         \
    {                                                                                              \
        name, offsetof(struct tri_lr_schedule, field), true                                        \
    }

static const struct field fields[] = {
    REAL("start of the warm-up (lr_warmup_init)", init_lr),
    REAL("highest rate (lr)", max_lr),
    REAL("lowest rate (min_lr)", min_lr),
    WHOLE("warm-up in samples (from lr_warmup_iters)", warmup),
    WHOLE("decay in samples (from lr_decay_iters, else train_iters)", decay),
    WHOLE("WSD decay in samples (from lr_wsd_decay_iters)", wsd_decay),
    WHOLE("number of the decay style (lr_decay_style)", style),
    WHOLE("number of the WSD style (lr_wsd_decay_style)", wsd_style),
    REAL("weight decay at the start", start_wd),
    REAL("weight decay at the end", end_wd),
    WHOLE("number of the weight-decay style", wd_style),
    WHOLE("samples over which the weight decay changes", wd_steps),
};

static double get(const struct tri_lr_schedule *schedule, const struct field *field)
{
    const void *at = (const char *)schedule + field->offset;
    return field->is_integer ? (double)*(const int64_t *)at : *(const double *)at;
}

tri_status tri_lr_schedule_reconcile(const struct tri_lr_schedule *saved,
                                     const struct tri_optim_config *config, const char *dir,
                                     tri_error *err, struct tri_lr_schedule *schedule)
{
    TRI_CHECK(
        !(config->override_opt_param_scheduler && config->use_checkpoint_opt_param_scheduler), err,
        TRI_INVALID,
        "override_opt_param_scheduler and use_checkpoint_opt_param_scheduler exclude each other");
    tri_status status = TRI_OK;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        double theirs = get(saved, &fields[i]), ours = get(schedule, &fields[i]);
        if (theirs == ours || config->use_checkpoint_opt_param_scheduler)
            continue;
        if (config->override_opt_param_scheduler)
            tri_error_note(
                err, "the learning-rate schedule changes: %s %.10g in '%s', %.10g from here on",
                fields[i].name, theirs, dir, ours);
        else
            status = tri_error_add(
                err, TRI_INVALID,
                "the learning-rate schedule of '%s' has %s %.10g, this run %.10g; use "
                "--override-opt-param-scheduler for this run's or "
                "--use-checkpoint-opt-param-scheduler for the checkpoint's",
                dir, fields[i].name, theirs, ours);
    }
    if (config->use_checkpoint_opt_param_scheduler)
        *schedule = *saved;
    return status;
}
