/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RMSNorm over channels that are cut over tp, such as all heads of q together: x [s, B n, D] holds this rank's n
 * heads, the mean goes over the heads of all ranks.
 *
 *   forward    all-gather of x over tp; every rank norms whole rows and keeps its own channels
 *   backward   all-gather of dout over tp; every rank has the whole gradient of the weight
 *
 * Where neighbours hold the same heads (key/value heads fewer than ranks), their douts are added up, and the
 * first of them gets dx, the others zero: together they hold it once, as the linear before expects.
 */
#include "nn/classes.h"
#include "spec/split.h"

struct split_rmsnorm {
    struct tri_module base;
    tri_group *tp;
    float eps;
    int64_t channels, local; /* of all ranks, of this one */
    int64_t copies;          /* ranks that hold the same channels */
    struct tri_param *weight;
    struct tri_row_ref rstd, whole, gathered, made;      /* forward; the last three where tp > 1 */
    struct tri_row_ref gathered_back, dwhole, workspace; /* backward */
};
enum { SPLIT_X };

static struct tri_tensor split_rows(const struct split_rmsnorm *self, const struct tri_tensor *x,
                                    int64_t columns)
{
    int64_t rows = tri_tensor_elements(x) / self->local;
    return tri_tensor_view(x->data, x->dtype, 2, (int64_t[2]){rows, columns});
}

/* The channels of rank r within whole rows. */
static struct tri_tensor split_channels(const struct split_rmsnorm *self,
                                        const struct tri_tensor *whole, int64_t r)
{
    return tri_tensor_slice(whole, 1, r / self->copies * self->local, self->local);
}

/* *whole = the rows of all ranks, those held several times added up or, of values, taken once. Collective
   over tp. */
static tri_status split_gather(struct split_rmsnorm *self, struct tri_slot *slot,
                               const struct tri_tensor *x, const struct tri_row_ref *buffer,
                               struct tri_tensor *whole, bool is_gradient)
{
    const tri_module *base = &self->base;
    int64_t rows = whole->dims[0];
    char *gathered = tri_row_address(buffer, slot);
    TRI_TRY(tri_group_all_gather(self->tp, gathered, x->data, rows * self->local, x->dtype));
    for (int r = 0; r < self->tp->size; r++) {
        struct tri_tensor part =
            tri_tensor_view(gathered + (size_t)r * (size_t)(rows * self->local) * sizeof(float),
                            x->dtype, 2, (int64_t[2]){rows, self->local});
        struct tri_tensor to = split_channels(self, whole, r);
        if (r % self->copies == 0)
            base->kernels->copy(base->queue, to, part);
        else if (is_gradient)
            base->kernels->add(base->queue, to, to, part);
    }
    return TRI_OK;
}

static tri_status split_rmsnorm_forward(tri_module *module, struct tri_slot *slot,
                                        const struct tri_tensor *in, struct tri_tensor *out)
{
    struct split_rmsnorm *self = (struct split_rmsnorm *)module;
    struct tri_tensor x = split_rows(self, in, self->local), y = split_rows(self, out, self->local);
    struct tri_tensor rstd = tri_row_tensor(&self->rstd, slot, 1, x.dims);
    struct tri_tensor whole = x, made = y;
    if (self->tp->size > 1) {
        const int64_t dims[2] = {x.dims[0], self->channels};
        whole = tri_row_tensor(&self->whole, slot, 2, dims);
        made = tri_row_tensor(&self->made, slot, 2, dims);
        TRI_TRY(split_gather(self, slot, &x, &self->gathered, &whole, false));
    }
    struct tri_tensor weight = tri_param_acquire(self->weight);
    module->kernels->rmsnorm(module->queue, made, rstd, whole, weight, self->eps);
    tri_param_release(self->weight);
    if (self->tp->size > 1)
        module->kernels->copy(module->queue, y, split_channels(self, &made, self->tp->rank));
    *tri_module_view(module, slot, SPLIT_X) = whole;
    return TRI_OK;
}

/* As rmsnorm, on whole rows. din may be dout. */
static tri_status split_rmsnorm_backward_input(tri_module *module, struct tri_slot *slot,
                                               const struct tri_tensor *dout,
                                               struct tri_tensor *din)
{
    struct split_rmsnorm *self = (struct split_rmsnorm *)module;
    struct tri_tensor x = *tri_module_view(module, slot, SPLIT_X);
    struct tri_tensor dy = split_rows(self, dout, self->local);
    struct tri_tensor dx = split_rows(self, din, self->local), dwhole = dy, dmade = dx;
    struct tri_tensor rstd = tri_row_tensor(&self->rstd, slot, 1, x.dims);
    if (self->tp->size > 1) {
        dwhole = tri_row_tensor(&self->dwhole, slot, 2, x.dims);
        TRI_TRY(split_gather(self, slot, &dy, &self->gathered_back, &dwhole, true));
        dmade = dwhole;
    }
    struct tri_tensor weight = tri_param_acquire(self->weight);
    module->kernels->rmsnorm_backward(module->queue, dmade, tri_param_grad(self->weight), dwhole, x,
                                      rstd, weight, tri_row_address(&self->workspace, slot));
    tri_param_release(self->weight);
    if (self->tp->size > 1)
        module->kernels->copy(module->queue, dx, split_channels(self, &dmade, self->tp->rank));
    if (self->tp->rank % self->copies != 0)
        module->kernels->fill(module->queue, dx, 0);
    return TRI_OK;
}

static const struct tri_module_ops split_rmsnorm_ops = {
    .name = "split_rmsnorm",
    .forward = split_rmsnorm_forward,
    .backward = tri_module_backward_halves,
    .backward_input = split_rmsnorm_backward_input,
    .backward_weight = tri_module_backward_weight_none,
    .end_step = tri_module_end_step_none,
    .destroy = tri_module_free,
};

static tri_status split_rmsnorm_init(struct split_rmsnorm *self, struct tri_build *build,
                                     const struct tri_norm_params *params)
{
    const tri_module *base = &self->base;
    int64_t tp = build->sizing->split.tp;
    bool has_backward = !build->sizing->forward_only;
    self->tp = build->tp;
    self->eps = (float)params->eps;
    self->channels = params->size;
    self->copies = tri_split_copies(params->heads, tp);
    self->local = params->size * self->copies / tp;
    TRI_TRY(tri_build_param(build, base, "weight", &self->weight));
    TRI_TRY(tri_build_row(build, base, "rstd", &self->rstd));
    if (has_backward)
        TRI_TRY(tri_build_row(build, base, "workspace", &self->workspace));
    if (tp == 1)
        return TRI_OK;
    TRI_TRY(tri_build_row(build, base, "whole", &self->whole));
    TRI_TRY(tri_build_row(build, base, "gathered", &self->gathered));
    TRI_TRY(tri_build_row(build, base, "made", &self->made));
    if (!has_backward)
        return TRI_OK;
    TRI_TRY(tri_build_row(build, base, "gathered_back", &self->gathered_back));
    return tri_build_row(build, base, "dwhole", &self->dwhole);
}

static tri_status split_rmsnorm_create(struct tri_build *build, const struct tri_module_spec *node,
                                       tri_module **module)
{
    struct split_rmsnorm *self = NULL;
    TRI_TRY(tri_build_alloc(build, node, &split_rmsnorm_ops, sizeof(*self), &self));
    return tri_build_finish(split_rmsnorm_init(self, build, node->params), &self->base, module);
}

const struct tri_module_class tri_module_class_split_rmsnorm = {.name = "split_rmsnorm",
                                                                .create = split_rmsnorm_create};
