/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up backend whose scratch is easy to recognise, and inputs of the sizing for the tests. */
#pragma once

#include "spec/model_spec.h"
#include "t1-shapes.h"

static inline size_t fake_rows(int64_t R, int64_t C, int team_size)
{
    return (size_t)(R + 3 * C + team_size);
}
static inline size_t fake_gemm(int64_t M, int64_t N, int64_t K, int team_size)
{
    return (size_t)(2 * M + 3 * N + 5 * K + team_size);
}
static inline size_t fake_attention(int64_t S_q, int64_t S_k, int64_t B, int64_t H, int64_t G,
                                    int64_t D, int team_size)
{
    return (size_t)(S_q + 2 * S_k + B + H + G + D + team_size);
}
static inline size_t fake_attention_backward(int64_t S_q, int64_t S_k, int64_t B, int64_t H,
                                             int64_t G, int64_t D, int team_size)
{
    return 2 * fake_attention(S_q, S_k, B, H, G, D, team_size);
}
static inline size_t fake_count(int64_t n, int team_size)
{
    return (size_t)(n + team_size);
}
static const struct tri_scratch_table fake_scratch = {
    .name = "fake",
    .bias_backward = fake_rows,
    .layernorm_backward = fake_rows,
    .rmsnorm_backward = fake_rows,
    .gemm = fake_gemm,
    .attention = fake_attention,
    .attention_backward = fake_attention_backward,
    .sum_squares = fake_count,
};

static inline struct tri_sizing_input sizing_input(const struct tri_model_spec *spec, int64_t tp,
                                                   bool sequence_parallel)
{
    return (struct tri_sizing_input){
        .shape = &spec->shape,
        .split = {.tp = tp, .sp = sequence_parallel ? tp : 1, .cp = 1, .ep = 1, .etp = 1},
        .micro_batch_size = 3,
        .seq_length = 24,
        .team_size = 2,
        .shared_head = true,
        .scratch = {{"fused", &fake_scratch}, {"plain", &fake_scratch}},
        .num_scratch = 2,
    };
}

static inline struct tri_model_spec *spec_of(const struct tri_gpt_config *shape)
{
    struct tri_model_spec *spec = NULL;
    tri_error *err = tri_error_create();
    if (tri_model_spec_create(shape, NULL, err, &spec) != TRI_OK)
        fprintf(stderr, "%s\n", tri_error_message(err, 0));
    tri_error_destroy(&err);
    return spec;
}
