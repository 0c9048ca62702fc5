/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross entropy over a vocabulary cut over tp, on logits [s, B, V/tp]:
 *   loss = ln(sum over the vocabulary of exp(logit - max)) - (logit[label] - max)
 * Three all-reduces over tp in forward (maximum, sum, the label's logit), none in backward. Columns
 * that pad the vocabulary count as minus infinity. Where entropies are asked for,
 *   H = ln(sum) - (sum of exp(logit - max) (logit - max)) / sum
 * comes from the pass that makes the sum and one more all-reduce; until the losses are made, the row of
 * the loss is its room. Probabilities are never stored: backward makes
 * them from the logits, in place, so that the logits are held once.
 *
 * in[0] is the logits; there is no out. Backward takes no dout; din[0] is the logits, overwritten
 * with
 *   dlogit = (softmax - [column is label]) * weight * seed
 * or, where the logits were soft-capped, with that times the cap's slope.
 */
#include "nn/classes.h"

struct cross_entropy {
    struct tri_module base;
    tri_group *tp;
    int64_t vocab_size;
    float softcap;
    struct tri_row_ref row_max, row_sum, target, loss;
};

static tri_status cross_entropy_check_labels(const struct cross_entropy *self,
                                             const struct tri_microbatch *microbatch)
{
    int64_t s = microbatch->length;
    for (int64_t i = 0; i < microbatch->rows * s; i++)
        TRI_CHECK(microbatch->labels[i] < self->vocab_size, self->base.err, TRI_INVALID,
                  "label %d at row %lld, position %lld is outside the vocabulary of %lld",
                  microbatch->labels[i], (long long)(i / s), (long long)(i % s),
                  (long long)self->vocab_size);
    return TRI_OK;
}

/* Hands out values [s, B] as [b, s] on the host. */
static void cross_entropy_hand_out(const struct cross_entropy *self, const struct tri_tensor *row,
                                   float *to)
{
    struct tri_queue *queue = self->base.queue;
    int64_t s = row->dims[0], B = row->dims[1];
    const float *values = queue->device->map(queue, row->data, tri_tensor_bytes(row), TRI_MAP_READ);
    for (int64_t r = 0; r < s * B; r++)
        to[r % B * s + r / B] = values[r];
    queue->device->unmap(queue, row->data, (void *)values);
}

/* The entropy of each position's distribution, from its moment, which is summed over tp and overwritten.
   Collective over tp. */
static tri_status cross_entropy_entropy(const struct cross_entropy *self, struct tri_slot *slot,
                                        struct tri_tensor row_sum, struct tri_tensor moment)
{
    const tri_module *base = &self->base;
    TRI_TRY(tri_group_all_reduce(self->tp, moment.data, tri_tensor_elements(&moment), moment.dtype,
                                 TRI_REDUCE_SUM));
    base->kernels->ce_entropy(base->queue, moment, row_sum, moment);
    cross_entropy_hand_out(self, &moment, slot->token_entropy);
    return TRI_OK;
}

/* Sums the term in order of (s, b), in fp64, and hands out the losses of single tokens. */
static void cross_entropy_collect(const struct cross_entropy *self, struct tri_slot *slot,
                                  const struct tri_tensor *loss)
{
    const struct tri_microbatch *microbatch = slot->microbatch;
    struct tri_queue *queue = self->base.queue;
    int64_t s = microbatch->length, B = microbatch->rows;
    const float *values =
        queue->device->map(queue, loss->data, tri_tensor_bytes(loss), TRI_MAP_READ);
    struct tri_loss_term term = {0, 0};
    for (int64_t r = 0; r < s * B; r++) {
        int64_t index = r % B * s + r / B;
        bool counts = microbatch->labels[index] >= 0;
        double weight = counts ? (microbatch->weights ? microbatch->weights[index] : 1) : 0;
        term.value += counts ? values[r] * weight : 0;
        term.count += weight;
    }
    queue->device->unmap(queue, loss->data, (void *)values);
    if (slot->token_loss)
        cross_entropy_hand_out(self, loss, slot->token_loss);
    slot->loss[TRI_LOSS_LM] = term;
}

static tri_status cross_entropy_forward(tri_module *module, struct tri_slot *slot,
                                        const struct tri_tensor *in, struct tri_tensor *out)
{
    (void)out;
    struct cross_entropy *self = (struct cross_entropy *)module;
    const struct tri_microbatch *microbatch = slot->microbatch;
    const int64_t s = in->dims[0], B = in->dims[1], rows[2] = {s, B};
    int64_t first = self->tp->rank * in->dims[2];
    struct tri_tensor row_max = tri_row_tensor(&self->row_max, slot, 2, rows);
    struct tri_tensor row_sum = tri_row_tensor(&self->row_sum, slot, 2, rows);
    struct tri_tensor target = tri_row_tensor(&self->target, slot, 2, rows);
    struct tri_tensor loss = tri_row_tensor(&self->loss, slot, 2, rows);
    struct tri_tensor moment = slot->token_entropy ? loss : (struct tri_tensor){0};
    TRI_TRY(cross_entropy_check_labels(self, microbatch));
    module->kernels->ce_max(module->queue, row_max, *in, first, self->vocab_size);
    TRI_TRY(tri_group_all_reduce(self->tp, row_max.data, s * B, row_max.dtype, TRI_REDUCE_MAX));
    module->kernels->ce_sum(module->queue, row_sum, target, moment, *in, row_max,
                            microbatch->labels, first, self->vocab_size);
    TRI_TRY(tri_group_all_reduce(self->tp, row_sum.data, s * B, row_sum.dtype, TRI_REDUCE_SUM));
    TRI_TRY(tri_group_all_reduce(self->tp, target.data, s * B, target.dtype, TRI_REDUCE_SUM));
    if (slot->token_entropy)
        TRI_TRY(cross_entropy_entropy(self, slot, row_sum, moment));
    module->kernels->ce_loss(module->queue, loss, row_sum, target, microbatch->labels, B, s);
    cross_entropy_collect(self, slot, &loss);
    return TRI_OK;
}

static tri_status cross_entropy_backward_input(tri_module *module, struct tri_slot *slot,
                                               const struct tri_tensor *dout,
                                               struct tri_tensor *din)
{
    (void)dout;
    struct cross_entropy *self = (struct cross_entropy *)module;
    const struct tri_microbatch *microbatch = slot->microbatch;
    const int64_t rows[2] = {din->dims[0], din->dims[1]};
    struct tri_tensor row_max = tri_row_tensor(&self->row_max, slot, 2, rows);
    struct tri_tensor row_sum = tri_row_tensor(&self->row_sum, slot, 2, rows);
    module->kernels->ce_backward(module->queue, *din, row_max, row_sum, microbatch->labels,
                                 microbatch->weights, slot->seed, self->softcap,
                                 self->tp->rank * din->dims[2], self->vocab_size);
    return TRI_OK;
}

static const struct tri_module_ops cross_entropy_ops = {
    .name = "cross_entropy",
    .forward = cross_entropy_forward,
    .backward = tri_module_backward_halves,
    .backward_input = cross_entropy_backward_input,
    .backward_weight = tri_module_backward_weight_none,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status cross_entropy_init(struct cross_entropy *self, struct tri_build *build,
                                     const struct tri_cross_entropy_params *params)
{
    self->tp = build->tp;
    self->vocab_size = params->vocab_size;
    self->softcap = (float)params->softcap;
    TRI_TRY(tri_build_row(build, &self->base, "row_max", &self->row_max));
    TRI_TRY(tri_build_row(build, &self->base, "row_sum", &self->row_sum));
    TRI_TRY(tri_build_row(build, &self->base, "target", &self->target));
    return tri_build_row(build, &self->base, "loss", &self->loss);
}

static tri_status cross_entropy_create(struct tri_build *build, const struct tri_module_spec *node,
                                       tri_module **module)
{
    struct cross_entropy *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &cross_entropy_ops, sizeof(*self), &self));
    return tri_build_finish(cross_entropy_init(self, build, node->params), &self->base, module);
}

const struct tri_module_class tri_module_class_cross_entropy = {.name = "cross_entropy",
                                                                .create = cross_entropy_create};
