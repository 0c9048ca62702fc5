/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "dot_product_attention": keeps the log-sum-exp of each query's scores, never the scores. With a
 * key-value cache its rows live the whole run. Causal attention counts at half of the full square.
 */
#include "spec/describe.h"

static void dot_product_attention_describe(struct tri_sizer *sizer,
                                           const struct tri_module_spec *node)
{
    const struct tri_attention_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    const struct tri_scratch_table *scratch = tri_sizer_scratch(sizer, node);
    int64_t s = input->seq_length, B = input->micro_batch_size, tp = input->split.tp;
    int64_t H = params->num_heads / tp, G = params->num_groups / tp, D = params->head_width;
    int64_t keys = input->cache_length > s ? input->cache_length : s;
    int team = input->team_size;
    tri_sizer_row3(sizer, TRI_ROW_SAVED_INPUT, "lse", B, H, s);
    tri_sizer_scratch_row(sizer, TRI_ROW_WORK_FORWARD, "workspace",
                          scratch->attention(s, keys, B, H, G, D, team));
    tri_sizer_scratch_row(sizer, TRI_ROW_WORK_BACKWARD, "workspace_back",
                          scratch->attention_backward(s, s, B, H, G, D, team));
    if (input->cache_length > 0) {
        const int64_t dims[] = {input->cache_length, B, G, D};
        tri_sizer_row(sizer, TRI_ROW_RUN, "key_cache", TRI_DTYPE_F32, 4, dims);
        tri_sizer_row(sizer, TRI_ROW_RUN, "value_cache", TRI_DTYPE_F32, 4, dims);
    }
    double square = (double)s * (double)s * (double)B * (double)H * (double)D;
    tri_sizer_flops(sizer, 2.0 * square); /* two products of 2 flops, half of the square */
}

const struct tri_module_row tri_spec_dot_product_attention = {"dot_product_attention",
                                                              dot_product_attention_describe};
