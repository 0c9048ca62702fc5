/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LayerNorm over the last dim, [S, B, C] -> [S, B, C]:
 *   xhat = (x - mean) * rstd, rstd = 1 / sqrt(var + eps), y = xhat * weight + bias
 * Mean and rstd are kept in rows, x as a view. No communication; under sequence parallelism each
 * rank sees its S positions, and model/ sums the gradients of weight and bias over tp.
 */
#include "nn/classes.h"
#include "nn/norm_weight.h"

struct layernorm {
    struct tri_module base;
    float eps;
    struct tri_norm_weight weight;
    struct tri_param *bias; /* NULL: none */
    struct tri_row_ref mean, rstd, workspace;
};
enum { LAYERNORM_X };

static tri_status layernorm_forward(tri_module *module, struct tri_slot *slot,
                                    const struct tri_tensor *in, struct tri_tensor *out)
{
    struct layernorm *self = (struct layernorm *)module;
    const int64_t rows[2] = {in->dims[0], in->dims[1]};
    struct tri_tensor mean = tri_row_tensor(&self->mean, slot, 2, rows);
    struct tri_tensor rstd = tri_row_tensor(&self->rstd, slot, 2, rows);
    struct tri_tensor weight =
        tri_norm_weight_acquire(&self->weight, module, slot, &self->weight.forward);
    struct tri_tensor bias = {.data = NULL};
    if (self->bias)
        bias = tri_param_acquire(self->bias);
    module->kernels->layernorm(module->queue, *out, mean, rstd, *in, weight, bias, self->eps);
    if (self->bias)
        tri_param_release(self->bias);
    tri_norm_weight_release(&self->weight);
    *tri_module_view(module, slot, LAYERNORM_X) = *in;
    return TRI_OK;
}

/* With g = dout * weight:
   din = rstd * (g - mean(g) - xhat * mean(g * xhat))
   dweight += sum over rows of dout * xhat,  dbias += sum over rows of dout */
static tri_status layernorm_backward_input(tri_module *module, struct tri_slot *slot,
                                           const struct tri_tensor *dout, struct tri_tensor *din)
{
    struct layernorm *self = (struct layernorm *)module;
    struct tri_tensor x = *tri_module_view(module, slot, LAYERNORM_X);
    const int64_t rows[2] = {x.dims[0], x.dims[1]};
    struct tri_tensor mean = tri_row_tensor(&self->mean, slot, 2, rows);
    struct tri_tensor rstd = tri_row_tensor(&self->rstd, slot, 2, rows);
    struct tri_tensor weight =
        tri_norm_weight_acquire(&self->weight, module, slot, &self->weight.backward);
    struct tri_tensor dbias = {.data = NULL};
    if (self->bias)
        dbias = tri_param_grad(self->bias);
    module->kernels->layernorm_backward(module->queue, *din, tri_norm_weight_grad(&self->weight),
                                        dbias, *dout, x, mean, rstd, weight,
                                        tri_row_address(&self->workspace, slot));
    tri_norm_weight_release(&self->weight);
    return TRI_OK;
}

static const struct tri_module_ops layernorm_ops = {
    .name = "layernorm",
    .forward = layernorm_forward,
    .backward = tri_module_backward_halves,
    .backward_input = layernorm_backward_input,
    .backward_weight = tri_module_backward_weight_none,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status layernorm_init(struct layernorm *self, struct tri_build *build,
                                 const struct tri_norm_params *params)
{
    self->eps = (float)params->eps;
    TRI_TRY(tri_norm_weight_init(&self->weight, build, &self->base, params, true));
    if (params->bias)
        TRI_TRY(tri_build_param(build, &self->base, "bias", &self->bias));
    TRI_TRY(tri_build_row(build, &self->base, "mean", &self->mean));
    TRI_TRY(tri_build_row(build, &self->base, "rstd", &self->rstd));
    if (!build->sizing->forward_only)
        TRI_TRY(tri_build_row(build, &self->base, "workspace", &self->workspace));
    return TRI_OK;
}

static tri_status layernorm_create(struct tri_build *build, const struct tri_module_spec *node,
                                   tri_module **module)
{
    struct layernorm *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &layernorm_ops, sizeof(*self), &self));
    return tri_build_finish(layernorm_init(self, build, node->params), &self->base, module);
}

const struct tri_module_class tri_module_class_layernorm = {.name = "layernorm",
                                                            .create = layernorm_create};
