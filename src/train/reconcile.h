/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The learning-rate schedule on resume: a run that goes on with another schedule by accident is
 * refused with both values, unless its options say which one holds.
 */
#pragma once

#include "optim/lr_schedule.h"

/*
 * Compares the schedule saved in the checkpoint dir with *schedule. override_opt_param_scheduler
 * keeps schedule and notes what changes, use_checkpoint_opt_param_scheduler replaces it; else every
 * difference is
 *    added to err.
 */
tri_status tri_lr_schedule_reconcile(const struct tri_lr_schedule *saved,
                                     const struct tri_optim_config *config, const char *dir,
                                     tri_error *err, struct tri_lr_schedule *schedule);
