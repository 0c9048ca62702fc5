/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "split_rmsnorm": one norm over channels that tp cuts, as of all heads of q together. Rows are made
 * whole on every rank, which holds all of the weight and its whole gradient; the whole input is kept.
 */
#include "spec/describe.h"
#include "spec/split.h"

static void split_rmsnorm_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_norm_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t tp = input->split.tp, R = input->seq_length * input->micro_batch_size;
    int64_t C = params->size, copies = tri_split_copies(params->heads, tp);
    tri_sizer_row2(sizer, TRI_ROW_SAVED_INPUT, "rstd", input->seq_length, input->micro_batch_size);
    if (tp > 1) {
        tri_sizer_row2(sizer, TRI_ROW_SAVED_INPUT, "whole", R, C);
        tri_sizer_row2(sizer, TRI_ROW_WORK_FORWARD, "gathered", R, C * copies);
        tri_sizer_row2(sizer, TRI_ROW_WORK_FORWARD, "made", R, C);
        tri_sizer_row2(sizer, TRI_ROW_WORK_BACKWARD, "gathered_back", R, C * copies);
        tri_sizer_row2(sizer, TRI_ROW_WORK_BACKWARD, "dwhole", R, C);
    }
    tri_sizer_scratch_row(sizer, TRI_ROW_WORK_BACKWARD, "workspace",
                          tri_sizer_scratch(sizer, node)->rmsnorm_backward(R, C, input->team_size));
    tri_sizer_param(
        sizer,
        &(struct tri_param_spec){
            .name = "weight", .num_dims = 1, .dims = {C}, .cut_dim = -1, .init = TRI_INIT_ONE});
    double backward = input->forward_only ? 0 : 1;
    tri_sizer_tp_bytes(
        sizer, (1 + backward) * tri_sizer_exchange_bytes(input, (double)R * (double)(C * copies)));
}

static void split_rmsnorm_settings(const struct tri_module_spec *node,
                                   struct tri_settings *settings)
{
    tri_settings_norm(settings, node->params);
}

const struct tri_module_row tri_spec_split_rmsnorm = {.name = "split_rmsnorm",
                                                      .describe = split_rmsnorm_describe,
                                                      .settings = split_rmsnorm_settings};
