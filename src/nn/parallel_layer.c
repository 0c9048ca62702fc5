/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer whose halves stand side by side, [S, B, h] -> [S, B, h]:
 *   y = x + dropout(self_attention(norm(x))) + dropout(mlp(norm(x)))
 * x is kept alive by whoever owns the edge between layers.
 */
#include "nn/classes.h"
#include "nn/sublayer.h"

struct parallel_layer {
    struct tri_module base;
    struct tri_sublayer halves[TRI_NUM_SUBLAYERS];
    struct tri_row_ref residual1, dx;
};

static tri_status parallel_layer_forward(tri_module *module, struct tri_slot *slot,
                                         const struct tri_tensor *in, struct tri_tensor *out)
{
    struct parallel_layer *self = (struct parallel_layer *)module;
    struct tri_tensor residual1 = tri_row_tensor(&self->residual1, slot, in->num_dims, in->dims);
    TRI_TRY(tri_sublayer_forward(&self->halves[TRI_SUBLAYER_ATTENTION], slot, in, in, &residual1));
    return tri_sublayer_forward(&self->halves[TRI_SUBLAYER_MLP], slot, in, &residual1, out);
}

/* din = dout + what comes back through either half */
static tri_status parallel_layer_walk_back(struct parallel_layer *self, struct tri_slot *slot,
                                           const struct tri_tensor *dout, struct tri_tensor *din,
                                           bool joint)
{
    const tri_module *base = &self->base;
    struct tri_tensor dx = tri_row_tensor(&self->dx, slot, dout->num_dims, dout->dims);
    TRI_TRY(tri_sublayer_backward(&self->halves[TRI_SUBLAYER_MLP], slot, dout, &dx, joint));
    base->kernels->add(base->queue, dx, dx, *dout);
    TRI_TRY(tri_sublayer_backward(&self->halves[TRI_SUBLAYER_ATTENTION], slot, dout, din, joint));
    base->kernels->add(base->queue, *din, *din, dx);
    return TRI_OK;
}

static tri_status parallel_layer_backward(tri_module *module, struct tri_slot *slot,
                                          const struct tri_tensor *dout, struct tri_tensor *din)
{
    return parallel_layer_walk_back((struct parallel_layer *)module, slot, dout, din, true);
}

static tri_status parallel_layer_backward_input(tri_module *module, struct tri_slot *slot,
                                                const struct tri_tensor *dout,
                                                struct tri_tensor *din)
{
    return parallel_layer_walk_back((struct parallel_layer *)module, slot, dout, din, false);
}

static tri_status parallel_layer_backward_weight(tri_module *module, struct tri_slot *slot)
{
    struct parallel_layer *self = (struct parallel_layer *)module;
    for (int i = TRI_NUM_SUBLAYERS - 1; i >= 0; i--)
        TRI_TRY(tri_sublayer_backward_weight(&self->halves[i], slot));
    return TRI_OK;
}

static tri_status parallel_layer_end_step(tri_module *module)
{
    struct parallel_layer *self = (struct parallel_layer *)module;
    for (int i = 0; i < TRI_NUM_SUBLAYERS; i++)
        TRI_TRY(tri_sublayer_end_step(&self->halves[i]));
    return TRI_OK;
}

static void parallel_layer_destroy(tri_module *module)
{
    struct parallel_layer *self = (struct parallel_layer *)module;
    for (int i = TRI_NUM_SUBLAYERS - 1; i >= 0; i--)
        tri_sublayer_destroy(&self->halves[i]);
    tri_module_free(module);
}

static const struct tri_module_ops parallel_layer_ops = {
    .name = "parallel_layer",
    .forward = parallel_layer_forward,
    .backward = parallel_layer_backward,
    .backward_input = parallel_layer_backward_input,
    .backward_weight = parallel_layer_backward_weight,
    .end_step = parallel_layer_end_step,
    .destroy = parallel_layer_destroy,
};

static tri_status parallel_layer_init(struct parallel_layer *self, struct tri_build *build,
                                      const struct tri_module_spec *node)
{
    TRI_TRY(tri_build_row(build, &self->base, "residual1", &self->residual1));
    if (!build->sizing->forward_only)
        TRI_TRY(tri_build_row(build, &self->base, "dx", &self->dx));
    for (int i = 0; i < TRI_NUM_SUBLAYERS; i++)
        TRI_TRY(tri_sublayer_init(&self->halves[i], build, &self->base, node, i));
    return TRI_OK;
}

static tri_status parallel_layer_create(struct tri_build *build, const struct tri_module_spec *node,
                                        tri_module **module)
{
    struct parallel_layer *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &parallel_layer_ops, sizeof(*self), &self));
    return tri_build_finish(parallel_layer_init(self, build, node), &self->base, module);
}

const struct tri_module_class tri_module_class_parallel_layer = {.name = "parallel_layer",
                                                                 .create = parallel_layer_create};
