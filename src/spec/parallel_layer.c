/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "parallel_layer": both halves read the layer's input, which is kept by the slice. The stream between
 * the two residual sums is needed only until the second.
 */
#include "spec/describe.h"
#include "spec/sublayer.h"

static void parallel_layer_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_layer_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t S = tri_sizer_local_positions(input), B = input->micro_batch_size;
    for (int which = 0; which < TRI_NUM_SUBLAYERS; which++)
        tri_sizer_sublayer_rows(sizer, node, which, params->hidden_size);
    tri_sizer_row3(sizer, TRI_ROW_WORK_FORWARD, "residual1", S, B, params->hidden_size);
    tri_sizer_row3(sizer, TRI_ROW_WORK_BACKWARD, "dx", S, B, params->hidden_size);
    for (int which = 0; which < TRI_NUM_SUBLAYERS; which++)
        tri_sizer_sublayer_children(sizer, node, which);
}

static void parallel_layer_settings(const struct tri_module_spec *node,
                                    struct tri_settings *settings)
{
    const struct tri_layer_params *params = node->params;
    tri_settings_number(settings, "size", (double)params->hidden_size);
}

const struct tri_module_row tri_spec_parallel_layer = {.name = "parallel_layer",
                                                       .describe = parallel_layer_describe,
                                                       .settings = parallel_layer_settings};
