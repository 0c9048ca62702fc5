/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "layernorm": the statistics of each row are kept for backward; the input itself is kept alive by the
 * container. Under sequence parallelism a rank has seen only its own positions, so the gradients are
 * partial sums over tp.
 */
#include "spec/describe.h"

static void layernorm_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_norm_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t S, B;
    tri_sizer_norm_rows(input, params, &S, &B);
    tri_sizer_row2(sizer, TRI_ROW_SAVED_INPUT, "mean", S, B);
    tri_sizer_row2(sizer, TRI_ROW_SAVED_INPUT, "rstd", S, B);
    tri_sizer_scratch_row(
        sizer, TRI_ROW_WORK_BACKWARD, "workspace",
        tri_sizer_scratch(sizer, node)->layernorm_backward(S * B, params->size, input->team_size));
    tri_sizer_norm_weight(sizer, params, true);
}

static void layernorm_settings(const struct tri_module_spec *node, struct tri_settings *settings)
{
    tri_settings_norm(settings, node->params);
}

const struct tri_module_row tri_spec_layernorm = {
    .name = "layernorm", .describe = layernorm_describe, .settings = layernorm_settings};
