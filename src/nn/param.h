/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parameter as a module sees it. A module borrows the weight (acquire / release) at each use and
 * keeps no pointer: gathering on demand, offload and packing need nothing else. Gradients
 * accumulate.
 */
#pragma once

#include "placement/plan.h"
#include "tensor/tensor.h"

struct tri_param {
    const struct tri_param_spec *spec;
    const struct tri_param_plan *plan;
    struct tri_tensor value; /* local dims */
    struct tri_tensor grad;  /* local dims, fp32 main gradient; data NULL when forward only */
};

static inline struct tri_tensor tri_param_acquire(struct tri_param *param)
{
    return param->value;
}
static inline void tri_param_release(struct tri_param *param)
{
    (void)param;
}
static inline struct tri_tensor tri_param_grad(struct tri_param *param)
{
    return param->grad;
}
