/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "transformer_layer". It keeps both norms' outputs (inputs of the column-parallel linears) and the
 * middle of the residual stream; the layer's own input is kept by the slice. The gradients of both
 * sub-layers' outputs are the dout of linear_proj and linear_fc2, so they are GRAD rows.
 */
#include "spec/describe.h"

static const struct {
    enum tri_row_class row_class;
    const char *name;
} layer_rows[] = {
    {TRI_ROW_SAVED_WEIGHT, "normed1"},   {TRI_ROW_WORK_FORWARD, "attention_out"},
    {TRI_ROW_SAVED_INPUT, "residual1"},  {TRI_ROW_SAVED_WEIGHT, "normed2"},
    {TRI_ROW_WORK_FORWARD, "mlp_out"},   {TRI_ROW_GRAD, "dmlp_out"},
    {TRI_ROW_WORK_BACKWARD, "dnormed2"}, {TRI_ROW_WORK_BACKWARD, "dresidual1"},
    {TRI_ROW_GRAD, "dattention_out"},    {TRI_ROW_WORK_BACKWARD, "dnormed1"},
};

static void transformer_layer_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_layer_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t S = tri_sizer_local_positions(input);
    for (size_t i = 0; i < sizeof(layer_rows) / sizeof(layer_rows[0]); i++)
        tri_sizer_row3(sizer, layer_rows[i].row_class, layer_rows[i].name, S,
                       input->micro_batch_size, params->hidden_size);
    tri_sizer_child(sizer, node, "input_layernorm");
    tri_sizer_child(sizer, node, "self_attention");
    tri_sizer_child(sizer, node, "self_attn_bda");
    tri_sizer_child(sizer, node, "pre_mlp_layernorm");
    tri_sizer_child(sizer, node, "mlp");
    tri_sizer_child(sizer, node, "mlp_bda");
}

const struct tri_module_row tri_spec_transformer_layer = {"transformer_layer",
                                                          transformer_layer_describe};
