/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pre-norm transformer layer, [S, B, h] -> [S, B, h]:
 *   x1 = x  + dropout(self_attention(input_layernorm(x)))
 *   y  = x1 + dropout(mlp(pre_mlp_layernorm(x1)))
 * The residual is always the layer's input, never the norm's output. x is kept alive by whoever
 * owns the edge between layers. All communication is that of the linears inside.
 */
#include "nn/classes.h"

struct transformer_layer {
    struct tri_module base;
    tri_module *input_layernorm, *self_attention, *self_attn_bda;
    tri_module *pre_mlp_layernorm, *mlp, *mlp_bda;
    struct tri_row_ref normed1, residual1, normed2;    /* kept for backward */
    struct tri_row_ref attention_out, mlp_out;         /* forward */
    struct tri_row_ref dmlp_out, dattention_out;       /* until the weight halves */
    struct tri_row_ref dnormed2, dresidual1, dnormed1; /* backward */
};

/* The row with the dims of like. */
static struct tri_tensor layer_row(const struct tri_row_ref *row, const struct tri_slot *slot,
                                   const struct tri_tensor *like)
{
    return tri_row_tensor(row, slot, like->num_dims, like->dims);
}

static tri_status transformer_layer_forward(tri_module *module, struct tri_slot *slot,
                                            const struct tri_tensor *in, struct tri_tensor *out)
{
    struct transformer_layer *self = (struct transformer_layer *)module;
    struct tri_tensor normed1 = layer_row(&self->normed1, slot, in);
    struct tri_tensor attention_out = layer_row(&self->attention_out, slot, in);
    struct tri_tensor residual1 = layer_row(&self->residual1, slot, in);
    struct tri_tensor normed2 = layer_row(&self->normed2, slot, in);
    struct tri_tensor mlp_out = layer_row(&self->mlp_out, slot, in);
    TRI_TRY(self->input_layernorm->ops->forward(self->input_layernorm, slot, in, &normed1));
    TRI_TRY(
        self->self_attention->ops->forward(self->self_attention, slot, &normed1, &attention_out));
    const struct tri_tensor first[2] = {attention_out, *in};
    TRI_TRY(self->self_attn_bda->ops->forward(self->self_attn_bda, slot, first, &residual1));
    TRI_TRY(
        self->pre_mlp_layernorm->ops->forward(self->pre_mlp_layernorm, slot, &residual1, &normed2));
    TRI_TRY(self->mlp->ops->forward(self->mlp, slot, &normed2, &mlp_out));
    const struct tri_tensor second[2] = {mlp_out, residual1};
    return self->mlp_bda->ops->forward(self->mlp_bda, slot, second, out);
}

/* One sub-layer backwards: dx = dout + norm'(sublayer'(bda'(dout))). dx may not be dout. */
struct layer_edge {
    tri_module *bda, *sublayer, *norm;
    struct tri_tensor dsublayer_out, dnormed;
};
static tri_status layer_edge_back(const struct layer_edge *edge, struct tri_slot *slot,
                                  const struct tri_tensor *dout, struct tri_tensor *dx, bool joint)
{
    struct tri_tensor dsublayer_out = edge->dsublayer_out, dnormed = edge->dnormed;
    TRI_TRY(tri_module_backward(edge->bda, slot, dout, &dsublayer_out, joint));
    TRI_TRY(tri_module_backward(edge->sublayer, slot, &dsublayer_out, &dnormed, joint));
    TRI_TRY(tri_module_backward(edge->norm, slot, &dnormed, dx, joint));
    edge->norm->kernels->add(edge->norm->queue, *dx, *dx, *dout);
    return TRI_OK;
}

static tri_status transformer_layer_walk_back(struct transformer_layer *self, struct tri_slot *slot,
                                              const struct tri_tensor *dout, struct tri_tensor *din,
                                              bool joint)
{
    struct tri_tensor dresidual1 = layer_row(&self->dresidual1, slot, dout);
    const struct layer_edge second = {
        .bda = self->mlp_bda,
        .sublayer = self->mlp,
        .norm = self->pre_mlp_layernorm,
        .dsublayer_out = layer_row(&self->dmlp_out, slot, dout),
        .dnormed = layer_row(&self->dnormed2, slot, dout),
    };
    const struct layer_edge first = {
        .bda = self->self_attn_bda,
        .sublayer = self->self_attention,
        .norm = self->input_layernorm,
        .dsublayer_out = layer_row(&self->dattention_out, slot, dout),
        .dnormed = layer_row(&self->dnormed1, slot, dout),
    };
    TRI_TRY(layer_edge_back(&second, slot, dout, &dresidual1, joint));
    return layer_edge_back(&first, slot, &dresidual1, din, joint);
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

/* Parts in the order of forward, for what walks them all. */
enum { LAYER_PARTS = 6 };
static void layer_parts(struct transformer_layer *self, tri_module **parts[LAYER_PARTS])
{
    parts[0] = &self->input_layernorm;
    parts[1] = &self->self_attention;
    parts[2] = &self->self_attn_bda;
    parts[3] = &self->pre_mlp_layernorm;
    parts[4] = &self->mlp;
    parts[5] = &self->mlp_bda;
}

static tri_status transformer_layer_backward_weight(tri_module *module, struct tri_slot *slot)
{
    tri_module **parts[LAYER_PARTS];
    layer_parts((struct transformer_layer *)module, parts);
    for (int i = LAYER_PARTS - 1; i >= 0; i--)
        TRI_TRY((*parts[i])->ops->backward_weight(*parts[i], slot));
    return TRI_OK;
}

static tri_status transformer_layer_end_step(tri_module *module)
{
    tri_module **parts[LAYER_PARTS];
    layer_parts((struct transformer_layer *)module, parts);
    for (int i = 0; i < LAYER_PARTS; i++)
        TRI_TRY((*parts[i])->ops->end_step(*parts[i]));
    return TRI_OK;
}

static void transformer_layer_destroy(tri_module *module)
{
    tri_module **parts[LAYER_PARTS];
    layer_parts((struct transformer_layer *)module, parts);
    for (int i = LAYER_PARTS - 1; i >= 0; i--)
        tri_module_destroy(parts[i]);
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

static tri_status transformer_layer_init_rows(struct transformer_layer *self,
                                              struct tri_build *build)
{
    const struct {
        const char *name;
        struct tri_row_ref *row;
        bool is_backward;
    } rows[] = {
        {"normed1", &self->normed1, false},
        {"residual1", &self->residual1, false},
        {"normed2", &self->normed2, false},
        {"attention_out", &self->attention_out, false},
        {"mlp_out", &self->mlp_out, false},
        {"dmlp_out", &self->dmlp_out, true},
        {"dattention_out", &self->dattention_out, true},
        {"dnormed2", &self->dnormed2, true},
        {"dresidual1", &self->dresidual1, true},
        {"dnormed1", &self->dnormed1, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!rows[i].is_backward || !build->sizing->forward_only)
            TRI_TRY(tri_build_row(build, &self->base, rows[i].name, rows[i].row));
    return TRI_OK;
}

static tri_status transformer_layer_init(struct transformer_layer *self, struct tri_build *build,
                                         const struct tri_module_spec *node)
{
    static const char *const slots[LAYER_PARTS] = {
        "input_layernorm", "self_attention", "self_attn_bda", "pre_mlp_layernorm", "mlp",
        "mlp_bda"};
    tri_module **parts[LAYER_PARTS];
    layer_parts(self, parts);
    TRI_TRY(transformer_layer_init_rows(self, build));
    for (int i = 0; i < LAYER_PARTS; i++)
        TRI_TRY(tri_build_child(build, node, slots[i], parts[i]));
    return TRI_OK;
}

static tri_status transformer_layer_create(struct tri_build *build,
                                           const struct tri_module_spec *node, tri_module **module)
{
    struct transformer_layer *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &transformer_layer_ops, sizeof(*self), &self));
    return tri_build_finish(transformer_layer_init(self, build, node), &self->base, module);
}

const struct tri_module_class tri_module_class_transformer_layer = {"transformer_layer",
                                                                    transformer_layer_create};
