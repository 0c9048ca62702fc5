/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place where a split meets a shape: which sizes of tp and sp a model can be cut by. Called by
 * the planner before anything is sized, and by the sizing itself.
 */
#pragma once

#include "spec/sizing.h"

/* Adds every problem to err, each with the sizes that would work. Pure. */
tri_status tri_split_check(const struct tri_gpt_config *shape, const struct tri_split *split,
                           int64_t seq_length, tri_error *err);
