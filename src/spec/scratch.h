/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of workspace that an operation of a kernel backend needs, as pure functions of shapes and
 * team size. spec/ declares the table, each backend in kernels/ fills one, and the planner and the
 * builder call the same functions, so that the plan and the run cannot disagree. Letters as in
 * kernels/kernels.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct tri_scratch_table {
    const char *name; /* of the backend */
    size_t (*bias_backward)(int64_t R, int64_t C, int team_size);
    size_t (*layernorm_backward)(int64_t R, int64_t C, int team_size);
    size_t (*rmsnorm_backward)(int64_t R, int64_t C, int team_size);
    /* c[M, N] from a contraction over K */
    size_t (*gemm)(int64_t M, int64_t N, int64_t K, int team_size);
    size_t (*attention)(int64_t S_q, int64_t S_k, int64_t B, int64_t H, int64_t G, int64_t D,
                        int team_size);
    size_t (*attention_backward)(int64_t S_q, int64_t S_k, int64_t B, int64_t H, int64_t G,
                                 int64_t D, int team_size);
    size_t (*sum_squares)(int64_t n, int team_size);
};
