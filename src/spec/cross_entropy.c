/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "cross_entropy": keeps each position's maximum and sum of exponentials; the probabilities are made
 * again from the logits. Three all-reduces of [s, B]: maximum, sum, the target's logit. Entropies, where
 * they are asked for, pass through the row of the loss and need none of their own.
 */
#include "spec/describe.h"

static void cross_entropy_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    (void)node;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t s = input->seq_length, B = input->micro_batch_size;
    tri_sizer_row2(sizer, TRI_ROW_SAVED_INPUT, "row_max", s, B);
    tri_sizer_row2(sizer, TRI_ROW_SAVED_INPUT, "row_sum", s, B);
    tri_sizer_row2(sizer, TRI_ROW_WORK_FORWARD, "target", s, B);
    tri_sizer_row2(sizer, TRI_ROW_WORK_FORWARD, "loss", s, B);
    tri_sizer_tp_bytes(sizer, 6 * tri_sizer_exchange_bytes(input, (double)s * (double)B));
}

static void cross_entropy_settings(const struct tri_module_spec *node,
                                   struct tri_settings *settings)
{
    const struct tri_cross_entropy_params *params = node->params;
    tri_settings_number(settings, "tokens", (double)params->vocab_size);
}

const struct tri_module_row tri_spec_cross_entropy = {.name = "cross_entropy",
                                                      .describe = cross_entropy_describe,
                                                      .settings = cross_entropy_settings};
