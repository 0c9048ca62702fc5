/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of a run's request before anything is allocated or any rank is started. */
#pragma once

#include "train/run_config.h"

enum tri_request_needs {
    TRI_NEEDS_DATA = 1,     /* data_path or a split's own */
    TRI_NEEDS_SCHEDULE = 2, /* train_iters and a learning rate */
};

/* After values that could not be read: adds what else is wrong with the run to err, but for
   problems with options that err speaks of already. */
void tri_cli_check_more(const struct tri_run_config *config, tri_error *err);

/* For the command plan: checks those of the sections that are there and no part of the plan. */
void tri_cli_check_rest(const struct tri_run_config *config, tri_error *err);

/* Plans the run for the world it will have. Every problem is printed, and the exit code
   returned; -1 when there is none. */
int tri_cli_check_run(const char *command, const struct tri_run_config *config, int needs);
