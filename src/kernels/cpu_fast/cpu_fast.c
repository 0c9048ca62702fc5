/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of cpu_fast: what cpu_ref defines, with matrix products by BLAS (blas.c alone), own
 * vector code for everything bound by memory, and all of it on the rank's team. ce_loss and ce_entropy, a
 * logarithm for each row, are cpu_ref's own.
 */
#include "kernels/cpu_fast/blas.h"
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/scratch.h"

static const struct tri_kernels cpu_fast = {
    .name = "cpu_fast",
    .fill = tri_fast_fill,
    .copy = tri_fast_copy,
    .add = tri_fast_add,
    .scale = tri_fast_scale,
    .softcap = tri_fast_softcap,
    .bias_add = tri_fast_bias_add,
    .bias_backward = tri_fast_bias_backward,
    .dropout_add = tri_fast_dropout_add,
    .dropout_backward = tri_fast_dropout_backward,
    .activation = tri_fast_activation,
    .activation_backward = tri_fast_activation_backward,
    .gate = tri_fast_gate,
    .gate_backward = tri_fast_gate_backward,
    .layernorm = tri_fast_layernorm,
    .layernorm_backward = tri_fast_layernorm_backward,
    .rmsnorm = tri_fast_rmsnorm,
    .rmsnorm_backward = tri_fast_rmsnorm_backward,
    .rope = tri_fast_rope,
    .ce_max = tri_fast_ce_max,
    .ce_sum = tri_fast_ce_sum,
    .ce_loss = tri_ref_ce_loss,
    .ce_entropy = tri_ref_ce_entropy,
    .ce_backward = tri_fast_ce_backward,
    .gemm = tri_fast_gemm,
    .attention = tri_fast_attention,
    .attention_backward = tri_fast_attention_backward,
    .attention_sink_backward = tri_fast_attention_sink_backward,
    .embedding = tri_fast_embedding,
    .embedding_backward = tri_fast_embedding_backward,
    .sum_squares = tri_fast_sum_squares,
    .adam = tri_fast_adam,
    .find_non_finite = tri_fast_find_non_finite,
};

/* Callers that must hear of an unusable BLAS or processor ask tri_kernels_find() first. */
const struct tri_kernels *tri_kernels_cpu_fast(void)
{
    tri_blas_start(NULL);
    return &cpu_fast;
}

const struct tri_scratch_table tri_scratch_cpu_fast = {
    .name = "cpu_fast",
    .bias_backward = tri_fast_bias_backward_bytes,
    .layernorm_backward = tri_fast_layernorm_backward_bytes,
    .rmsnorm_backward = tri_fast_rmsnorm_backward_bytes,
    .gemm = tri_fast_gemm_bytes,
    .attention = tri_fast_attention_bytes,
    .attention_backward = tri_fast_attention_backward_bytes,
    .sum_squares = tri_fast_sum_squares_bytes,
};
