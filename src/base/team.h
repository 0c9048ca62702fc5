/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A team of threads that belongs to one rank. All threading of kernels goes through it. The caller
 * of tri_team_run() works along as member 0; the others sleep while there is nothing to do.
 *
 * The size of a team never changes a bit of a result: work is cut into tasks whose borders depend
 * on the shape alone, each task writes its own output, and partial results are combined in task
 * order by the caller. Which member runs which task is not fixed.
 */
#pragma once

#include "base/check.h"

#include <stdint.h>

typedef struct tri_team tri_team;

/* member is 0 .. size-1 and may be used to pick private scratch, never to pick work. */
typedef void tri_task_fn(void *arg, int64_t task, int member);

/* Starts size - 1 threads; size >= 1. The caller destroys the team. */
tri_status tri_team_create(int size, tri_error *err, tri_team **team);
void tri_team_destroy(tri_team **team);
int tri_team_size(const tri_team *team);
/* Runs tasks 0 .. num_tasks-1 and returns when all are done. Not re-entrant. A NULL team runs them
   in order in the caller. */
void tri_team_run(tri_team *team, tri_task_fn *fn, void *arg, int64_t num_tasks);
