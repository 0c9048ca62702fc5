/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "self_attention": keeps q, gates where there are such, k, v (normed and rotated), what the norms of heads
 * read, and the context, which is linear_proj's input unless it is gated; then that is what came out. cos and sin have a row for each position that a call can
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
    int64_t G = tri_split_groups(params->num_groups, tp);
    int64_t qkv = ((params->output_gate ? 2 : 1) * H + 2 * G) * D;
    tri_sizer_row3(sizer, TRI_ROW_SAVED_INPUT, "qkv", s, B, qkv);
    tri_sizer_row3(sizer, params->output_gate ? TRI_ROW_SAVED_INPUT : TRI_ROW_SAVED_WEIGHT,
                   "context", s, B, H * D);
    if (params->output_gate)
        tri_sizer_row3(sizer, TRI_ROW_SAVED_WEIGHT, "gated", s, B, H * D);
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

/* What the kind of turning reads, and nothing else. */
static void self_attention_rope(const struct tri_rope_spec *rope, struct tri_settings *settings)
{
    static const char *const sections[] = {"time", "height", "width"};
    tri_settings_number(settings, "turning", (double)rope->width);
    tri_settings_number(settings, "base", rope->base);
    if (rope->kind != TRI_ROPE_PLAIN)
        tri_settings_number(settings, "factor", rope->factor);
    if (rope->kind != TRI_ROPE_PLAIN && rope->kind != TRI_ROPE_LINEAR)
        tri_settings_number(settings, "original_positions", (double)rope->original_positions);
    if (rope->kind == TRI_ROPE_LLAMA3) {
        tri_settings_number(settings, "low_freq_factor", rope->low_freq_factor);
        tri_settings_number(settings, "high_freq_factor", rope->high_freq_factor);
    }
    if (rope->kind == TRI_ROPE_YARN) {
        tri_settings_number(settings, "beta_fast", rope->beta_fast);
        tri_settings_number(settings, "beta_slow", rope->beta_slow);
        tri_settings_flag(settings, "whole_pairs", rope->truncate);
        tri_settings_number(settings, "attention_factor", tri_rope_attention_factor(rope));
    }
    tri_settings_flag(settings, "interleaved", rope->interleaved);
    for (int i = 0; i < 3 && rope->sections[0] + rope->sections[1] + rope->sections[2] > 0; i++)
        tri_settings_number(settings, sections[i], (double)rope->sections[i]);
}

static void self_attention_settings(const struct tri_module_spec *node,
                                    struct tri_settings *settings)
{
    const struct tri_self_attention_params *params = node->params;
    const struct tri_rope_spec *rope = &params->rope;
    static const char *const kinds[] = {[TRI_ROPE_PLAIN] = "plain",
                                        [TRI_ROPE_LINEAR] = "linear",
                                        [TRI_ROPE_DYNAMIC] = "dynamic",
                                        [TRI_ROPE_LLAMA3] = "llama3",
                                        [TRI_ROPE_YARN] = "yarn"};
    tri_settings_word(settings, "rope", rope->width > 0 ? kinds[rope->kind] : "none");
    if (rope->width > 0)
        self_attention_rope(rope, settings);
    tri_settings_flag(settings, "output_gate", params->output_gate);
}

const struct tri_module_row tri_spec_self_attention = {.name = "self_attention",
                                                       .describe = self_attention_describe,
                                                       .settings = self_attention_settings};
