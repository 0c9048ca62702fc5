/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self-attention, [S, B, h] -> [S, B, h]: qkv = linear_qkv(x) [s, B, (heads + 2 groups)/tp * D], norms of
 * each head of q and k where there are such, rotary positions on both in place, context =
 * core_attention(qkv) [s, B, heads/tp * D], y = linear_proj(context), or with a gate
 * linear_proj(context * logistic(gate)), where linear_qkv makes the gate beside q. All communication is that of the
 * linears. With fewer groups than tp ranks, neighbours hold the same ones (spec/split.h).
 *
 * A norm reads a copy of its heads, [s, B heads, D], which is kept for backward, since what stands in qkv
 * afterwards is its output.
 */
#include "nn/classes.h"
#include "nn/heads.h"
#include "nn/rotary.h"
#include "spec/split.h"

struct self_attention {
    struct tri_module base;
    tri_module *linear_qkv, *core_attention, *linear_proj;
    tri_module *q_layernorm, *k_layernorm; /* NULL: none */
    int64_t heads, groups, D;              /* heads and groups of this rank */
    int64_t sp;
    struct tri_rotary rotary;
    bool output_gate;
    struct tri_row_ref qkv, context, dqkv, dcontext;
    struct tri_row_ref gated; /* context * logistic(gate); only with an output gate */
    struct tri_row_ref raw_query, raw_key, normed, dnormed;
};

static struct tri_tensor self_attention_qkv(const struct self_attention *self,
                                            const struct tri_slot *slot,
                                            const struct tri_row_ref *row, int64_t S, int64_t B)
{
    int64_t heads = (self->output_gate ? 2 : 1) * self->heads + 2 * self->groups;
    return tri_row_tensor3(row, slot, S * self->sp, B, heads * self->D);
}

static struct tri_tensor self_attention_context(const struct self_attention *self,
                                                const struct tri_slot *slot,
                                                const struct tri_row_ref *row, int64_t S, int64_t B)
{
    return tri_row_tensor3(row, slot, S * self->sp, B, self->heads * self->D);
}

/* A row for heads [s, B, n, D], as a norm sees it: [s, B n, D]; *same is the row as [s, B, n, D]. */
static struct tri_tensor self_attention_heads(const struct tri_row_ref *row,
                                              const struct tri_slot *slot,
                                              const struct tri_tensor *heads,
                                              struct tri_tensor *same)
{
    *same = tri_row_tensor(row, slot, 4, heads->dims);
    return tri_row_tensor3(row, slot, heads->dims[0], heads->dims[1] * heads->dims[2],
                           heads->dims[3]);
}

/* heads become norm(heads); what they were is kept in raw. */
static tri_status self_attention_norm(const struct self_attention *self, struct tri_slot *slot,
                                      tri_module *norm, const struct tri_row_ref *raw,
                                      struct tri_tensor heads)
{
    const tri_module *base = &self->base;
    struct tri_tensor kept, made;
    struct tri_tensor x = self_attention_heads(raw, slot, &heads, &kept);
    struct tri_tensor y = self_attention_heads(&self->normed, slot, &heads, &made);
    base->kernels->copy(base->queue, kept, heads);
    TRI_TRY(norm->ops->forward(norm, slot, &x, &y));
    base->kernels->copy(base->queue, heads, made);
    return TRI_OK;
}

/* The same for gradients, in place. */
static tri_status self_attention_norm_back(const struct self_attention *self, struct tri_slot *slot,
                                           tri_module *norm, struct tri_tensor dheads, bool joint)
{
    const tri_module *base = &self->base;
    struct tri_tensor same, dy = self_attention_heads(&self->dnormed, slot, &dheads, &same);
    base->kernels->copy(base->queue, same, dheads);
    TRI_TRY(tri_module_backward(norm, slot, &dy, &dy, joint));
    base->kernels->copy(base->queue, dheads, same);
    return TRI_OK;
}

static tri_status self_attention_forward(tri_module *module, struct tri_slot *slot,
                                         const struct tri_tensor *in, struct tri_tensor *out)
{
    struct self_attention *self = (struct self_attention *)module;
    int64_t S = in->dims[0], B = in->dims[1];
    struct tri_tensor qkv = self_attention_qkv(self, slot, &self->qkv, S, B);
    struct tri_tensor context = self_attention_context(self, slot, &self->context, S, B);
    struct tri_qkv parts = tri_qkv_split(&qkv, self->heads, self->groups, self->D);
    TRI_TRY(tri_rotary_check(&self->rotary, module, slot->microbatch));
    TRI_TRY(self->linear_qkv->ops->forward(self->linear_qkv, slot, in, &qkv));
    if (self->q_layernorm) {
        TRI_TRY(self_attention_norm(self, slot, self->q_layernorm, &self->raw_query, parts.query));
        TRI_TRY(self_attention_norm(self, slot, self->k_layernorm, &self->raw_key, parts.key));
    }
    tri_rotary_turn(&self->rotary, module, slot, parts.query, false);
    tri_rotary_turn(&self->rotary, module, slot, parts.key, false);
    TRI_TRY(self->core_attention->ops->forward(self->core_attention, slot, &qkv, &context));
    if (self->output_gate) {
        struct tri_tensor plain = context, gate = tri_qkv_gate(&qkv, self->heads, self->D);
        context = self_attention_context(self, slot, &self->gated, S, B);
        module->kernels->gate(module->queue, context, plain, gate);
    }
    return self->linear_proj->ops->forward(self->linear_proj, slot, &context, out);
}

/* The gradient of what linear_proj read becomes that of the context, in place; that of the gate goes to its part
   of dqkv. */
static void self_attention_gate_back(const struct self_attention *self, const struct tri_slot *slot,
                                     struct tri_tensor dcontext, const struct tri_tensor *dqkv)
{
    const tri_module *base = &self->base;
    int64_t S = dcontext.dims[0] / self->sp, B = dcontext.dims[1];
    struct tri_tensor context = self_attention_context(self, slot, &self->context, S, B);
    struct tri_tensor qkv = self_attention_qkv(self, slot, &self->qkv, S, B);
    base->kernels->gate_backward(base->queue, dcontext, tri_qkv_gate(dqkv, self->heads, self->D),
                                 dcontext, context, tri_qkv_gate(&qkv, self->heads, self->D));
}

/* dout -> dcontext -> dqkv, its q and k turned back and through their norms -> din. dqkv is what
   linear_qkv's weight half reads. */
static tri_status self_attention_walk_back(struct self_attention *self, struct tri_slot *slot,
                                           const struct tri_tensor *dout, struct tri_tensor *din,
                                           bool joint)
{
    int64_t S = dout->dims[0], B = dout->dims[1];
    struct tri_tensor dqkv = self_attention_qkv(self, slot, &self->dqkv, S, B);
    struct tri_tensor dcontext = self_attention_context(self, slot, &self->dcontext, S, B);
    struct tri_qkv grads = tri_qkv_split(&dqkv, self->heads, self->groups, self->D);
    TRI_TRY(tri_module_backward(self->linear_proj, slot, dout, &dcontext, joint));
    if (self->output_gate)
        self_attention_gate_back(self, slot, dcontext, &dqkv);
    TRI_TRY(tri_module_backward(self->core_attention, slot, &dcontext, &dqkv, joint));
    tri_rotary_turn(&self->rotary, &self->base, slot, grads.query, true);
    tri_rotary_turn(&self->rotary, &self->base, slot, grads.key, true);
    if (self->q_layernorm) {
        TRI_TRY(self_attention_norm_back(self, slot, self->q_layernorm, grads.query, joint));
        TRI_TRY(self_attention_norm_back(self, slot, self->k_layernorm, grads.key, joint));
    }
    return tri_module_backward(self->linear_qkv, slot, &dqkv, din, joint);
}

static tri_status self_attention_backward(tri_module *module, struct tri_slot *slot,
                                          const struct tri_tensor *dout, struct tri_tensor *din)
{
    return self_attention_walk_back((struct self_attention *)module, slot, dout, din, true);
}

static tri_status self_attention_backward_input(tri_module *module, struct tri_slot *slot,
                                                const struct tri_tensor *dout,
                                                struct tri_tensor *din)
{
    return self_attention_walk_back((struct self_attention *)module, slot, dout, din, false);
}

/* The sub-modules in the order in which forward runs them; returns their number. */
static int self_attention_children(const struct self_attention *self, tri_module *children[5])
{
    int num = 0;
    children[num++] = self->linear_qkv;
    if (self->q_layernorm) {
        children[num++] = self->q_layernorm;
        children[num++] = self->k_layernorm;
    }
    children[num++] = self->core_attention;
    children[num++] = self->linear_proj;
    return num;
}

static tri_status self_attention_backward_weight(tri_module *module, struct tri_slot *slot)
{
    tri_module *children[5];
    for (int i = self_attention_children((struct self_attention *)module, children) - 1; i >= 0;
         i--)
        TRI_TRY(children[i]->ops->backward_weight(children[i], slot));
    return TRI_OK;
}

static tri_status self_attention_end_step(tri_module *module)
{
    tri_module *children[5];
    int num = self_attention_children((struct self_attention *)module, children);
    for (int i = 0; i < num; i++)
        TRI_TRY(children[i]->ops->end_step(children[i]));
    return TRI_OK;
}

static void self_attention_destroy(tri_module *module)
{
    struct self_attention *self = (struct self_attention *)module;
    tri_module_destroy(&self->linear_proj);
    tri_module_destroy(&self->core_attention);
    tri_module_destroy(&self->k_layernorm);
    tri_module_destroy(&self->q_layernorm);
    tri_module_destroy(&self->linear_qkv);
    tri_rotary_fini(&self->rotary);
    tri_module_free(module);
}

static const struct tri_module_ops self_attention_ops = {
    .name = "self_attention",
    .forward = self_attention_forward,
    .backward = self_attention_backward,
    .backward_input = self_attention_backward_input,
    .backward_weight = self_attention_backward_weight,
    .end_step = self_attention_end_step,
    .destroy = self_attention_destroy,
};

static tri_status self_attention_init_norms(struct self_attention *self, struct tri_build *build)
{
    TRI_TRY(tri_build_row(build, &self->base, "raw_query", &self->raw_query));
    TRI_TRY(tri_build_row(build, &self->base, "raw_key", &self->raw_key));
    TRI_TRY(tri_build_row(build, &self->base, "normed", &self->normed));
    return build->sizing->forward_only
               ? TRI_OK
               : tri_build_row(build, &self->base, "dnormed", &self->dnormed);
}

static tri_status self_attention_init(struct self_attention *self, struct tri_build *build,
                                      const struct tri_module_spec *node)
{
    const struct tri_self_attention_params *params = node->params;
    const struct tri_split *split = &build->sizing->split;
    const tri_module *base = &self->base;
    self->heads = params->num_heads / split->tp;
    self->groups = tri_split_groups(params->num_groups, split->tp);
    self->D = params->head_width;
    self->sp = split->sp;
    self->output_gate = params->output_gate;
    TRI_TRY(tri_build_row(build, base, "qkv", &self->qkv));
    TRI_TRY(tri_build_row(build, base, "context", &self->context));
    if (!build->sizing->forward_only) {
        TRI_TRY(tri_build_row(build, base, "dqkv", &self->dqkv));
        TRI_TRY(tri_build_row(build, base, "dcontext", &self->dcontext));
    }
    if (self->output_gate)
        TRI_TRY(tri_build_row(build, base, "gated", &self->gated));
    TRI_TRY(tri_rotary_init(&self->rotary, build, base, params));
    if (params->head_norms)
        TRI_TRY(self_attention_init_norms(self, build));
    TRI_TRY(tri_build_child(build, node, "linear_qkv", &self->linear_qkv));
    if (params->head_norms) {
        TRI_TRY(tri_build_child(build, node, "q_layernorm", &self->q_layernorm));
        TRI_TRY(tri_build_child(build, node, "k_layernorm", &self->k_layernorm));
    }
    TRI_TRY(tri_build_child(build, node, "core_attention", &self->core_attention));
    return tri_build_child(build, node, "linear_proj", &self->linear_proj);
}

static tri_status self_attention_create(struct tri_build *build, const struct tri_module_spec *node,
                                        tri_module **module)
{
    struct self_attention *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &self_attention_ops, sizeof(*self), &self));
    return tri_build_finish(self_attention_init(self, build, node), &self->base, module);
}

const struct tri_module_class tri_module_class_self_attention = {.name = "self_attention",
                                                                 .create = self_attention_create};
