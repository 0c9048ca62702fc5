/* SPDX-License-Identifier: Apache-2.0 */
/* Module "mlp": keeps the activation's input and output; the latter is linear_fc2's input. */
#include "spec/describe.h"

static void mlp_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_mlp_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t s = input->seq_length, B = input->micro_batch_size;
    int64_t width = params->ffn_size / input->split.tp;
    int64_t hidden = params->gated ? 2 * width : width;
    tri_sizer_row3(sizer, TRI_ROW_SAVED_INPUT, "hidden", s, B, hidden);
    tri_sizer_row3(sizer, TRI_ROW_SAVED_WEIGHT, "activated", s, B, width);
    tri_sizer_row3(sizer, TRI_ROW_GRAD, "dhidden", s, B, hidden);
    tri_sizer_row3(sizer, TRI_ROW_WORK_BACKWARD, "dactivated", s, B, width);
    tri_sizer_child(sizer, node, "linear_fc1");
    tri_sizer_child(sizer, node, "activation");
    tri_sizer_child(sizer, node, "linear_fc2");
}

static void mlp_settings(const struct tri_module_spec *node, struct tri_settings *settings)
{
    const struct tri_mlp_params *params = node->params;
    tri_settings_number(settings, "size", (double)params->ffn_size);
}

const struct tri_module_row tri_spec_mlp = {
    .name = "mlp", .describe = mlp_describe, .settings = mlp_settings};
