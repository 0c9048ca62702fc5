/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "dot_product_attention": keeps the log-sum-exp of each query's scores, never the scores. With a
 * key-value cache its rows live the whole run. Causal attention counts at half of the full square, a window
 * at the band that it is. Learned sinks are cut over tp with the heads.
 */
#include "spec/describe.h"
#include "spec/split.h"

/* Pairs of a query and a key that it sees, in one sample. */
static double attention_pairs(int64_t s, int64_t window)
{
    double full = (double)s, seen = (double)window;
    if (window == 0 || window >= s)
        return full * full / 2;
    return seen * full - seen * seen / 2;
}

static void dot_product_attention_describe(struct tri_sizer *sizer,
                                           const struct tri_module_spec *node)
{
    const struct tri_attention_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    const struct tri_scratch_table *scratch = tri_sizer_scratch(sizer, node);
    int64_t s = input->seq_length, B = input->micro_batch_size, tp = input->split.tp;
    int64_t H = params->num_heads / tp, D = params->head_width;
    int64_t G = tri_split_groups(params->num_groups, tp);
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
    struct tri_param_spec offset = {
        .name = "softmax_offset",
        .num_dims = 1,
        .dims = {params->num_heads},
        .init = TRI_INIT_NORMAL,
        .init_std = params->init_std,
    };
    if (params->sink == TRI_SINK_LEARNED)
        tri_sizer_param(sizer, &offset);
    double pairs = attention_pairs(s, params->window);
    /* two products of 2 flops */
    tri_sizer_flops(sizer, 4.0 * pairs * (double)B * (double)H * (double)D);
}

static void dot_product_attention_settings(const struct tri_module_spec *node,
                                           struct tri_settings *settings)
{
    const struct tri_attention_params *params = node->params;
    tri_settings_number(settings, "heads", (double)params->num_heads);
    tri_settings_number(settings, "groups", (double)params->num_groups);
    tri_settings_number(settings, "head_width", (double)params->head_width);
    tri_settings_number(settings, "scale", params->scale);
    tri_settings_unless(settings, "softcap", params->softcap, 0);
    tri_settings_unless(settings, "window", (double)params->window, 0);
    if (params->sink != TRI_SINK_NONE)
        tri_settings_word(settings, "sink",
                          params->sink == TRI_SINK_LEARNED ? "learned" : "off_by_one");
    if (params->sink == TRI_SINK_LEARNED)
        tri_settings_number(settings, "init", params->init_std);
    tri_settings_unless(settings, "dropout", params->dropout, 0);
}

const struct tri_module_row tri_spec_dot_product_attention = {
    .name = "dot_product_attention",
    .describe = dot_product_attention_describe,
    .settings = dot_product_attention_settings};
