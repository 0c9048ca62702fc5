/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place where a split meets a shape: which sizes of tp and sp a model can be cut by. Called by
 * the planner before anything is sized, and by the sizing itself.
 */
#pragma once

#include "spec/sizing.h"

/* Key/value heads that each of tp ranks holds, of num_groups: with fewer of them than ranks, neighbours
   hold the same one. */
static inline int64_t tri_split_groups(int64_t num_groups, int64_t tp)
{
    return num_groups > tp ? num_groups / tp : 1;
}
/* How many ranks hold the same one. */
static inline int64_t tri_split_copies(int64_t num_groups, int64_t tp)
{
    return num_groups > 0 && num_groups < tp ? tp / num_groups : 1;
}

/* Adds every problem to err, each with the sizes that would work. Pure. */
tri_status tri_split_check(const struct tri_gpt_config *shape, const struct tri_split *split,
                           int64_t seq_length, tri_error *err);
