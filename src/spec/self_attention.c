/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "self_attention": keeps q, k, v (rotated) and the context, which is linear_proj's input. cos and
 * sin have one row per position.
 */
#include "spec/describe.h"

static void self_attention_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_self_attention_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t s = input->seq_length, B = input->micro_batch_size, tp = input->split.tp;
    int64_t context = params->num_heads / tp * params->head_width;
    int64_t qkv = (params->num_heads + 2 * params->num_groups) / tp * params->head_width;
    tri_sizer_row3(sizer, TRI_ROW_SAVED_INPUT, "qkv", s, B, qkv);
    tri_sizer_row3(sizer, TRI_ROW_SAVED_WEIGHT, "context", s, B, context);
    tri_sizer_row3(sizer, TRI_ROW_GRAD, "dqkv", s, B, qkv);
    tri_sizer_row3(sizer, TRI_ROW_WORK_BACKWARD, "dcontext", s, B, context);
    if (params->rotary_width > 0) {
        int64_t pairs = params->rotary_width / 2;
        tri_sizer_row2(sizer, TRI_ROW_RUN, "cos", params->max_positions, pairs);
        tri_sizer_row2(sizer, TRI_ROW_RUN, "sin", params->max_positions, pairs);
    }
    tri_sizer_child(sizer, node, "linear_qkv");
    tri_sizer_child(sizer, node, "core_attention");
    tri_sizer_child(sizer, node, "linear_proj");
}

const struct tri_module_row tri_spec_self_attention = {"self_attention", self_attention_describe};
