/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module "column_linear": the output rows are cut over tp part by part. Under sequence parallelism x is
 * gathered along s before the product, again for the weight half of backward, and the full dx is
 * reduce-scattered; else dx is all-reduced.
 */
#include "shape/mup.h"
#include "spec/describe.h"
#include "spec/split.h"

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void column_linear_params(struct tri_sizer *sizer,
                                 const struct tri_column_linear_params *params, int64_t padded)
{
    bool shared = tri_sizer_input(sizer)->shared_head;
    int64_t tp = tri_sizer_input(sizer)->split.tp;
    if (params->tied && shared)
        return; /* the embedding's parameter, which is in the same slice */
    struct tri_param_spec weight = {
        .name = params->tied ? "embedding.word_embeddings.weight" : "weight",
        .num_dims = 2,
        .dims = {params->out, params->in},
        .padded_rows = padded,
        .cut_dim = 0,
        .weight_decay = true,
        .lr_divisor = params->vocabulary ? 1 : tri_mup_width(tri_sizer_input(sizer)->shape),
        .tied_copy = params->tied,
    };
    tri_sizer_init_linear(&weight, &params->init);
    int64_t first = 0;
    for (int i = 0; i < params->num_parts && !params->vocabulary; i++) {
        const struct tri_linear_part *part = &params->parts[i];
        weight.parts[i] =
            (struct tri_param_part){.name = part->name,
                                    .first = first,
                                    .rows = part->rows,
                                    .copies = tri_split_copies(part->rows / part->unit, tp),
                                    .unit = part->unit};
        first += params->parts[i].rows;
        weight.num_parts = i + 1;
    }
    tri_sizer_param(sizer, &weight);
    if (!params->bias)
        return;
    struct tri_param_spec bias = weight;
    bias.name = "bias";
    bias.num_dims = 1;
    bias.init = TRI_INIT_ZERO;
    bias.init_std = 0;
    bias.lr_divisor = 1;
    bias.weight_decay = false;
    tri_sizer_param(sizer, &bias);
}

/* Output rows of one rank. */
static int64_t column_linear_out(const struct tri_column_linear_params *params, int64_t padded,
                                 int64_t tp)
{
    int64_t out = 0;
    for (int i = 0; i < params->num_parts; i++) {
        const struct tri_linear_part *part = &params->parts[i];
        out += part->rows * tri_split_copies(part->rows / part->unit, tp) / tp;
    }
    return params->vocabulary ? padded / tp : out;
}

static void column_linear_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    const struct tri_column_linear_params *params = node->params;
    const struct tri_sizing_input *input = tri_sizer_input(sizer);
    const struct tri_scratch_table *scratch = tri_sizer_scratch(sizer, node);
    int64_t s = input->seq_length, B = input->micro_batch_size, R = s * B;
    int64_t tp = input->split.tp, in = params->in;
    int64_t padded =
        params->vocabulary ? tri_vocab_padded(params->out, params->divisible_by, tp) : params->out;
    int64_t out = column_linear_out(params, padded, tp);
    int team = input->team_size;
    bool sequence_parallel = input->split.sp > 1;
    if (sequence_parallel) {
        tri_sizer_row3(sizer, TRI_ROW_WORK_FORWARD, "gathered", s, B, in);
        tri_sizer_row3(sizer, TRI_ROW_WORK_BACKWARD, "gathered_back", s, B, in);
        tri_sizer_row3(sizer, TRI_ROW_WORK_BACKWARD, "dgathered", s, B, in);
    }
    tri_sizer_scratch_row(sizer, TRI_ROW_WORK_FORWARD, "workspace",
                          scratch->gemm(R, out, in, team));
    size_t products = larger(scratch->gemm(R, in, out, team), scratch->gemm(out, in, R, team));
    tri_sizer_scratch_row(sizer, TRI_ROW_WORK_BACKWARD, "workspace_back",
                          larger(products, scratch->bias_backward(R, out, team)));
    column_linear_params(sizer, params, padded);
    tri_sizer_flops(sizer, 2.0 * (double)R * (double)out * (double)in);
    double exchange = tri_sizer_exchange_bytes(input, (double)R * (double)in);
    double backward = input->forward_only ? 0 : 2 * exchange;
    tri_sizer_tp_bytes(sizer, (sequence_parallel ? exchange : 0) + backward);
}

static void column_linear_settings(const struct tri_module_spec *node,
                                   struct tri_settings *settings)
{
    const struct tri_column_linear_params *params = node->params;
    tri_settings_linear(settings, params->in, params->out, params->bias, &params->init);
    for (int i = 0; i < params->num_parts && params->num_parts > 1; i++)
        tri_settings_number(settings, params->parts[i].name, (double)params->parts[i].rows);
    tri_settings_flag(settings, "tied", params->tied);
}

const struct tri_module_row tri_spec_column_linear = {.name = "column_linear",
                                                      .describe = column_linear_describe,
                                                      .settings = column_linear_settings};
