/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "whole_linear": every rank of tp holds all of the weight and works on the positions it has outside
 * tensor-parallel regions, so there are no messages. Under sequence parallelism those are its own, and the
 * gradients are partial sums over tp.
 */
#include "shape/mup.h"
#include "spec/describe.h"

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void whole_linear_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_whole_linear_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    const struct tri_scratch_table *scratch = tri_sizer_scratch(sizer, node);
    int64_t R = tri_sizer_local_positions(input) * input->micro_batch_size;
    int64_t in = params->in, out = params->out;
    int team = input->team_size;
    tri_sizer_scratch_row(sizer, TRI_ROW_WORK_FORWARD, "workspace",
                          scratch->gemm(R, out, in, team));
    size_t products = larger(scratch->gemm(R, in, out, team), scratch->gemm(out, in, R, team));
    tri_sizer_scratch_row(sizer, TRI_ROW_WORK_BACKWARD, "workspace_back",
                          larger(products, scratch->bias_backward(R, out, team)));
    struct tri_param_spec weight = {
        .name = "weight",
        .num_dims = 2,
        .dims = {out, in},
        .cut_dim = -1,
        .weight_decay = true,
        .lr_divisor = tri_mup_width(input->shape),
        .sum_axes = input->split.sp > 1 ? TRI_AXES(TRI_AXIS_TP) : TRI_AXES_NONE,
    };
    tri_sizer_init_linear(&weight, &params->init);
    tri_sizer_param(sizer, &weight);
    if (params->bias)
        tri_sizer_param(sizer, &(struct tri_param_spec){.name = "bias",
                                                        .num_dims = 1,
                                                        .dims = {out},
                                                        .cut_dim = -1,
                                                        .init = TRI_INIT_ZERO,
                                                        .sum_axes = weight.sum_axes});
    tri_sizer_flops(sizer, 2.0 * (double)R * (double)out * (double)in);
}

static void whole_linear_settings(const struct tri_module_spec *node, struct tri_settings *settings)
{
    const struct tri_whole_linear_params *params = node->params;
    tri_settings_linear(settings, params->in, params->out, params->bias, &params->init);
}

const struct tri_module_row tri_spec_whole_linear = {
    .name = "whole_linear", .describe = whole_linear_describe, .settings = whole_linear_settings};
