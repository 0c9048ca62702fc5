/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self-attention, [S, B, h] -> [S, B, h]: qkv = linear_qkv(x) [s, B, (heads + 2 groups)/tp * D],
 * rotary positions on q and k in place, context = core_attention(qkv) [s, B, heads/tp * D], y =
 * linear_proj(context). All communication is that of the linears.
 *
 * The rotary tables are made once, in the arithmetic of the reference: frequency 1 / base^(2i/d),
 * angle = position * frequency, each step rounded to fp32, then cosine and sine of that angle.
 */
#include "nn/classes.h"
#include "nn/heads.h"

#include <math.h>

struct self_attention {
    struct tri_module base;
    tri_module *linear_qkv, *core_attention, *linear_proj;
    int64_t heads, groups, D; /* heads and groups of this rank */
    int64_t sp;
    int64_t rotary_width; /* 0: positions do not turn */
    int64_t max_positions;
    bool interleaved;
    struct tri_row_ref qkv, context, dqkv, dcontext, cos, sin;
};

static struct tri_tensor self_attention_qkv(const struct self_attention *self,
                                            const struct tri_slot *slot,
                                            const struct tri_row_ref *row, int64_t S, int64_t B)
{
    return tri_row_tensor3(row, slot, S * self->sp, B, (self->heads + 2 * self->groups) * self->D);
}

static struct tri_tensor self_attention_context(const struct self_attention *self,
                                                const struct tri_slot *slot,
                                                const struct tri_row_ref *row, int64_t S, int64_t B)
{
    return tri_row_tensor3(row, slot, S * self->sp, B, self->heads * self->D);
}

static tri_status self_attention_check_positions(const struct self_attention *self,
                                                 const struct tri_microbatch *microbatch)
{
    for (int64_t i = 0; i < microbatch->rows * microbatch->length; i++) {
        int64_t position = microbatch->positions[i];
        TRI_CHECK(position >= 0 && position < self->max_positions, self->base.err, TRI_INVALID,
                  "position %lld of row %lld is outside the %lld rotary positions of '%s'; raise "
                  "--max-position-embeddings or use shorter input",
                  (long long)position, (long long)(i / microbatch->length),
                  (long long)self->max_positions, self->base.path);
    }
    return TRI_OK;
}

/* Turns q and k of joined by the angles of their positions; inverse turns gradients back. */
static void self_attention_rotate(const struct self_attention *self, const struct tri_slot *slot,
                                  const struct tri_tensor *joined, bool inverse)
{
    if (self->rotary_width == 0)
        return;
    const tri_module *base = &self->base;
    const int32_t *positions = slot->microbatch->positions;
    struct tri_qkv parts = tri_qkv_split(joined, self->heads, self->groups, self->D);
    struct tri_tensor cosines = tri_row_tensor(&self->cos, slot, 2, self->cos.dims);
    struct tri_tensor sines = tri_row_tensor(&self->sin, slot, 2, self->sin.dims);
    base->kernels->rope(base->queue, parts.query, cosines, sines, positions, self->interleaved,
                        inverse);
    base->kernels->rope(base->queue, parts.key, cosines, sines, positions, self->interleaved,
                        inverse);
}

static tri_status self_attention_forward(tri_module *module, struct tri_slot *slot,
                                         const struct tri_tensor *in, struct tri_tensor *out)
{
    struct self_attention *self = (struct self_attention *)module;
    int64_t S = in->dims[0], B = in->dims[1];
    struct tri_tensor qkv = self_attention_qkv(self, slot, &self->qkv, S, B);
    struct tri_tensor context = self_attention_context(self, slot, &self->context, S, B);
    if (self->rotary_width > 0)
        TRI_TRY(self_attention_check_positions(self, slot->microbatch));
    TRI_TRY(self->linear_qkv->ops->forward(self->linear_qkv, slot, in, &qkv));
    self_attention_rotate(self, slot, &qkv, false);
    TRI_TRY(self->core_attention->ops->forward(self->core_attention, slot, &qkv, &context));
    return self->linear_proj->ops->forward(self->linear_proj, slot, &context, out);
}

/* dout -> dcontext -> dqkv, its q and k turned back -> din. dqkv is what linear_qkv's weight half
   reads. */
static tri_status self_attention_walk_back(struct self_attention *self, struct tri_slot *slot,
                                           const struct tri_tensor *dout, struct tri_tensor *din,
                                           bool joint)
{
    int64_t S = dout->dims[0], B = dout->dims[1];
    struct tri_tensor dqkv = self_attention_qkv(self, slot, &self->dqkv, S, B);
    struct tri_tensor dcontext = self_attention_context(self, slot, &self->dcontext, S, B);
    TRI_TRY(tri_module_backward(self->linear_proj, slot, dout, &dcontext, joint));
    TRI_TRY(tri_module_backward(self->core_attention, slot, &dcontext, &dqkv, joint));
    self_attention_rotate(self, slot, &dqkv, true);
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

static tri_status self_attention_backward_weight(tri_module *module, struct tri_slot *slot)
{
    struct self_attention *self = (struct self_attention *)module;
    TRI_TRY(self->linear_proj->ops->backward_weight(self->linear_proj, slot));
    TRI_TRY(self->core_attention->ops->backward_weight(self->core_attention, slot));
    return self->linear_qkv->ops->backward_weight(self->linear_qkv, slot);
}

static tri_status self_attention_end_step(tri_module *module)
{
    struct self_attention *self = (struct self_attention *)module;
    TRI_TRY(self->linear_qkv->ops->end_step(self->linear_qkv));
    TRI_TRY(self->core_attention->ops->end_step(self->core_attention));
    return self->linear_proj->ops->end_step(self->linear_proj);
}

static void self_attention_destroy(tri_module *module)
{
    struct self_attention *self = (struct self_attention *)module;
    tri_module_destroy(&self->linear_proj);
    tri_module_destroy(&self->core_attention);
    tri_module_destroy(&self->linear_qkv);
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

/* cos, sin [max_positions, rotary_width / 2] of one row's address each. */
static void self_attention_fill_tables(const struct self_attention *self, float *cosines,
                                       float *sines, double base)
{
    int64_t half = self->rotary_width / 2;
    for (int64_t i = 0; i < half; i++) {
        float exponent = (float)(2 * i) / (float)self->rotary_width;
        float frequency = 1.0f / (float)pow(base, (double)exponent);
        for (int64_t position = 0; position < self->max_positions; position++) {
            double angle = (double)((float)position * frequency);
            cosines[position * half + i] = (float)cos(angle);
            sines[position * half + i] = (float)sin(angle);
        }
    }
}

static tri_status self_attention_init_tables(struct self_attention *self, struct tri_build *build,
                                             const struct tri_self_attention_params *params)
{
    self->rotary_width = params->rotary_width;
    self->interleaved = params->rotary_interleaved;
    self->max_positions = params->max_positions;
    if (self->rotary_width == 0)
        return TRI_OK;
    TRI_TRY(tri_build_row(build, &self->base, "cos", &self->cos));
    TRI_TRY(tri_build_row(build, &self->base, "sin", &self->sin));
    const struct tri_device *device = build->queue->device;
    float *cosines = device->map(build->queue, self->cos.base, self->cos.bytes, TRI_MAP_WRITE);
    float *sines = device->map(build->queue, self->sin.base, self->sin.bytes, TRI_MAP_WRITE);
    self_attention_fill_tables(self, cosines, sines, params->rotary_base);
    device->unmap(build->queue, self->sin.base, sines);
    device->unmap(build->queue, self->cos.base, cosines);
    return TRI_OK;
}

static tri_status self_attention_init(struct self_attention *self, struct tri_build *build,
                                      const struct tri_module_spec *node)
{
    const struct tri_self_attention_params *params = node->params;
    const tri_module *base = &self->base;
    self->heads = params->num_heads / build->sizing->split.tp;
    self->groups = params->num_groups / build->sizing->split.tp;
    self->D = params->head_width;
    self->sp = build->sizing->split.sp;
    TRI_TRY(tri_build_row(build, base, "qkv", &self->qkv));
    TRI_TRY(tri_build_row(build, base, "context", &self->context));
    if (!build->sizing->forward_only) {
        TRI_TRY(tri_build_row(build, base, "dqkv", &self->dqkv));
        TRI_TRY(tri_build_row(build, base, "dcontext", &self->dcontext));
    }
    TRI_TRY(self_attention_init_tables(self, build, params));
    TRI_TRY(tri_build_child(build, node, "linear_qkv", &self->linear_qkv));
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

const struct tri_module_class tri_module_class_self_attention = {"self_attention",
                                                                 self_attention_create};
