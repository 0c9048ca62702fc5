/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of placement/plan_check.h. */
#include "placement/plan_check.h"

#include <inttypes.h>

tri_status tri_plan_check_request(const struct tri_plan_request *request, tri_error *err)
{
    const struct {
        const char *name;
        int64_t value;
    } positive[] = {
        {"micro_batch_size", request->micro_batch_size},
        {"global_batch_size", request->global_batch_size},
        {"seq_length", request->seq_length},
        {"team_size", request->team_size},
    };
    tri_status status = TRI_OK;
    for (size_t i = 0; i < sizeof(positive) / sizeof(positive[0]); i++) {
        if (positive[i].value >= 1)
            continue;
        char value[32] = "not set";
        if (positive[i].value != TRI_UNSET)
            snprintf(value, sizeof(value), "%" PRId64, positive[i].value);
        status =
            tri_error_add(err, TRI_INVALID, "'%s' is %s; use at least 1", positive[i].name, value);
    }
    TRI_ASSERT(request->optimizer_bytes == (size_t)request->num_moments * sizeof(float));
    return status;
}

tri_status tri_plan_check_batch(const struct tri_plan_request *request, int dp, tri_error *err,
                                int *num_microbatches)
{
    int64_t global = request->global_batch_size, unit;
    if (__builtin_mul_overflow(request->micro_batch_size, dp, &unit) || unit < 1)
        return tri_error_add(err, TRI_INVALID, "'micro_batch_size' %" PRId64 " is too large",
                             request->micro_batch_size);
    if (global % unit != 0) {
        int64_t below = global / unit * unit;
        char lower[32] = "";
        if (below > 0)
            snprintf(lower, sizeof(lower), "%" PRId64 " or ", below);
        return tri_error_add(err, TRI_INVALID,
                             "'global_batch_size' %" PRId64
                             " is no multiple of 'micro_batch_size' %" PRId64
                             " x %d data-parallel ranks = %" PRId64 "; use %s%" PRId64,
                             global, request->micro_batch_size, dp, unit, lower, below + unit);
    }
    if (global / unit > INT32_MAX)
        return tri_error_add(err, TRI_INVALID,
                             "'global_batch_size' %" PRId64 " makes %" PRId64
                             " microbatches; use at most %d",
                             global, global / unit, INT32_MAX);
    *num_microbatches = (int)(global / unit);
    return TRI_OK;
}
