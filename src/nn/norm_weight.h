/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a norm multiplies by: its weight, 1 + its weight, or 1 where it has none. The latter two are formed
 * in a work row at each use, a handful of numbers beside the activations.
 */
#pragma once

#include "nn/build.h"
#include "spec/modules.h"

struct tri_norm_weight {
    struct tri_param *param; /* NULL: none */
    bool is_formed;          /* in the rows */
    int64_t size;
    struct tri_row_ref forward, backward;
};

static inline tri_status tri_norm_weight_init(struct tri_norm_weight *weight,
                                              struct tri_build *build, const tri_module *self,
                                              const struct tri_norm_params *params, bool has_weight)
{
    weight->size = params->size;
    weight->is_formed = params->zero_centered || !has_weight;
    if (has_weight)
        TRI_TRY(tri_build_param(build, self, "weight", &weight->param));
    if (!weight->is_formed)
        return TRI_OK;
    TRI_TRY(tri_build_row(build, self, "factor", &weight->forward));
    return build->sizing->forward_only
               ? TRI_OK
               : tri_build_row(build, self, "factor_back", &weight->backward);
}

/* The factor, for one call; row is the pass's. Release it afterwards. */
static inline struct tri_tensor tri_norm_weight_acquire(const struct tri_norm_weight *weight,
                                                        const tri_module *self,
                                                        const struct tri_slot *slot,
                                                        const struct tri_row_ref *row)
{
    if (!weight->is_formed)
        return tri_param_acquire(weight->param);
    struct tri_tensor factor = tri_row_tensor(row, slot, 1, &weight->size);
    self->kernels->fill(self->queue, factor, 1);
    if (weight->param)
        self->kernels->add(self->queue, factor, factor, tri_param_acquire(weight->param));
    return factor;
}

static inline void tri_norm_weight_release(const struct tri_norm_weight *weight)
{
    if (weight->param)
        tri_param_release(weight->param);
}

/* Where the weight's gradient goes; data NULL where there is none. */
static inline struct tri_tensor tri_norm_weight_grad(const struct tri_norm_weight *weight)
{
    return weight->param ? tri_param_grad(weight->param) : (struct tri_tensor){.data = NULL};
}
