/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "row_linear": the input columns are cut over tp, so each rank has a partial product that is
 * summed. Under sequence parallelism the sum is a reduce-scatter along s, dout is gathered for backward
 * (again for the weight half when the schedule splits it), and the bias sees local positions only.
 */
#include "shape/mup.h"
#include "spec/describe.h"

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void row_linear_params(struct tri_sizer *sizer, const struct tri_row_linear_params *params)
{
    struct tri_param_spec weight = {
        .name = "weight",
        .num_dims = 2,
        .dims = {params->out, params->in},
        .cut_dim = 1,
        .weight_decay = true,
        .lr_divisor = tri_mup_width(tri_sizer_input(sizer)->shape),
    };
    tri_sizer_init_linear(&weight, &params->init);
    tri_sizer_param(sizer, &weight);
    if (params->bias)
        tri_sizer_param(sizer,
                        &(struct tri_param_spec){
                            .name = "bias",
                            .num_dims = 1,
                            .dims = {params->out},
                            .cut_dim = -1,
                            .init = TRI_INIT_ZERO,
                            .sum_axes = tri_sizer_input(sizer)->split.sp > 1 ? TRI_AXES(TRI_AXIS_TP)
                                                                             : TRI_AXES_NONE,
                        });
}

static void row_linear_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_row_linear_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    const struct tri_scratch_table *scratch = tri_sizer_scratch(sizer, node);
    int64_t s = input->seq_length, B = input->micro_batch_size, R = s * B;
    int64_t S = tri_sizer_local_positions(input);
    int64_t in = params->in / input->split.tp, out = params->out;
    int team = input->team_size;
    bool sequence_parallel = input->split.sp > 1;
    if (sequence_parallel) {
        tri_sizer_row3(sizer, TRI_ROW_WORK_FORWARD, "full", s, B, out);
        tri_sizer_row3(sizer, TRI_ROW_WORK_BACKWARD, "dgathered", s, B, out);
    }
    tri_sizer_scratch_row(sizer, TRI_ROW_WORK_FORWARD, "workspace",
                          scratch->gemm(R, out, in, team));
    size_t products = larger(scratch->gemm(R, in, out, team), scratch->gemm(out, in, R, team));
    tri_sizer_scratch_row(sizer, TRI_ROW_WORK_BACKWARD, "workspace_back",
                          larger(products, scratch->bias_backward(S * B, out, team)));
    row_linear_params(sizer, params);
    tri_sizer_flops(sizer, 2.0 * (double)R * (double)out * (double)in);
    double exchange = tri_sizer_exchange_bytes(input, (double)R * (double)out);
    if (!sequence_parallel)
        tri_sizer_tp_bytes(sizer, 2 * exchange);
    else if (input->forward_only)
        tri_sizer_tp_bytes(sizer, exchange);
    else
        tri_sizer_tp_bytes(sizer, input->split_backward ? 3 * exchange : 2 * exchange);
}

static void row_linear_settings(const struct tri_module_spec *node, struct tri_settings *settings)
{
    const struct tri_row_linear_params *params = node->params;
    tri_settings_linear(settings, params->in, params->out, params->bias, &params->init);
}

const struct tri_module_row tri_spec_row_linear = {
    .name = "row_linear", .describe = row_linear_describe, .settings = row_linear_settings};
