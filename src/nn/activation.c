/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The element-wise nonlinearity of an MLP, [s, B, C or 2C] -> [s, B, C] per rank: out = f(x), gated
 * kinds f(gate) * up with x = [gate | up], cut and moved as kernels/kernels.h says. x is kept as a view; no parameters, no communication.
 */
#include "nn/classes.h"

struct activation {
    struct tri_module base;
    struct tri_activation_form form;
};
enum { ACTIVATION_X };

static tri_status activation_forward(tri_module *module, struct tri_slot *slot,
                                     const struct tri_tensor *in, struct tri_tensor *out)
{
    struct activation *self = (struct activation *)module;
    module->kernels->activation(module->queue, *out, *in, &self->form);
    *tri_module_view(module, slot, ACTIVATION_X) = *in;
    return TRI_OK;
}

/* din = dout * f'(x) */
static tri_status activation_backward_input(tri_module *module, struct tri_slot *slot,
                                            const struct tri_tensor *dout, struct tri_tensor *din)
{
    struct activation *self = (struct activation *)module;
    struct tri_tensor x = *tri_module_view(module, slot, ACTIVATION_X);
    module->kernels->activation_backward(module->queue, *din, *dout, x, &self->form);
    return TRI_OK;
}

static const struct tri_module_ops activation_ops = {
    .name = "activation",
    .forward = activation_forward,
    .backward = tri_module_backward_halves,
    .backward_input = activation_backward_input,
    .backward_weight = tri_module_backward_weight_none,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status activation_create(struct tri_build *build, const struct tri_module_spec *node,
                                    tri_module **module)
{
    struct activation *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &activation_ops, sizeof(*self), &self));
    const struct tri_activation_params *params = node->params;
    self->form = (struct tri_activation_form){.kind = (enum tri_activation)params->kind,
                                              .clamp = (float)params->clamp,
                                              .offset = (float)params->offset};
    return tri_build_finish(TRI_OK, &self->base, module);
}

const struct tri_module_class tri_module_class_activation = {.name = "activation",
                                                             .create = activation_create};
