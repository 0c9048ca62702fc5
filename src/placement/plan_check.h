/* SPDX-License-Identifier: Apache-2.0 */
/* What tri_placement_plan() refuses. Every function adds all its problems to err. Pure. */
#pragma once

#include "placement/layout.h"

/* Numbers of the request that stand alone. */
tri_status tri_plan_check_request(const struct tri_plan_request *request, tri_error *err);
/* global = micro * dp * microbatches; *num_microbatches is set on success. */
tri_status tri_plan_check_batch(const struct tri_plan_request *request, int dp, tri_error *err,
                                int *num_microbatches);
