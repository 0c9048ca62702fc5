/* SPDX-License-Identifier: Apache-2.0 */
/* The table of cpu_ref. It needs no workspace for anything. */
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/scratch.h"

static const struct tri_kernels cpu_ref = {
    .name = "cpu_ref",
    .fill = tri_ref_fill,
    .copy = tri_ref_copy,
    .add = tri_ref_add,
    .scale = tri_ref_scale,
    .softcap = tri_ref_softcap,
    .bias_add = tri_ref_bias_add,
    .bias_backward = tri_ref_bias_backward,
    .dropout_add = tri_ref_dropout_add,
    .dropout_backward = tri_ref_dropout_backward,
    .activation = tri_ref_activation,
    .activation_backward = tri_ref_activation_backward,
    .gate = tri_ref_gate,
    .gate_backward = tri_ref_gate_backward,
    .layernorm = tri_ref_layernorm,
    .layernorm_backward = tri_ref_layernorm_backward,
    .rmsnorm = tri_ref_rmsnorm,
    .rmsnorm_backward = tri_ref_rmsnorm_backward,
    .rope = tri_ref_rope,
    .ce_max = tri_ref_ce_max,
    .ce_sum = tri_ref_ce_sum,
    .ce_loss = tri_ref_ce_loss,
    .ce_entropy = tri_ref_ce_entropy,
    .ce_backward = tri_ref_ce_backward,
    .gemm = tri_ref_gemm,
    .attention = tri_ref_attention,
    .attention_backward = tri_ref_attention_backward,
    .attention_sink_backward = tri_ref_attention_sink_backward,
    .embedding = tri_ref_embedding,
    .embedding_backward = tri_ref_embedding_backward,
    .sum_squares = tri_ref_sum_squares,
    .adam = tri_ref_adam,
    .find_non_finite = tri_ref_find_non_finite,
};

const struct tri_kernels *tri_kernels_cpu_ref(void)
{
    return &cpu_ref;
}

static size_t rows_none(int64_t R, int64_t C, int team_size)
{
    (void)R;
    (void)C;
    (void)team_size;
    return 0;
}

static size_t gemm_none(int64_t M, int64_t N, int64_t K, int team_size)
{
    (void)M;
    (void)N;
    (void)K;
    (void)team_size;
    return 0;
}

static size_t attention_none(int64_t S_q, int64_t S_k, int64_t B, int64_t H, int64_t G, int64_t D,
                             int team_size)
{
    (void)S_q;
    (void)S_k;
    (void)B;
    (void)H;
    (void)G;
    (void)D;
    (void)team_size;
    return 0;
}

static size_t elements_none(int64_t n, int team_size)
{
    (void)n;
    (void)team_size;
    return 0;
}

const struct tri_scratch_table tri_scratch_cpu_ref = {
    .name = "cpu_ref",
    .bias_backward = rows_none,
    .layernorm_backward = rows_none,
    .rmsnorm_backward = rows_none,
    .gemm = gemm_none,
    .attention = attention_none,
    .attention_backward = attention_none,
    .sum_squares = elements_none,
};
