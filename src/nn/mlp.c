/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MLP of a layer, [S, B, h] -> [S, B, h]: hidden = linear_fc1(x) [s, B, ffn/tp or 2 ffn/tp],
 * activated = f(hidden) [s, B, ffn/tp], y = linear_fc2(activated). All communication is that of the
 * linears.
 */
#include "nn/classes.h"

struct mlp {
    struct tri_module base;
    tri_module *linear_fc1, *activation, *linear_fc2;
    int64_t hidden_width, activated_width; /* of this rank */
    int64_t sp;
    struct tri_row_ref hidden, activated, dhidden, dactivated;
};

static tri_status mlp_forward(tri_module *module, struct tri_slot *slot,
                              const struct tri_tensor *in, struct tri_tensor *out)
{
    struct mlp *self = (struct mlp *)module;
    int64_t s = in->dims[0] * self->sp, B = in->dims[1];
    struct tri_tensor hidden = tri_row_tensor3(&self->hidden, slot, s, B, self->hidden_width);
    struct tri_tensor activated =
        tri_row_tensor3(&self->activated, slot, s, B, self->activated_width);
    TRI_TRY(self->linear_fc1->ops->forward(self->linear_fc1, slot, in, &hidden));
    TRI_TRY(self->activation->ops->forward(self->activation, slot, &hidden, &activated));
    return self->linear_fc2->ops->forward(self->linear_fc2, slot, &activated, out);
}

/* dout -> dactivated -> dhidden -> din. dhidden is what linear_fc1's weight half reads. */
static tri_status mlp_walk_back(struct mlp *self, struct tri_slot *slot,
                                const struct tri_tensor *dout, struct tri_tensor *din, bool joint)
{
    int64_t s = dout->dims[0] * self->sp, B = dout->dims[1];
    struct tri_tensor dhidden = tri_row_tensor3(&self->dhidden, slot, s, B, self->hidden_width);
    struct tri_tensor dactivated =
        tri_row_tensor3(&self->dactivated, slot, s, B, self->activated_width);
    TRI_TRY(tri_module_backward(self->linear_fc2, slot, dout, &dactivated, joint));
    TRI_TRY(tri_module_backward(self->activation, slot, &dactivated, &dhidden, joint));
    return tri_module_backward(self->linear_fc1, slot, &dhidden, din, joint);
}

static tri_status mlp_backward(tri_module *module, struct tri_slot *slot,
                               const struct tri_tensor *dout, struct tri_tensor *din)
{
    return mlp_walk_back((struct mlp *)module, slot, dout, din, true);
}

static tri_status mlp_backward_input(tri_module *module, struct tri_slot *slot,
                                     const struct tri_tensor *dout, struct tri_tensor *din)
{
    return mlp_walk_back((struct mlp *)module, slot, dout, din, false);
}

static tri_status mlp_backward_weight(tri_module *module, struct tri_slot *slot)
{
    struct mlp *self = (struct mlp *)module;
    TRI_TRY(self->linear_fc2->ops->backward_weight(self->linear_fc2, slot));
    TRI_TRY(self->activation->ops->backward_weight(self->activation, slot));
    return self->linear_fc1->ops->backward_weight(self->linear_fc1, slot);
}

static tri_status mlp_end_step(tri_module *module)
{
    struct mlp *self = (struct mlp *)module;
    TRI_TRY(self->linear_fc1->ops->end_step(self->linear_fc1));
    TRI_TRY(self->activation->ops->end_step(self->activation));
    return self->linear_fc2->ops->end_step(self->linear_fc2);
}

static void mlp_destroy(tri_module *module)
{
    struct mlp *self = (struct mlp *)module;
    tri_module_destroy(&self->linear_fc2);
    tri_module_destroy(&self->activation);
    tri_module_destroy(&self->linear_fc1);
    tri_module_free(module);
}

static const struct tri_module_ops mlp_ops = {
    .name = "mlp",
    .forward = mlp_forward,
    .backward = mlp_backward,
    .backward_input = mlp_backward_input,
    .backward_weight = mlp_backward_weight,
    .end_step = mlp_end_step,
    .destroy = mlp_destroy,
};

static tri_status mlp_init(struct mlp *self, struct tri_build *build,
                           const struct tri_module_spec *node)
{
    const struct tri_mlp_params *params = node->params;
    const tri_module *base = &self->base;
    self->sp = build->sizing->split.sp;
    self->activated_width = params->ffn_size / build->sizing->split.tp;
    self->hidden_width = (params->gated ? 2 : 1) * self->activated_width;
    TRI_TRY(tri_build_row(build, base, "hidden", &self->hidden));
    TRI_TRY(tri_build_row(build, base, "activated", &self->activated));
    if (!build->sizing->forward_only) {
        TRI_TRY(tri_build_row(build, base, "dhidden", &self->dhidden));
        TRI_TRY(tri_build_row(build, base, "dactivated", &self->dactivated));
    }
    TRI_TRY(tri_build_child(build, node, "linear_fc1", &self->linear_fc1));
    TRI_TRY(tri_build_child(build, node, "activation", &self->activation));
    return tri_build_child(build, node, "linear_fc2", &self->linear_fc2);
}

static tri_status mlp_create(struct tri_build *build, const struct tri_module_spec *node,
                             tri_module **module)
{
    struct mlp *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &mlp_ops, sizeof(*self), &self));
    return tri_build_finish(mlp_init(self, build, node), &self->base, module);
}

const struct tri_module_class tri_module_class_mlp = {.name = "mlp", .create = mlp_create};
