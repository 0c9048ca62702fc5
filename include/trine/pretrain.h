/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training loop of one rank: build, load or initialise, then steps with logging, evaluation and
 * saving until the run is done or asked to stop. The only state is tensors and a few numbers, so a
 * run that stops and resumes gives the same bits as one that did not.
 */
#pragma once

#include "trine/cancel.h"
#include "trine/extension.h"
#include "trine/hooks.h"
#include "trine/launch.h"

#include <stdint.h>

/* Where texts for people go. Any entry may be NULL. */
struct tri_observer {
    void *arg;
    void (*line)(void *arg, const char *text);
    /* Before the first iteration: what is no failure and yet worth knowing, such as data that will be
       read more than once. Without this entry such notes stay in the error record. */
    void (*note)(void *arg, const char *text);
    /* After every iteration: done of total, seconds left by the pace so far, the last loss. */
    void (*progress)(void *arg, int64_t done, int64_t total, double seconds_left, double loss);
};

struct tri_pretrain_request {
    const struct tri_run_config *config;
    const struct tri_hooks *hooks; /* may be NULL */
    const struct tri_extension *extensions;
    int num_extensions;
    struct tri_observer observer; /* used on rank 0 */
    struct tri_cancel *cancel;    /* may be NULL */
};

/* Body for a launch: arg is a struct tri_pretrain_request. TRI_STOPPED: stopped on request, after
   saving where the run saves. Collective over the world. */
tri_status tri_pretrain(void *arg, tri_world *world);
