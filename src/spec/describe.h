/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files spec/x.c share: the rows of the module registry, and short forms of the recorder.
 * Letters: S = s / sp positions of this rank outside tensor-parallel regions, s all positions inside
 * them, B rows of the microbatch.
 */
#pragma once

#include "spec/module_list.h"
#include "spec/modules.h"
#include "spec/settings.h"
#include "spec/sizing.h"

#define TRI_MODULE_ROW(name) extern const struct tri_module_row tri_spec_##name;
TRI_MODULES(TRI_MODULE_ROW)
#undef TRI_MODULE_ROW

/* An fp32 row [d0, d1, d2] or [d0, d1]. */
static inline void tri_sizer_row3(struct tri_sizer *sizer, enum tri_row_class row_class,
                                  const char *name, int64_t d0, int64_t d1, int64_t d2)
{
    tri_sizer_row(sizer, row_class, name, TRI_DTYPE_F32, 3, (const int64_t[]){d0, d1, d2});
}
static inline void tri_sizer_row2(struct tri_sizer *sizer, enum tri_row_class row_class,
                                  const char *name, int64_t d0, int64_t d1)
{
    tri_sizer_row(sizer, row_class, name, TRI_DTYPE_F32, 2, (const int64_t[]){d0, d1});
}

/* S, the positions that this rank holds outside tensor-parallel regions. */
static inline int64_t tri_sizer_local_positions(const struct tri_sizing_input *input)
{
    return input->seq_length / input->split.sp;
}

/* Bytes this rank sends over tp when an all-gather or a reduce-scatter makes or takes elements fp32
   numbers; an all-reduce is one of each. */
static inline double tri_sizer_exchange_bytes(const struct tri_sizing_input *input, double elements)
{
    double tp = (double)input->split.tp;
    return (tp - 1.0) / tp * 4.0 * elements;
}

/* What a norm sees of each rank: [S, B, C], where a norm of heads counts them with the batch rows. */
void tri_sizer_norm_rows(const struct tri_sizing_input *input, const struct tri_norm_params *params,
                         int64_t *S, int64_t *B);
/* Fills the initial values of a [out, in] weight. */
void tri_sizer_init_linear(struct tri_param_spec *spec, const struct tri_linear_init *init);

/* A norm's weight (unless it has none) and bias (if params says so), and the work rows of what it multiplies
   by where that is not the weight itself. */
void tri_sizer_norm_weight(struct tri_sizer *sizer, const struct tri_norm_params *params,
                           bool has_weight);
