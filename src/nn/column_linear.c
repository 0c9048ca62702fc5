/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A linear whose output is cut over tp: x [S, B, in] -> y [s, B, out/tp], y = x weight^T + bias,
 * weight [out/tp, in].
 *
 *                       forward                 backward
 *   sequence parallel   all-gather of x along s  reduce-scatter of dx along s, x gathered again
 *   else                nothing                  all-reduce of dx
 *
 * All over tp. The joint backward does the weight's product while dx is on its way; the bits are
 * those of the halves. The bias has the weight's cut, so its gradient is complete here.
 */
#include "nn/classes.h"
#include "nn/linear.h"

struct column_linear {
    struct tri_module base;
    tri_group *tp;
    bool is_sequence_parallel;
    struct tri_param *weight, *bias;                             /* bias NULL: none */
    struct tri_row_ref gathered, workspace;                      /* forward */
    struct tri_row_ref gathered_back, dgathered, workspace_back; /* backward */
};
enum { COLUMN_X, COLUMN_DOUT };

/* The row for all s positions that belong to local's S. */
static struct tri_tensor column_linear_full(const struct column_linear *self,
                                            const struct tri_slot *slot,
                                            const struct tri_row_ref *row,
                                            const struct tri_tensor *local)
{
    return tri_row_tensor3(row, slot, local->dims[0] * self->tp->size, local->dims[1],
                           local->dims[2]);
}

/* Begins the all-gather of x along s into row; *full is the gathered tensor once the request has
   ended. Without sequence parallelism x is full already and there is no request. Collective over
   tp. */
static tri_status column_linear_gather_begin(struct column_linear *self, struct tri_slot *slot,
                                             const struct tri_row_ref *row,
                                             const struct tri_tensor *x, struct tri_tensor *full,
                                             tri_request **request)
{
    *full = *x;
    *request = NULL;
    if (!self->is_sequence_parallel)
        return TRI_OK;
    *full = column_linear_full(self, slot, row, x);
    return self->tp->ops->all_gather_begin(self->tp, full->data, x->data, tri_tensor_elements(x),
                                           x->dtype, request);
}

static tri_status column_linear_end(struct column_linear *self, tri_request **request)
{
    return *request ? tri_request_end(self->tp, request) : TRI_OK;
}

static tri_status column_linear_forward(tri_module *module, struct tri_slot *slot,
                                        const struct tri_tensor *in, struct tri_tensor *out)
{
    struct column_linear *self = (struct column_linear *)module;
    struct tri_tensor x;
    tri_request *request = NULL;
    TRI_TRY(column_linear_gather_begin(self, slot, &self->gathered, in, &x, &request));
    TRI_TRY(column_linear_end(self, &request));
    tri_linear_forward(module, self->weight, *out, x, tri_row_address(&self->workspace, slot));
    tri_linear_bias(module, self->bias, *out);
    *tri_module_view(module, slot, COLUMN_X) = *in;
    return TRI_OK;
}

/* dx = dout weight on all s positions: where it lies before its reduction. */
static struct tri_tensor column_linear_product(struct column_linear *self, struct tri_slot *slot,
                                               const struct tri_tensor *dout,
                                               const struct tri_tensor *din)
{
    struct tri_tensor dx = *din;
    if (self->is_sequence_parallel)
        dx = column_linear_full(self, slot, &self->dgathered, din);
    tri_linear_backward_input(&self->base, self->weight, dx, *dout,
                              tri_row_address(&self->workspace_back, slot));
    *tri_module_view(&self->base, slot, COLUMN_DOUT) = *dout;
    return dx;
}

/* Begins the sum of dx over tp into din. Collective over tp. */
static tri_status column_linear_reduce_begin(struct column_linear *self,
                                             const struct tri_tensor *dx,
                                             const struct tri_tensor *din, tri_request **request)
{
    TRI_ASSERT(tri_tensor_is_contiguous(din));
    int64_t count = tri_tensor_elements(din);
    if (self->is_sequence_parallel)
        return self->tp->ops->reduce_scatter_begin(self->tp, din->data, dx->data, count, din->dtype,
                                                   TRI_REDUCE_SUM, request);
    return self->tp->ops->all_reduce_begin(self->tp, din->data, count, din->dtype, TRI_REDUCE_SUM,
                                           request);
}

/* dweight += dout^T x, dbias += sum over positions of dout */
static void column_linear_gradients(struct column_linear *self, struct tri_slot *slot,
                                    const struct tri_tensor *x)
{
    void *workspace = tri_row_address(&self->workspace_back, slot);
    struct tri_tensor dout = *tri_module_view(&self->base, slot, COLUMN_DOUT);
    tri_linear_backward_weight(&self->base, self->weight, dout, *x, workspace);
    tri_linear_backward_bias(&self->base, self->bias, dout, workspace);
}

static tri_status column_linear_backward(tri_module *module, struct tri_slot *slot,
                                         const struct tri_tensor *dout, struct tri_tensor *din)
{
    struct column_linear *self = (struct column_linear *)module;
    struct tri_tensor x;
    tri_request *gather = NULL, *reduce = NULL;
    TRI_TRY(column_linear_gather_begin(self, slot, &self->gathered_back,
                                       tri_module_view(module, slot, COLUMN_X), &x, &gather));
    struct tri_tensor dx = column_linear_product(self, slot, dout, din);
    TRI_TRY(column_linear_end(self, &gather));
    TRI_TRY(column_linear_reduce_begin(self, &dx, din, &reduce));
    column_linear_gradients(self, slot, &x);
    return column_linear_end(self, &reduce);
}

static tri_status column_linear_backward_input(tri_module *module, struct tri_slot *slot,
                                               const struct tri_tensor *dout,
                                               struct tri_tensor *din)
{
    struct column_linear *self = (struct column_linear *)module;
    tri_request *reduce = NULL;
    struct tri_tensor dx = column_linear_product(self, slot, dout, din);
    TRI_TRY(column_linear_reduce_begin(self, &dx, din, &reduce));
    return column_linear_end(self, &reduce);
}

static tri_status column_linear_backward_weight(tri_module *module, struct tri_slot *slot)
{
    struct column_linear *self = (struct column_linear *)module;
    struct tri_tensor x;
    tri_request *gather = NULL;
    TRI_TRY(column_linear_gather_begin(self, slot, &self->gathered_back,
                                       tri_module_view(module, slot, COLUMN_X), &x, &gather));
    TRI_TRY(column_linear_end(self, &gather));
    column_linear_gradients(self, slot, &x);
    return TRI_OK;
}

static const struct tri_module_ops column_linear_ops = {
    .name = "column_linear",
    .forward = column_linear_forward,
    .backward = column_linear_backward,
    .backward_input = column_linear_backward_input,
    .backward_weight = column_linear_backward_weight,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status column_linear_init_rows(struct column_linear *self, struct tri_build *build)
{
    bool has_backward = !build->sizing->forward_only;
    TRI_TRY(tri_build_row(build, &self->base, "workspace", &self->workspace));
    if (self->is_sequence_parallel)
        TRI_TRY(tri_build_row(build, &self->base, "gathered", &self->gathered));
    if (has_backward)
        TRI_TRY(tri_build_row(build, &self->base, "workspace_back", &self->workspace_back));
    if (has_backward && self->is_sequence_parallel) {
        TRI_TRY(tri_build_row(build, &self->base, "gathered_back", &self->gathered_back));
        TRI_TRY(tri_build_row(build, &self->base, "dgathered", &self->dgathered));
    }
    return TRI_OK;
}

static tri_status column_linear_init(struct column_linear *self, struct tri_build *build,
                                     const struct tri_column_linear_params *params)
{
    self->tp = build->tp;
    self->is_sequence_parallel = build->sizing->split.sp > 1;
    const char *weight = params->tied ? "embedding.word_embeddings.weight" : "weight";
    TRI_TRY(tri_build_param(build, &self->base, weight, &self->weight));
    if (params->bias)
        TRI_TRY(tri_build_param(build, &self->base, "bias", &self->bias));
    return column_linear_init_rows(self, build);
}

static tri_status column_linear_create(struct tri_build *build, const struct tri_module_spec *node,
                                       tri_module **module)
{
    struct column_linear *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &column_linear_ops, sizeof(*self), &self));
    return tri_build_finish(column_linear_init(self, build, node->params), &self->base, module);
}

const struct tri_module_class tri_module_class_column_linear = {.name = "column_linear",
                                                                .create = column_linear_create};
