/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "transformer_layer". Besides what its halves keep it keeps the middle of the residual stream, which
 * the norm before the MLP (or, where there is none, the MLP's first linear) reads again; the layer's own input
 * is kept by the slice. A layer with one half has no middle.
 */
#include "spec/describe.h"
#include "spec/sublayer.h"

static void transformer_layer_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_layer_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t S = tri_sizer_local_positions(input), B = input->micro_batch_size;
    bool has_middle = tri_sublayer_exists(node, TRI_SUBLAYER_ATTENTION) &&
                      tri_sublayer_exists(node, TRI_SUBLAYER_MLP);
    bool has_norm = tri_module_spec_child(node, tri_sublayer_names[TRI_SUBLAYER_MLP].norm) != NULL;
    for (int which = 0; which < TRI_NUM_SUBLAYERS; which++)
        tri_sizer_sublayer_rows(sizer, node, which, params->hidden_size);
    if (has_middle) {
        tri_sizer_row3(sizer, has_norm ? TRI_ROW_SAVED_INPUT : TRI_ROW_SAVED_WEIGHT, "residual1", S,
                       B, params->hidden_size);
        tri_sizer_row3(sizer, TRI_ROW_WORK_BACKWARD, "dresidual1", S, B, params->hidden_size);
    }
    for (int which = 0; which < TRI_NUM_SUBLAYERS; which++)
        tri_sizer_sublayer_children(sizer, node, which);
}

static void transformer_layer_settings(const struct tri_module_spec *node,
                                       struct tri_settings *settings)
{
    const struct tri_layer_params *params = node->params;
    tri_settings_number(settings, "size", (double)params->hidden_size);
}

const struct tri_module_row tri_spec_transformer_layer = {.name = "transformer_layer",
                                                          .describe = transformer_layer_describe,
                                                          .settings = transformer_layer_settings};
