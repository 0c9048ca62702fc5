/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causal attention of this rank's heads: qkv [s, B, (heads + 2 groups)/tp * D] (or with gates behind
 * q, which it leaves alone), q and k already rotated -> context [s, B, heads/tp * D]:
 *   context_i = sum over j <= i of dropout(softmax_j(scale q_i.k_j)) v_j
 * The score matrix is never held: backward makes it again from qkv and lse, the log of each row's
 * sum. No communication: heads are cut over tp.
 *
 * Scores may be capped, keys beyond a window left out, and a sink (spec/modules.h) stand in the softmax's
 * denominator.
 *
 * With a cache (generation) the new k and v are copied behind those that are there, and the queries
 * see them all.
 */
#include "nn/classes.h"
#include "nn/dropout.h"
#include "nn/heads.h"
#include "spec/split.h"

struct dot_product_attention {
    struct tri_module base;
    int64_t heads, groups, D; /* heads and groups of this rank */
    int64_t first_head;
    int64_t seq_length; /* planned: numbers the rows of the dropout mask */
    int64_t cache_length;
    float scale, softcap;
    int64_t window;
    int sink;                         /* enum tri_sink_kind */
    struct tri_param *softmax_offset; /* NULL: none */
    struct tri_dropout_site site;
    struct tri_row_ref lse, workspace, workspace_back, key_cache, value_cache;
};
enum { ATTENTION_QKV, ATTENTION_CONTEXT };

static struct tri_attention attention_arguments(const struct dot_product_attention *self,
                                                const struct tri_slot *slot)
{
    const float *sink = self->softmax_offset ? tri_param_acquire(self->softmax_offset).data : NULL;
    return (struct tri_attention){
        .scale = self->scale,
        .causal = true,
        .window = self->window,
        .softcap = self->softcap,
        .has_sink = self->sink != TRI_SINK_NONE,
        .sink = sink,
        .query_offset = slot->cache ? slot->cache->length : 0,
        .segments = slot->cache ? NULL : slot->microbatch->segments,
        .dropout = tri_dropout_now(&self->site, slot, 0),
        .first_head = self->first_head,
        .seq_length = self->seq_length,
    };
}

static void attention_release(const struct dot_product_attention *self)
{
    if (self->softmax_offset)
        tri_param_release(self->softmax_offset);
}

static struct tri_tensor attention_lse(const struct dot_product_attention *self,
                                       const struct tri_slot *slot, int64_t s, int64_t B)
{
    return tri_row_tensor3(&self->lse, slot, B, self->heads, s);
}

/* Copies part [s, B, groups, D] behind the filled rows of a cache and makes *part the view of all
   of them. Cache rows lie as planned, whatever the actual number of batch rows. */
static void attention_append(const struct dot_product_attention *self,
                             const struct tri_row_ref *row, const struct tri_slot *slot,
                             struct tri_tensor *part)
{
    int64_t length = slot->cache->length, s = part->dims[0];
    struct tri_tensor cache = tri_row_tensor(row, slot, 4, row->dims);
    cache = tri_tensor_slice(&cache, 1, 0, part->dims[1]);
    struct tri_tensor place = tri_tensor_slice(&cache, 0, length, s);
    self->base.kernels->copy(self->base.queue, place, *part);
    *part = tri_tensor_slice(&cache, 0, 0, length + s);
}

static tri_status attention_use_cache(const struct dot_product_attention *self,
                                      const struct tri_slot *slot, struct tri_qkv *parts)
{
    int64_t end = slot->cache->length + parts->key.dims[0];
    TRI_CHECK(end <= self->cache_length, self->base.err, TRI_INVALID,
              "'%s' would hold %lld positions, its key-value cache was planned for %lld; plan a "
              "longer cache or generate fewer tokens",
              self->base.path, (long long)end, (long long)self->cache_length);
    attention_append(self, &self->key_cache, slot, &parts->key);
    attention_append(self, &self->value_cache, slot, &parts->value);
    return TRI_OK;
}

static tri_status dot_product_attention_forward(tri_module *module, struct tri_slot *slot,
                                                const struct tri_tensor *in, struct tri_tensor *out)
{
    struct dot_product_attention *self = (struct dot_product_attention *)module;
    struct tri_qkv parts = tri_qkv_split(in, self->heads, self->groups, self->D);
    if (slot->cache)
        TRI_TRY(attention_use_cache(self, slot, &parts));
    struct tri_attention arguments = attention_arguments(self, slot);
    module->kernels->attention(module->queue, tri_heads_view(out, 0, self->heads, self->D),
                               attention_lse(self, slot, in->dims[0], in->dims[1]), parts.query,
                               parts.key, parts.value, &arguments,
                               tri_row_address(&self->workspace, slot));
    attention_release(self);
    *tri_module_view(module, slot, ATTENTION_QKV) = *in;
    *tri_module_view(module, slot, ATTENTION_CONTEXT) = *out;
    return TRI_OK;
}

/* With p = softmax, f = dropout factor:
   dv_j = sum_i p_ij f_ij dout_i,  ds_ij = p_ij (f_ij dout_i.v_j - dout_i.context_i),
   dq_i = scale sum_j ds_ij k_j,  dk_j = scale sum_i ds_ij q_i; din = [dq | dk | dv];
   of a learned sink z: dz += -sum_i p_iz dout_i.context_i, p_iz = exp(z - lse_i) */
static tri_status dot_product_attention_backward_input(tri_module *module, struct tri_slot *slot,
                                                       const struct tri_tensor *dout,
                                                       struct tri_tensor *din)
{
    struct dot_product_attention *self = (struct dot_product_attention *)module;
    const struct tri_tensor *qkv = tri_module_view(module, slot, ATTENTION_QKV);
    const struct tri_tensor *context = tri_module_view(module, slot, ATTENTION_CONTEXT);
    struct tri_qkv parts = tri_qkv_split(qkv, self->heads, self->groups, self->D);
    struct tri_qkv grads = tri_qkv_split(din, self->heads, self->groups, self->D);
    struct tri_tensor dheads = tri_heads_view(dout, 0, self->heads, self->D);
    struct tri_tensor heads = tri_heads_view(context, 0, self->heads, self->D);
    struct tri_tensor lse = attention_lse(self, slot, qkv->dims[0], qkv->dims[1]);
    struct tri_attention arguments = attention_arguments(self, slot);
    module->kernels->attention_backward(module->queue, grads.query, grads.key, grads.value, dheads,
                                        heads, lse, parts.query, parts.key, parts.value, &arguments,
                                        tri_row_address(&self->workspace_back, slot));
    if (self->softmax_offset)
        module->kernels->attention_sink_backward(
            module->queue, tri_param_grad(self->softmax_offset), dheads, heads, lse,
            tri_param_acquire(self->softmax_offset));
    attention_release(self);
    return TRI_OK;
}

static const struct tri_module_ops dot_product_attention_ops = {
    .name = "dot_product_attention",
    .forward = dot_product_attention_forward,
    .backward = tri_module_backward_halves,
    .backward_input = dot_product_attention_backward_input,
    .backward_weight = tri_module_backward_weight_none,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status dot_product_attention_init(struct dot_product_attention *self,
                                             struct tri_build *build,
                                             const struct tri_attention_params *params)
{
    const struct tri_sizing_input *sizing = build->sizing;
    const tri_module *base = &self->base;
    self->heads = params->num_heads / sizing->split.tp;
    self->groups = tri_split_groups(params->num_groups, sizing->split.tp);
    self->D = params->head_width;
    self->first_head = build->tp->rank * self->heads;
    self->seq_length = sizing->seq_length;
    self->cache_length = sizing->cache_length;
    self->scale = (float)params->scale;
    self->softcap = (float)params->softcap;
    self->window = params->window;
    self->sink = params->sink;
    self->site =
        tri_dropout_site(params->dropout, build->seed, TRI_RNG_ATTENTION_DROPOUT, params->layer);
    if (params->sink == TRI_SINK_LEARNED)
        TRI_TRY(tri_build_param(build, base, "softmax_offset", &self->softmax_offset));
    TRI_TRY(tri_build_row(build, base, "lse", &self->lse));
    TRI_TRY(tri_build_row(build, base, "workspace", &self->workspace));
    if (!sizing->forward_only)
        TRI_TRY(tri_build_row(build, base, "workspace_back", &self->workspace_back));
    if (sizing->cache_length > 0) {
        TRI_TRY(tri_build_row(build, base, "key_cache", &self->key_cache));
        TRI_TRY(tri_build_row(build, base, "value_cache", &self->value_cache));
    }
    return TRI_OK;
}

static tri_status dot_product_attention_create(struct tri_build *build,
                                               const struct tri_module_spec *node,
                                               tri_module **module)
{
    struct dot_product_attention *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &dot_product_attention_ops, sizeof(*self), &self));
    return tri_build_finish(dot_product_attention_init(self, build, node->params), &self->base,
                            module);
}

const struct tri_module_class tri_module_class_dot_product_attention = {
    .name = "dot_product_attention", .create = dot_product_attention_create};
