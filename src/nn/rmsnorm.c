/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RMSNorm over the last dim, [S, B, C] -> [S, B, C]: y = x * rstd * weight, rstd = 1 /
 * sqrt(mean(x^2) + eps); "l2norm" is the same without a weight.
 *
 * The smallest complete module. Like every other it owes create, forward, the two halves of
 * backward and a table; it takes its rows and parameters from the unit's record by name and
 * remembers in the slot what backward needs: rstd in a row, x as a view (the container keeps x
 * alive). No communication; under sequence parallelism each rank sees its S positions, and model/
 * sums the weight's gradient over tp.
 */
#include "nn/classes.h"
#include "nn/norm_weight.h"

#include <string.h>

struct rmsnorm {
    struct tri_module base;
    float eps;
    struct tri_norm_weight weight;
    struct tri_row_ref rstd, workspace;
};
enum { RMSNORM_X };

static tri_status rmsnorm_forward(tri_module *module, struct tri_slot *slot,
                                  const struct tri_tensor *in, struct tri_tensor *out)
{
    struct rmsnorm *self = (struct rmsnorm *)module;
    struct tri_tensor rstd =
        tri_row_tensor(&self->rstd, slot, 2, (int64_t[2]){in->dims[0], in->dims[1]});
    struct tri_tensor weight =
        tri_norm_weight_acquire(&self->weight, module, slot, &self->weight.forward);
    module->kernels->rmsnorm(module->queue, *out, rstd, *in, weight, self->eps);
    tri_norm_weight_release(&self->weight);
    *tri_module_view(module, slot, RMSNORM_X) = *in;
    return TRI_OK;
}

/* With g = dout * weight and xhat = x * rstd:
   din = rstd * (g - xhat * mean(g * xhat)),  dweight += sum over rows of dout * xhat */
static tri_status rmsnorm_backward_input(tri_module *module, struct tri_slot *slot,
                                         const struct tri_tensor *dout, struct tri_tensor *din)
{
    struct rmsnorm *self = (struct rmsnorm *)module;
    struct tri_tensor x = *tri_module_view(module, slot, RMSNORM_X);
    struct tri_tensor rstd =
        tri_row_tensor(&self->rstd, slot, 2, (int64_t[2]){x.dims[0], x.dims[1]});
    struct tri_tensor weight =
        tri_norm_weight_acquire(&self->weight, module, slot, &self->weight.backward);
    module->kernels->rmsnorm_backward(module->queue, *din, tri_norm_weight_grad(&self->weight),
                                      *dout, x, rstd, weight,
                                      tri_row_address(&self->workspace, slot));
    tri_norm_weight_release(&self->weight);
    return TRI_OK;
}

static const struct tri_module_ops rmsnorm_ops = {
    .name = "rmsnorm",
    .forward = rmsnorm_forward,
    .backward = tri_module_backward_halves,
    .backward_input = rmsnorm_backward_input,
    .backward_weight = tri_module_backward_weight_none,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status rmsnorm_init(struct rmsnorm *self, struct tri_build *build,
                               const struct tri_module_spec *node)
{
    const struct tri_norm_params *params = node->params;
    self->eps = (float)params->eps;
    bool has_weight = strcmp(node->module, "rmsnorm") == 0;
    TRI_TRY(tri_norm_weight_init(&self->weight, build, &self->base, params, has_weight));
    TRI_TRY(tri_build_row(build, &self->base, "rstd", &self->rstd));
    if (!build->sizing->forward_only)
        TRI_TRY(tri_build_row(build, &self->base, "workspace", &self->workspace));
    return TRI_OK;
}

static tri_status rmsnorm_create(struct tri_build *build, const struct tri_module_spec *node,
                                 tri_module **module)
{
    struct rmsnorm *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &rmsnorm_ops, sizeof(*self), &self));
    return tri_build_finish(rmsnorm_init(self, build, node), &self->base, module);
}

const struct tri_module_class tri_module_class_rmsnorm = {.name = "rmsnorm",
                                                          .create = rmsnorm_create};
const struct tri_module_class tri_module_class_l2norm = {.name = "l2norm",
                                                         .create = rmsnorm_create};
