/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first unit: token ids [b, s] -> [S, B, h]. Words from a table whose rows are cut over tp,
 * plus learned positions where the model has them, times a factor, plus dropout.
 *
 *                       forward                          backward
 *   sequence parallel   reduce-scatter of words along s  all-gather of dout along s
 *   else                all-reduce of words              nothing
 *
 * All over tp. Positions are added after the sum; under sequence parallelism to this rank's part
 * alone, so that their gradient is a partial sum that model/ adds up over tp. Both tables get their
 * gradients in the input half, where dout is at hand; the weight half finds nothing to do.
 */
#include "nn/classes.h"
#include "nn/dropout.h"

struct embedding {
    struct tri_module base;
    tri_group *tp;
    bool is_sequence_parallel;
    int64_t vocab_size, num_positions, hidden_size;
    float factor;
    struct tri_dropout_site site;
    struct tri_param *words, *positions; /* positions NULL: none */
    struct tri_row_ref full, dgathered;
};

static tri_status embedding_check_ids(const struct embedding *self,
                                      const struct tri_microbatch *microbatch)
{
    tri_error *err = self->base.err;
    int64_t s = microbatch->length, sp = self->is_sequence_parallel ? self->tp->size : 1;
    TRI_CHECK(s % sp == 0, err, TRI_INVALID,
              "%lld positions cannot be cut over %lld sequence-parallel ranks; use a multiple of "
              "%lld or no --sequence-parallel",
              (long long)s, (long long)sp, (long long)sp);
    for (int64_t i = 0; i < microbatch->rows * s; i++) {
        int64_t id = microbatch->tokens[i];
        TRI_CHECK(id >= 0 && id < self->vocab_size, err, TRI_INVALID,
                  "token id %lld at row %lld, position %lld is outside the vocabulary of %lld",
                  (long long)id, (long long)(i / s), (long long)(i % s),
                  (long long)self->vocab_size);
        int64_t position = self->positions ? microbatch->positions[i] : 0;
        TRI_CHECK(!self->positions || (position >= 0 && position < self->num_positions), err,
                  TRI_INVALID,
                  "position %lld of row %lld is outside the %lld learned positions; use shorter "
                  "input",
                  (long long)position, (long long)(i / s), (long long)self->num_positions);
    }
    return TRI_OK;
}

/* First of this rank's S positions. */
static int64_t embedding_first_position(const struct embedding *self, int64_t S)
{
    return self->is_sequence_parallel ? self->tp->rank * S : 0;
}

static int64_t embedding_first_row(const struct embedding *self, const struct tri_tensor *table)
{
    return self->tp->rank * table->dims[0];
}

/* out = sum over tp of this rank's words. Collective over tp. */
static tri_status embedding_words(struct embedding *self, struct tri_slot *slot,
                                  struct tri_tensor *out)
{
    const tri_module *base = &self->base;
    const struct tri_microbatch *microbatch = slot->microbatch;
    struct tri_tensor words = *out;
    if (self->is_sequence_parallel)
        words = tri_row_tensor3(&self->full, slot, microbatch->length, microbatch->rows,
                                self->hidden_size);
    struct tri_tensor table = tri_param_acquire(self->words);
    base->kernels->embedding(base->queue, words, table, microbatch->tokens,
                             embedding_first_row(self, &table));
    tri_param_release(self->words);
    int64_t count = tri_tensor_elements(out);
    if (self->is_sequence_parallel)
        return tri_group_reduce_scatter(self->tp, out->data, words.data, count, out->dtype,
                                        TRI_REDUCE_SUM);
    return tri_group_all_reduce(self->tp, out->data, count, out->dtype, TRI_REDUCE_SUM);
}

/* Row b of local [S, B, h] and the ids of its positions. */
static struct tri_tensor embedding_row(const struct embedding *self, const struct tri_slot *slot,
                                       const struct tri_tensor *local, int64_t b,
                                       const int32_t **ids)
{
    const struct tri_microbatch *microbatch = slot->microbatch;
    *ids = microbatch->positions + b * microbatch->length +
           embedding_first_position(self, local->dims[0]);
    return tri_tensor_slice(local, 1, b, 1);
}

/* out += positions, by way of "full", which is free by now. */
static void embedding_add_positions(struct embedding *self, struct tri_slot *slot,
                                    struct tri_tensor *out)
{
    const tri_module *base = &self->base;
    struct tri_tensor rows = tri_row_tensor(&self->full, slot, 3, out->dims);
    struct tri_tensor table = tri_param_acquire(self->positions);
    for (int64_t b = 0; b < out->dims[1]; b++) {
        const int32_t *ids;
        struct tri_tensor row = embedding_row(self, slot, &rows, b, &ids);
        base->kernels->embedding(base->queue, row, table, ids, 0);
    }
    tri_param_release(self->positions);
    base->kernels->add(base->queue, *out, *out, rows);
}

static tri_status embedding_forward(tri_module *module, struct tri_slot *slot,
                                    const struct tri_tensor *in, struct tri_tensor *out)
{
    (void)in;
    struct embedding *self = (struct embedding *)module;
    TRI_ASSERT(tri_tensor_is_contiguous(out));
    TRI_TRY(embedding_check_ids(self, slot->microbatch));
    TRI_TRY(embedding_words(self, slot, out));
    if (self->positions)
        embedding_add_positions(self, slot, out);
    if (self->factor != 1)
        module->kernels->scale(module->queue, *out, *out, self->factor);
    struct tri_dropout mask =
        tri_dropout_now(&self->site, slot, embedding_first_position(self, out->dims[0]));
    if (mask.threshold > 0)
        module->kernels->dropout_add(module->queue, *out, *out, (struct tri_tensor){.data = NULL},
                                     &mask);
    return TRI_OK;
}

/* *local = mask * factor * dout, and *full the same on all positions. Collective over tp. */
static tri_status embedding_unmask(struct embedding *self, struct tri_slot *slot,
                                   const struct tri_tensor *dout, struct tri_tensor *local,
                                   struct tri_tensor *full)
{
    const tri_module *base = &self->base;
    int64_t S = dout->dims[0], first = embedding_first_position(self, S);
    struct tri_dropout mask = tri_dropout_now(&self->site, slot, first);
    *local = *full = *dout;
    if (self->is_sequence_parallel)
        *full = tri_row_tensor3(&self->dgathered, slot, S * self->tp->size, dout->dims[1],
                                dout->dims[2]);
    else if (mask.threshold > 0 || self->factor != 1)
        *full = tri_row_tensor(&self->dgathered, slot, 3, dout->dims);
    if (mask.threshold > 0 || self->factor != 1)
        *local = tri_tensor_slice(full, 0, first, S);
    if (mask.threshold > 0)
        base->kernels->dropout_backward(base->queue, *local, *dout, &mask);
    if (self->factor != 1)
        base->kernels->scale(base->queue, *local, mask.threshold > 0 ? *local : *dout,
                             self->factor);
    if (!self->is_sequence_parallel)
        return TRI_OK;
    return tri_group_all_gather(self->tp, full->data, local->data, tri_tensor_elements(dout),
                                dout->dtype);
}

/* dwords[id] += dout on all positions, dpositions[p] += dout on local ones. No din. */
static tri_status embedding_backward_input(tri_module *module, struct tri_slot *slot,
                                           const struct tri_tensor *dout, struct tri_tensor *din)
{
    (void)din;
    struct embedding *self = (struct embedding *)module;
    struct tri_tensor local, full;
    TRI_TRY(embedding_unmask(self, slot, dout, &local, &full));
    struct tri_tensor dwords = tri_param_grad(self->words);
    module->kernels->embedding_backward(module->queue, dwords, full, slot->microbatch->tokens,
                                        embedding_first_row(self, &dwords));
    for (int64_t b = 0; self->positions && b < local.dims[1]; b++) {
        const int32_t *ids;
        struct tri_tensor row = embedding_row(self, slot, &local, b, &ids);
        module->kernels->embedding_backward(module->queue, tri_param_grad(self->positions), row,
                                            ids, 0);
    }
    return TRI_OK;
}

static const struct tri_module_ops embedding_ops = {
    .name = "embedding",
    .forward = embedding_forward,
    .backward = tri_module_backward_halves,
    .backward_input = embedding_backward_input,
    .backward_weight = tri_module_backward_weight_none,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status embedding_init(struct embedding *self, struct tri_build *build,
                                 const struct tri_embedding_params *params)
{
    const tri_module *base = &self->base;
    self->tp = build->tp;
    self->is_sequence_parallel = build->sizing->split.sp > 1;
    self->vocab_size = params->vocab_size;
    self->num_positions = params->num_positions;
    self->hidden_size = params->hidden_size;
    self->factor = (float)params->factor;
    self->site = tri_dropout_site(params->dropout, build->seed, TRI_RNG_EMBEDDING_DROPOUT, 0);
    TRI_TRY(tri_build_param(build, base, "embedding.word_embeddings.weight", &self->words));
    if (params->num_positions > 0)
        TRI_TRY(
            tri_build_param(build, base, "embedding.position_embeddings.weight", &self->positions));
    if (self->is_sequence_parallel || self->positions)
        TRI_TRY(tri_build_row(build, base, "full", &self->full));
    bool needs_copy = self->is_sequence_parallel || params->dropout > 0 || params->factor != 1;
    if (needs_copy && !build->sizing->forward_only)
        TRI_TRY(tri_build_row(build, base, "dgathered", &self->dgathered));
    return TRI_OK;
}

static tri_status embedding_create(struct tri_build *build, const struct tri_module_spec *node,
                                   tri_module **module)
{
    struct embedding *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &embedding_ops, sizeof(*self), &self));
    return tri_build_finish(embedding_init(self, build, node->params), &self->base, module);
}

const struct tri_module_class tri_module_class_embedding = {.name = "embedding",
                                                            .create = embedding_create};
