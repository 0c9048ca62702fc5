/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "embedding": the word table cut by vocabulary rows, and the table of learned positions. Under
 * sequence parallelism the partial rows are reduce-scattered and positions are added to the local part,
 * so each rank has the gradients of its own positions only.
 */
#include "spec/describe.h"

static void embedding_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_embedding_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    int64_t tp = input->split.tp, s = input->seq_length, B = input->micro_batch_size;
    int64_t h = params->hidden_size;
    bool sequence_parallel = input->split.sp > 1;
    if (sequence_parallel || params->num_positions > 0) /* the positions' rows lie there too */
        tri_sizer_row3(sizer, TRI_ROW_WORK_FORWARD, "full", s, B, h);
    if (sequence_parallel || params->dropout > 0 || params->factor != 1) /* dout behind its mask */
        tri_sizer_row3(sizer, TRI_ROW_WORK_BACKWARD, "dgathered", s, B, h);
    int64_t padded = tri_vocab_padded(params->vocab_size, params->divisible_by, tp);
    struct tri_param_spec words = {
        .name = "embedding.word_embeddings.weight",
        .num_dims = 2,
        .dims = {params->vocab_size, h},
        .padded_rows = padded,
        .cut_dim = 0,
        .weight_decay = true,
    };
    tri_sizer_init_linear(&words, &params->init);
    tri_sizer_param(sizer, &words);
    struct tri_param_spec positions = {
        .name = "embedding.position_embeddings.weight",
        .num_dims = 2,
        .dims = {params->num_positions, h},
        .cut_dim = -1,
        .weight_decay = true,
        .sum_axes = sequence_parallel ? TRI_AXES(TRI_AXIS_TP) : TRI_AXES_NONE,
    };
    tri_sizer_init_linear(&positions, &params->init);
    if (params->num_positions > 0)
        tri_sizer_param(sizer, &positions);
    /* without sequence parallelism the all-reduce is in forward and nothing in backward; with it, a
       reduce-scatter and an all-gather: as many bytes in training, half in forward alone */
    double exchange = tri_sizer_exchange_bytes(input, (double)s * (double)B * (double)h);
    tri_sizer_tp_bytes(sizer, sequence_parallel && input->forward_only ? exchange : 2 * exchange);
}

static void embedding_settings(const struct tri_module_spec *node, struct tri_settings *settings)
{
    const struct tri_embedding_params *params = node->params;
    tri_settings_number(settings, "tokens", (double)params->vocab_size);
    tri_settings_number(settings, "size", (double)params->hidden_size);
    tri_settings_unless(settings, "positions", (double)params->num_positions, 0);
    tri_settings_unless(settings, "factor", params->factor, 1);
    tri_settings_unless(settings, "dropout", params->dropout, 0);
    tri_settings_init(settings, &params->init);
}

const struct tri_module_row tri_spec_embedding = {
    .name = "embedding", .describe = embedding_describe, .settings = embedding_settings};
