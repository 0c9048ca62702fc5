/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A linear whose input is cut over tp: x [s, B, in/tp] -> y [S, B, out], y = sum over tp of x
 * weight^T, then the bias; weight [out, in/tp], bias [out] whole on every rank.
 *
 *                       forward                    backward
 *   sequence parallel   reduce-scatter of y along s  all-gather of dy along s
 *   else                all-reduce of y              nothing
 *
 * All over tp. The bias's gradient is taken from dout as it comes: under sequence parallelism a
 * partial sum over this rank's positions that model/ adds up over tp.
 */
#include "nn/classes.h"
#include "nn/linear.h"

struct row_linear {
    struct tri_module base;
    tri_group *tp;
    bool is_sequence_parallel;
    struct tri_param *weight, *bias;              /* bias NULL: none */
    struct tri_row_ref full, workspace;           /* forward */
    struct tri_row_ref dgathered, workspace_back; /* backward */
};
enum { ROW_X, ROW_DOUT };

static tri_status row_linear_forward(tri_module *module, struct tri_slot *slot,
                                     const struct tri_tensor *in, struct tri_tensor *out)
{
    struct row_linear *self = (struct row_linear *)module;
    TRI_ASSERT(tri_tensor_is_contiguous(out));
    struct tri_tensor y = *out;
    if (self->is_sequence_parallel)
        y = tri_row_tensor3(&self->full, slot, in->dims[0], in->dims[1], out->dims[2]);
    tri_linear_forward(module, self->weight, y, *in, tri_row_address(&self->workspace, slot));
    int64_t count = tri_tensor_elements(out);
    if (self->is_sequence_parallel)
        TRI_TRY(tri_group_reduce_scatter(self->tp, out->data, y.data, count, out->dtype,
                                         TRI_REDUCE_SUM));
    else
        TRI_TRY(tri_group_all_reduce(self->tp, out->data, count, out->dtype, TRI_REDUCE_SUM));
    tri_linear_bias(module, self->bias, *out);
    *tri_module_view(module, slot, ROW_X) = *in;
    return TRI_OK;
}

/* The remembered dout on all s positions. Collective over tp. */
static tri_status row_linear_gather(struct row_linear *self, struct tri_slot *slot,
                                    struct tri_tensor *full)
{
    struct tri_tensor dout = *tri_module_view(&self->base, slot, ROW_DOUT);
    *full = dout;
    if (!self->is_sequence_parallel)
        return TRI_OK;
    TRI_ASSERT(tri_tensor_is_contiguous(&dout));
    *full = tri_row_tensor3(&self->dgathered, slot, dout.dims[0] * self->tp->size, dout.dims[1],
                            dout.dims[2]);
    return tri_group_all_gather(self->tp, full->data, dout.data, tri_tensor_elements(&dout),
                                dout.dtype);
}

/* dx = dout weight, dbias += sum over local positions of dout; *full is dout on all positions. */
static tri_status row_linear_input_half(struct row_linear *self, struct tri_slot *slot,
                                        const struct tri_tensor *dout, struct tri_tensor *din,
                                        struct tri_tensor *full)
{
    void *workspace = tri_row_address(&self->workspace_back, slot);
    *tri_module_view(&self->base, slot, ROW_DOUT) = *dout;
    TRI_TRY(row_linear_gather(self, slot, full));
    tri_linear_backward_input(&self->base, self->weight, *din, *full, workspace);
    tri_linear_backward_bias(&self->base, self->bias, *dout, workspace);
    return TRI_OK;
}

/* dweight += dout^T x */
static void row_linear_weight_half(struct row_linear *self, struct tri_slot *slot,
                                   const struct tri_tensor *full)
{
    struct tri_tensor x = *tri_module_view(&self->base, slot, ROW_X);
    tri_linear_backward_weight(&self->base, self->weight, *full, x,
                               tri_row_address(&self->workspace_back, slot));
}

static tri_status row_linear_backward(tri_module *module, struct tri_slot *slot,
                                      const struct tri_tensor *dout, struct tri_tensor *din)
{
    struct row_linear *self = (struct row_linear *)module;
    struct tri_tensor full;
    TRI_TRY(row_linear_input_half(self, slot, dout, din, &full));
    row_linear_weight_half(self, slot, &full);
    return TRI_OK;
}

static tri_status row_linear_backward_input(tri_module *module, struct tri_slot *slot,
                                            const struct tri_tensor *dout, struct tri_tensor *din)
{
    struct tri_tensor full;
    return row_linear_input_half((struct row_linear *)module, slot, dout, din, &full);
}

static tri_status row_linear_backward_weight(tri_module *module, struct tri_slot *slot)
{
    struct row_linear *self = (struct row_linear *)module;
    struct tri_tensor full;
    TRI_TRY(row_linear_gather(self, slot, &full));
    row_linear_weight_half(self, slot, &full);
    return TRI_OK;
}

static const struct tri_module_ops row_linear_ops = {
    .name = "row_linear",
    .forward = row_linear_forward,
    .backward = row_linear_backward,
    .backward_input = row_linear_backward_input,
    .backward_weight = row_linear_backward_weight,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status row_linear_init(struct row_linear *self, struct tri_build *build,
                                  const struct tri_row_linear_params *params)
{
    const tri_module *base = &self->base;
    bool has_backward = !build->sizing->forward_only;
    self->tp = build->tp;
    self->is_sequence_parallel = build->sizing->split.sp > 1;
    TRI_TRY(tri_build_param(build, base, "weight", &self->weight));
    if (params->bias)
        TRI_TRY(tri_build_param(build, base, "bias", &self->bias));
    TRI_TRY(tri_build_row(build, base, "workspace", &self->workspace));
    if (self->is_sequence_parallel)
        TRI_TRY(tri_build_row(build, base, "full", &self->full));
    if (has_backward)
        TRI_TRY(tri_build_row(build, base, "workspace_back", &self->workspace_back));
    if (has_backward && self->is_sequence_parallel)
        TRI_TRY(tri_build_row(build, base, "dgathered", &self->dgathered));
    return TRI_OK;
}

static tri_status row_linear_create(struct tri_build *build, const struct tri_module_spec *node,
                                    tri_module **module)
{
    struct row_linear *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &row_linear_ops, sizeof(*self), &self));
    return tri_build_finish(row_linear_init(self, build, node->params), &self->base, module);
}

const struct tri_module_class tri_module_class_row_linear = {.name = "row_linear",
                                                             .create = row_linear_create};
