/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a sub-layer, [S, B, C]: in[0] = x (its bias already added by the linear), in[1] =
 * residual, out = residual + factor * dropout(x). Backward gives din[0] = dx only: the residual's gradient
 * is dout itself. The mask is a function of (sample, position, column), so the ranks of tp agree on
 * it without sequence parallelism and each finds its own positions with it. No communication.
 */
#include "nn/classes.h"
#include "nn/dropout.h"

struct bias_dropout_add {
    struct tri_module base;
    struct tri_dropout_site site;
    int64_t position_part; /* first position = this * S */
    float factor;
};

static struct tri_dropout bias_dropout_add_mask(const struct bias_dropout_add *self,
                                                const struct tri_slot *slot, int64_t S)
{
    return tri_dropout_now(&self->site, slot, self->position_part * S);
}

static tri_status bias_dropout_add_forward(tri_module *module, struct tri_slot *slot,
                                           const struct tri_tensor *in, struct tri_tensor *out)
{
    struct bias_dropout_add *self = (struct bias_dropout_add *)module;
    struct tri_dropout mask = bias_dropout_add_mask(self, slot, in[0].dims[0]);
    struct tri_tensor x = in[0];
    if (self->factor != 1) {
        module->kernels->scale(module->queue, *out, x, self->factor);
        x = *out;
    }
    module->kernels->dropout_add(module->queue, *out, x, in[1], &mask);
    return TRI_OK;
}

/* din = dout * mask * scale * factor */
static tri_status bias_dropout_add_backward_input(tri_module *module, struct tri_slot *slot,
                                                  const struct tri_tensor *dout,
                                                  struct tri_tensor *din)
{
    struct bias_dropout_add *self = (struct bias_dropout_add *)module;
    struct tri_dropout mask = bias_dropout_add_mask(self, slot, dout->dims[0]);
    module->kernels->dropout_backward(module->queue, *din, *dout, &mask);
    if (self->factor != 1)
        module->kernels->scale(module->queue, *din, *din, self->factor);
    return TRI_OK;
}

static const struct tri_module_ops bias_dropout_add_ops = {
    .name = "bias_dropout_add",
    .forward = bias_dropout_add_forward,
    .backward = tri_module_backward_halves,
    .backward_input = bias_dropout_add_backward_input,
    .backward_weight = tri_module_backward_weight_none,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status bias_dropout_add_create(struct tri_build *build,
                                          const struct tri_module_spec *node, tri_module **module)
{
    struct bias_dropout_add *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &bias_dropout_add_ops, sizeof(*self), &self));
    const struct tri_bda_params *params = node->params;
    self->site = tri_dropout_site(params->dropout, build->seed, params->purpose, params->layer);
    self->factor = (float)params->factor;
    self->position_part = build->sizing->split.sp > 1 ? build->tp->rank : 0;
    return tri_build_finish(TRI_OK, &self->base, module);
}

const struct tri_module_class tri_module_class_bias_dropout_add = {
    .name = "bias_dropout_add", .create = bias_dropout_add_create};
