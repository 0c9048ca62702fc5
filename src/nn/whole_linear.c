/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A linear that every rank of tp holds whole: x [S, B, in] -> y [S, B, out], y = x weight^T + bias. It works
 * on what is there outside tensor-parallel regions and sends nothing; under sequence parallelism model/ sums
 * its gradients over tp. It stands for an attention or an MLP that was replaced by a linear.
 */
#include "nn/classes.h"
#include "nn/linear.h"

struct whole_linear {
    struct tri_module base;
    struct tri_param *weight, *bias; /* bias NULL: none */
    struct tri_row_ref workspace, workspace_back;
};
enum { WHOLE_X, WHOLE_DOUT };

static tri_status whole_linear_forward(tri_module *module, struct tri_slot *slot,
                                       const struct tri_tensor *in, struct tri_tensor *out)
{
    struct whole_linear *self = (struct whole_linear *)module;
    tri_linear_forward(module, self->weight, *out, *in, tri_row_address(&self->workspace, slot));
    tri_linear_bias(module, self->bias, *out);
    *tri_module_view(module, slot, WHOLE_X) = *in;
    return TRI_OK;
}

/* dx = dout weight */
static tri_status whole_linear_backward_input(tri_module *module, struct tri_slot *slot,
                                              const struct tri_tensor *dout, struct tri_tensor *din)
{
    struct whole_linear *self = (struct whole_linear *)module;
    tri_linear_backward_input(module, self->weight, *din, *dout,
                              tri_row_address(&self->workspace_back, slot));
    *tri_module_view(module, slot, WHOLE_DOUT) = *dout;
    return TRI_OK;
}

/* dweight += dout^T x, dbias += sum over positions of dout */
static tri_status whole_linear_backward_weight(tri_module *module, struct tri_slot *slot)
{
    struct whole_linear *self = (struct whole_linear *)module;
    void *workspace = tri_row_address(&self->workspace_back, slot);
    struct tri_tensor dout = *tri_module_view(module, slot, WHOLE_DOUT);
    struct tri_tensor x = *tri_module_view(module, slot, WHOLE_X);
    tri_linear_backward_weight(module, self->weight, dout, x, workspace);
    tri_linear_backward_bias(module, self->bias, dout, workspace);
    return TRI_OK;
}

static const struct tri_module_ops whole_linear_ops = {
    .name = "whole_linear",
    .forward = whole_linear_forward,
    .backward = tri_module_backward_halves,
    .backward_input = whole_linear_backward_input,
    .backward_weight = whole_linear_backward_weight,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status whole_linear_init(struct whole_linear *self, struct tri_build *build,
                                    const struct tri_whole_linear_params *params)
{
    TRI_TRY(tri_build_param(build, &self->base, "weight", &self->weight));
    if (params->bias)
        TRI_TRY(tri_build_param(build, &self->base, "bias", &self->bias));
    TRI_TRY(tri_build_row(build, &self->base, "workspace", &self->workspace));
    if (!build->sizing->forward_only)
        TRI_TRY(tri_build_row(build, &self->base, "workspace_back", &self->workspace_back));
    return TRI_OK;
}

static tri_status whole_linear_create(struct tri_build *build, const struct tri_module_spec *node,
                                      tri_module **module)
{
    struct whole_linear *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &whole_linear_ops, sizeof(*self), &self));
    return tri_build_finish(whole_linear_init(self, build, node->params), &self->base, module);
}

const struct tri_module_class tri_module_class_whole_linear = {.name = "whole_linear",
                                                               .create = whole_linear_create};
