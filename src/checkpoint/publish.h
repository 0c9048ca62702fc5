/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a checkpoint directory becomes visible: written as SAVE/.tmp-iter_N beside its target,
 * swapped in by one rename, then `latest` replaced by another. A directory of the same iteration is
 * replaced whole. What an earlier run that died has left behind under such names is cleaned up.
 * Local to rank 0.
 */
#pragma once

#include "base/arena.h"
#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

struct tri_publish {
    const char *folder; /* SAVE */
    const char *name;   /* iter_0000500 */
    const char *temp, *target, *old;
    int64_t iteration;
    bool begun; /* temp was made by this save */
};

/* The names; touches nothing. */
tri_status tri_publish_plan(const char *folder, int64_t iteration, tri_arena *arena, tri_error *err,
                            struct tri_publish *publish);
/* Makes SAVE when missing, cleans up, makes temp. */
tri_status tri_publish_begin(struct tri_publish *publish, tri_arena *arena, tri_error *err);
/* Syncs temp, renames it to the target and moves `latest`. */
tri_status tri_publish_end(struct tri_publish *publish, tri_arena *arena, tri_error *err);
/* Removes the oldest directories of iterations first_iteration < i <= the one just saved, until
   keep are left; 0 keeps all. A failure is a note: the new checkpoint is complete. */
void tri_publish_retain(const struct tri_publish *publish, int keep, int64_t first_iteration,
                        tri_arena *arena, tri_error *err);

/* The iteration that a directory name iter_N stands for; -1 for other names. */
int64_t tri_publish_parse(const char *name);
