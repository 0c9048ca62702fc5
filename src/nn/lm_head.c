/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last unit, [S, B, h] -> loss terms: normed = final_layernorm(x), logits =
 * output_layer(normed) [s, B, V/tp], scaled and soft-capped where the model says so, then cross_entropy where there are labels. The logits are
 * never gathered, except for a caller who asks for them on the host: every rank of tp then gives
 * its columns to the others. There is no out and backward takes no dout: it starts from the slot's
 * seed.
 *
 * When nothing but the logits of the last position is asked for, only that position goes through.
 */
#include "nn/classes.h"

#include <string.h>

struct lm_head {
    struct tri_module base;
    tri_module *final_layernorm, *output_layer, *cross_entropy;
    tri_group *tp;
    int64_t sp, vocab_size;
    int64_t width;         /* V/tp: logit columns of this rank */
    float factor, softcap; /* of the logits; softcap 0: none */
    struct tri_row_ref normed, logits, dnormed;
};

static struct tri_tensor lm_head_logits(const struct lm_head *self, const struct tri_slot *slot,
                                        const struct tri_tensor *x)
{
    return tri_row_tensor3(&self->logits, slot, x->dims[0] * self->sp, x->dims[1], self->width);
}

/* One position's logits, vocab_size wide on the host, from the columns of all ranks. Collective
   over tp. */
static tri_status lm_head_share_row(struct lm_head *self, const float *columns, float *to)
{
    for (int r = 0; r < self->tp->size; r++) {
        int64_t first = r * self->width, count = self->vocab_size - first;
        count = count < self->width ? count : self->width;
        if (count <= 0)
            break;
        if (r == self->tp->rank)
            memcpy(to + first, columns, (size_t)count * sizeof(float));
        TRI_TRY(tri_group_broadcast(self->tp, to + first, count, TRI_DTYPE_F32, r));
    }
    return TRI_OK;
}

/* Fills slot->logits: the last position of each row, or all of them. Collective over tp. */
static tri_status lm_head_share_logits(struct lm_head *self, struct tri_slot *slot,
                                       const struct tri_tensor *logits)
{
    struct tri_queue *queue = self->base.queue;
    int64_t s = logits->dims[0], B = logits->dims[1], V = self->vocab_size;
    int64_t kept = slot->all_logits ? s : 1;
    float *columns =
        queue->device->map(queue, logits->data, tri_tensor_bytes(logits), TRI_MAP_READ);
    tri_status status = TRI_OK;
    for (int64_t i = 0; i < B * kept && status == TRI_OK; i++) {
        int64_t b = i / kept, position = s - kept + i % kept;
        status = lm_head_share_row(self, columns + (position * B + b) * self->width,
                                   slot->logits + i * V);
    }
    queue->device->unmap(queue, logits->data, columns);
    return status;
}

static tri_status lm_head_forward(tri_module *module, struct tri_slot *slot,
                                  const struct tri_tensor *in, struct tri_tensor *out)
{
    (void)out;
    struct lm_head *self = (struct lm_head *)module;
    bool wants_loss = slot->microbatch->labels != NULL;
    slot->loss[TRI_LOSS_LM] = (struct tri_loss_term){0, 0};
    if (!wants_loss && !slot->logits)
        return TRI_OK;
    struct tri_tensor x = *in;
    if (!wants_loss && !slot->all_logits && self->sp == 1)
        x = tri_tensor_slice(in, 0, in->dims[0] - 1, 1);
    struct tri_tensor normed = tri_row_tensor(&self->normed, slot, 3, x.dims);
    struct tri_tensor logits = lm_head_logits(self, slot, &x);
    TRI_TRY(self->final_layernorm->ops->forward(self->final_layernorm, slot, &x, &normed));
    TRI_TRY(self->output_layer->ops->forward(self->output_layer, slot, &normed, &logits));
    if (self->factor != 1)
        module->kernels->scale(module->queue, logits, logits, self->factor);
    if (self->softcap > 0)
        module->kernels->softcap(module->queue, logits, logits, self->softcap);
    if (slot->logits)
        TRI_TRY(lm_head_share_logits(self, slot, &logits));
    if (wants_loss)
        TRI_TRY(self->cross_entropy->ops->forward(self->cross_entropy, slot, &logits, NULL));
    return TRI_OK;
}

/* seed -> dlogits (in front of the soft cap), in place of the logits -> dnormed -> din */
static tri_status lm_head_walk_back(struct lm_head *self, struct tri_slot *slot,
                                    struct tri_tensor *din, bool joint)
{
    struct tri_tensor logits = lm_head_logits(self, slot, din);
    struct tri_tensor dnormed = tri_row_tensor(&self->dnormed, slot, 3, din->dims);
    TRI_TRY(tri_module_backward(self->cross_entropy, slot, NULL, &logits, joint));
    if (self->factor != 1)
        self->base.kernels->scale(self->base.queue, logits, logits, self->factor);
    TRI_TRY(tri_module_backward(self->output_layer, slot, &logits, &dnormed, joint));
    return tri_module_backward(self->final_layernorm, slot, &dnormed, din, joint);
}

static tri_status lm_head_backward(tri_module *module, struct tri_slot *slot,
                                   const struct tri_tensor *dout, struct tri_tensor *din)
{
    (void)dout;
    return lm_head_walk_back((struct lm_head *)module, slot, din, true);
}

static tri_status lm_head_backward_input(tri_module *module, struct tri_slot *slot,
                                         const struct tri_tensor *dout, struct tri_tensor *din)
{
    (void)dout;
    return lm_head_walk_back((struct lm_head *)module, slot, din, false);
}

static tri_status lm_head_backward_weight(tri_module *module, struct tri_slot *slot)
{
    struct lm_head *self = (struct lm_head *)module;
    TRI_TRY(self->cross_entropy->ops->backward_weight(self->cross_entropy, slot));
    TRI_TRY(self->output_layer->ops->backward_weight(self->output_layer, slot));
    return self->final_layernorm->ops->backward_weight(self->final_layernorm, slot);
}

static tri_status lm_head_end_step(tri_module *module)
{
    struct lm_head *self = (struct lm_head *)module;
    TRI_TRY(self->final_layernorm->ops->end_step(self->final_layernorm));
    TRI_TRY(self->output_layer->ops->end_step(self->output_layer));
    return self->cross_entropy->ops->end_step(self->cross_entropy);
}

static void lm_head_destroy(tri_module *module)
{
    struct lm_head *self = (struct lm_head *)module;
    tri_module_destroy(&self->cross_entropy);
    tri_module_destroy(&self->output_layer);
    tri_module_destroy(&self->final_layernorm);
    tri_module_free(module);
}

static const struct tri_module_ops lm_head_ops = {
    .name = "lm_head",
    .forward = lm_head_forward,
    .backward = lm_head_backward,
    .backward_input = lm_head_backward_input,
    .backward_weight = lm_head_backward_weight,
    .end_step = lm_head_end_step,
    .destroy = lm_head_destroy,
};

static tri_status lm_head_init(struct lm_head *self, struct tri_build *build,
                               const struct tri_module_spec *node)
{
    const tri_module *base = &self->base;
    const struct tri_head_params *params = node->params;
    self->factor = (float)params->factor;
    self->softcap = (float)params->softcap;
    self->tp = build->tp;
    self->sp = build->sizing->split.sp;
    TRI_TRY(tri_build_row(build, base, "normed", &self->normed));
    TRI_TRY(tri_build_row(build, base, "logits", &self->logits));
    self->width = self->logits.dims[2];
    if (!build->sizing->forward_only)
        TRI_TRY(tri_build_row(build, base, "dnormed", &self->dnormed));
    TRI_TRY(tri_build_child(build, node, "final_layernorm", &self->final_layernorm));
    TRI_TRY(tri_build_child(build, node, "output_layer", &self->output_layer));
    TRI_TRY(tri_build_child(build, node, "cross_entropy", &self->cross_entropy));
    const struct tri_module_spec *loss = tri_module_spec_child(node, "cross_entropy");
    self->vocab_size = ((const struct tri_cross_entropy_params *)loss->params)->vocab_size;
    return TRI_OK;
}

static tri_status lm_head_create(struct tri_build *build, const struct tri_module_spec *node,
                                 tri_module **module)
{
    struct lm_head *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &lm_head_ops, sizeof(*self), &self));
    return tri_build_finish(lm_head_init(self, build, node), &self->base, module);
}

const struct tri_module_class tri_module_class_lm_head = {.name = "lm_head",
                                                          .create = lm_head_create};
