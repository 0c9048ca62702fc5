/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times whole training steps on random tokens, in alternation with plain matrix products on the
 * same team, so that a machine whose speed drifts gives an honest share.
 */
#pragma once

#include "train/step.h"

#include <stdio.h>

struct tri_bench_request {
    const struct tri_run_config *config;
    int repeats;
    FILE *out; /* CSV, by rank 0 */
};

/* Body for tri_launch_run(): arg is a struct tri_bench_request. Collective over the world. */
tri_status tri_bench_step(void *arg, tri_world *world);
