/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "self_attention": keeps q, k, v (normed and rotated), what the norms of heads read, and the
 * context, which is linear_proj's input. cos and sin have a row for each position that a call can
 * reach.
 */
#include "spec/describe.h"
#include "spec/split.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void self_attention_tables(struct tri_sizer *sizer,
                                  const struct tri_self_attention_params *params)
{
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t reach = larger(input->seq_length, input->cache_length);
    int64_t rows = reach < params->max_positions ? reach : params->max_positions;
    tri_sizer_row2(sizer, TRI_ROW_RUN, "cos", rows, params->rope.width / 2);
    tri_sizer_row2(sizer, TRI_ROW_RUN, "sin", rows, params->rope.width / 2);
}

static void self_attention_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_self_attention_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t s = input->seq_length, B = input->micro_batch_size, tp = input->split.tp;
    int64_t D = params->head_width, H = params->num_heads / tp;
    int64_t G = tri_split_groups(params->num_groups, tp), qkv = (H + 2 * G) * D;
    tri_sizer_row3(sizer, TRI_ROW_SAVED_INPUT, "qkv", s, B, qkv);
    tri_sizer_row3(sizer, TRI_ROW_SAVED_WEIGHT, "context", s, B, H * D);
    tri_sizer_row3(sizer, TRI_ROW_GRAD, "dqkv", s, B, qkv);
    tri_sizer_row3(sizer, TRI_ROW_WORK_BACKWARD, "dcontext", s, B, H * D);
    if (params->rope.width > 0)
        self_attention_tables(sizer, params);
    if (params->head_norms) {
        tri_sizer_row3(sizer, TRI_ROW_SAVED_INPUT, "raw_query", s, B * H, D);
        tri_sizer_row3(sizer, TRI_ROW_SAVED_INPUT, "raw_key", s, B * G, D);
        tri_sizer_row3(sizer, TRI_ROW_WORK_FORWARD, "normed", s, B * H, D);
        tri_sizer_row3(sizer, TRI_ROW_WORK_BACKWARD, "dnormed", s, B * H, D);
    }
    tri_sizer_child(sizer, node, "linear_qkv");
    if (params->head_norms) {
        tri_sizer_child(sizer, node, "q_layernorm");
        tri_sizer_child(sizer, node, "k_layernorm");
    }
    tri_sizer_child(sizer, node, "core_attention");
    tri_sizer_child(sizer, node, "linear_proj");
}

const struct tri_module_row tri_spec_self_attention = {"self_attention", self_attention_describe};
