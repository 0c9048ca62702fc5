/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "lm_head": keeps the normed hidden states and the logits of this rank's vocabulary rows. Backward
 * turns the logits into their own gradient in place; that is output_layer's dout, so with a split backward
 * they stay until the weight half.
 */
#include "spec/describe.h"

static void lm_head_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_head_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    const struct tri_gpt_config *shape = input->shape;
    int64_t S = tri_sizer_local_positions(input), s = input->seq_length;
    int64_t B = input->micro_batch_size, tp = input->split.tp;
    int64_t vocabulary =
        tri_vocab_padded(shape->vocab_size, shape->make_vocab_size_divisible_by, tp) / tp;
    tri_sizer_row3(sizer, TRI_ROW_SAVED_WEIGHT, "normed", S, B, params->hidden_size);
    tri_sizer_row3(sizer, input->split_backward ? TRI_ROW_SAVED_WEIGHT : TRI_ROW_SAVED_INPUT,
                   "logits", s, B, vocabulary);
    tri_sizer_row3(sizer, TRI_ROW_WORK_BACKWARD, "dnormed", S, B, params->hidden_size);
    tri_sizer_child(sizer, node, "final_layernorm");
    tri_sizer_child(sizer, node, "output_layer");
    tri_sizer_child(sizer, node, "cross_entropy");
}

static void lm_head_settings(const struct tri_module_spec *node, struct tri_settings *settings)
{
    const struct tri_head_params *params = node->params;
    tri_settings_unless(settings, "factor", params->factor, 1);
    tri_settings_unless(settings, "softcap", params->softcap, 0);
}

const struct tri_module_row tri_spec_lm_head = {
    .name = "lm_head", .describe = lm_head_describe, .settings = lm_head_settings};
