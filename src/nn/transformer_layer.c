/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transformer layer, [S, B, h] -> [S, B, h], of up to two halves (nn/sublayer.h):
 *   x1 = x  + dropout(post_norm(self_attention(norm(x))))
 *   y  = x1 + dropout(post_norm(mlp(norm(x1))))
 * The residual is always the half's input, never the norm's output. x is kept alive by whoever owns the edge
 * between layers. A half that is missing passes its input on; with neither the layer is a copy.
 */
#include "nn/classes.h"
#include "nn/sublayer.h"

struct transformer_layer {
    struct tri_module base;
    struct tri_sublayer halves[TRI_NUM_SUBLAYERS];
    int first, last;                          /* the halves that are there; first > last: none */
    struct tri_row_ref residual1, dresidual1; /* where there are two */
};

static tri_status transformer_layer_forward(tri_module *module, struct tri_slot *slot,
                                            const struct tri_tensor *in, struct tri_tensor *out)
{
    struct transformer_layer *self = (struct transformer_layer *)module;
    struct tri_tensor x = *in;
    if (self->first > self->last)
        module->kernels->copy(module->queue, *out, *in);
    for (int i = self->first; i <= self->last; i++) {
        struct tri_tensor y = *out;
        if (i < self->last)
            y = tri_row_tensor(&self->residual1, slot, in->num_dims, in->dims);
        TRI_TRY(tri_sublayer_forward(&self->halves[i], slot, &x, &x, &y));
        x = y;
    }
    return TRI_OK;
}

/* Through each half: dx = dy + what its body gives back. */
static tri_status transformer_layer_walk_back(struct transformer_layer *self, struct tri_slot *slot,
                                              const struct tri_tensor *dout, struct tri_tensor *din,
                                              bool joint)
{
    const tri_module *base = &self->base;
    struct tri_tensor dy = *dout;
    if (self->first > self->last)
        base->kernels->copy(base->queue, *din, *dout);
    for (int i = self->last; i >= self->first; i--) {
        struct tri_tensor dx = *din;
        if (i > self->first)
            dx = tri_row_tensor(&self->dresidual1, slot, dout->num_dims, dout->dims);
        TRI_TRY(tri_sublayer_backward(&self->halves[i], slot, &dy, &dx, joint));
        base->kernels->add(base->queue, dx, dx, dy);
        dy = dx;
    }
    return TRI_OK;
}

static tri_status transformer_layer_backward(tri_module *module, struct tri_slot *slot,
                                             const struct tri_tensor *dout, struct tri_tensor *din)
{
    return transformer_layer_walk_back((struct transformer_layer *)module, slot, dout, din, true);
}

static tri_status transformer_layer_backward_input(tri_module *module, struct tri_slot *slot,
                                                   const struct tri_tensor *dout,
                                                   struct tri_tensor *din)
{
    return transformer_layer_walk_back((struct transformer_layer *)module, slot, dout, din, false);
}

static tri_status transformer_layer_backward_weight(tri_module *module, struct tri_slot *slot)
{
    struct transformer_layer *self = (struct transformer_layer *)module;
    for (int i = TRI_NUM_SUBLAYERS - 1; i >= 0; i--)
        TRI_TRY(tri_sublayer_backward_weight(&self->halves[i], slot));
    return TRI_OK;
}

static tri_status transformer_layer_end_step(tri_module *module)
{
    struct transformer_layer *self = (struct transformer_layer *)module;
    for (int i = 0; i < TRI_NUM_SUBLAYERS; i++)
        TRI_TRY(tri_sublayer_end_step(&self->halves[i]));
    return TRI_OK;
}

static void transformer_layer_destroy(tri_module *module)
{
    struct transformer_layer *self = (struct transformer_layer *)module;
    for (int i = TRI_NUM_SUBLAYERS - 1; i >= 0; i--)
        tri_sublayer_destroy(&self->halves[i]);
    tri_module_free(module);
}

static const struct tri_module_ops transformer_layer_ops = {
    .name = "transformer_layer",
    .forward = transformer_layer_forward,
    .backward = transformer_layer_backward,
    .backward_input = transformer_layer_backward_input,
    .backward_weight = transformer_layer_backward_weight,
    .end_step = transformer_layer_end_step,
    .destroy = transformer_layer_destroy,
};

static tri_status transformer_layer_init(struct transformer_layer *self, struct tri_build *build,
                                         const struct tri_module_spec *node)
{
    self->first = tri_sublayer_exists(node, TRI_SUBLAYER_ATTENTION) ? 0 : 1;
    self->last = tri_sublayer_exists(node, TRI_SUBLAYER_MLP) ? 1 : 0;
    if (self->first < self->last) {
        TRI_TRY(tri_build_row(build, &self->base, "residual1", &self->residual1));
        if (!build->sizing->forward_only)
            TRI_TRY(tri_build_row(build, &self->base, "dresidual1", &self->dresidual1));
    }
    for (int i = 0; i < TRI_NUM_SUBLAYERS; i++)
        TRI_TRY(tri_sublayer_init(&self->halves[i], build, &self->base, node, i));
    return TRI_OK;
}

static tri_status transformer_layer_create(struct tri_build *build,
                                           const struct tri_module_spec *node, tri_module **module)
{
    struct transformer_layer *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &transformer_layer_ops, sizeof(*self), &self));
    return tri_build_finish(transformer_layer_init(self, build, node), &self->base, module);
}

const struct tri_module_class tri_module_class_transformer_layer = {
    .name = "transformer_layer", .create = transformer_layer_create};
