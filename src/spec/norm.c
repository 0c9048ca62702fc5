/* SPDX-License-Identifier: Apache-2.0 */
/* What the norms' descriptions share: their parameters, and the row where 1 + weight is formed. */
#include "spec/describe.h"
#include "spec/split.h"

void tri_sizer_norm_rows(const struct tri_sizing_input *input, const struct tri_norm_params *params,
                         int64_t *S, int64_t *B)
{
    *S = params->heads > 0 ? input->seq_length : tri_sizer_local_positions(input);
    *B = input->micro_batch_size;
    if (params->heads > 0)
        *B *= tri_split_groups(params->heads, input->split.tp);
}

void tri_sizer_norm_weight(struct tri_sizer *sizer, const struct tri_norm_params *params,
                           bool has_weight)
{
    if (params->zero_centered || !has_weight) {
        tri_sizer_row(sizer, TRI_ROW_WORK_FORWARD, "factor", TRI_DTYPE_F32, 1, &params->size);
        tri_sizer_row(sizer, TRI_ROW_WORK_BACKWARD, "factor_back", TRI_DTYPE_F32, 1, &params->size);
    }
    if (!has_weight)
        return;
    struct tri_param_spec norm = {
        .name = "weight",
        .num_dims = 1,
        .dims = {params->size},
        .cut_dim = -1,
        .init = params->zero_centered ? TRI_INIT_ZERO : TRI_INIT_ONE,
    };
    const struct tri_split *split = &tri_sizer_input(sizer)->split;
    if (split->sp > 1 || (params->heads > 0 && split->tp > 1))
        norm.sum_axes = TRI_AXES(TRI_AXIS_TP);
    tri_sizer_param(sizer, &norm);
    if (!params->bias)
        return;
    norm.name = "bias";
    norm.init = TRI_INIT_ZERO;
    tri_sizer_param(sizer, &norm);
}
