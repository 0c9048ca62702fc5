/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training loop of one rank: build, load or initialise, then steps with logging, evaluation and saving
 * until the run is done or asked to stop. The only state is tensors and struct tri_progress, so a run that
 * stops and resumes gives the same bits as one that did not.
 */
#pragma once

#include "base/cancel.h"
#include "train/evaluate.h"
#include "train/metrics.h"

struct tri_pretrain_request {
    const struct tri_run_config *config;
    const struct tri_hooks *hooks;         /* may be NULL */
    const struct tri_extension *extensions;
    int num_extensions;
    struct tri_observer observer;          /* used on rank 0 */
    struct tri_cancel *cancel;             /* may be NULL */
};

/* Body for tri_launch_run(): arg is a struct tri_pretrain_request. TRI_STOPPED: stopped on request, after
   saving where the run saves. Collective over the world. */
tri_status tri_pretrain(void *arg, tri_world *world);
