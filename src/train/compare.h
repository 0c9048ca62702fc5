/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds trine against another framework: runs a case directory (train/case.h) on any grid and
 * prints the largest difference per quantity, tensor and step beside the tolerance.
 */
#pragma once

#include "train/case.h"
#include "train/step.h"

#include <stdio.h>

struct tri_compare_request {
    const struct tri_case *reference;
    const struct tri_run_config *config; /* shape from the case's model; placement from the user */
    FILE *out;                           /* rank 0's results */
    bool failed;                         /* out: something lies outside its tolerance; by rank 0 */
};

/* Body for tri_launch_run(): arg is a struct tri_compare_request. Collective over the world. */
tri_status tri_compare(void *arg, tri_world *world);
