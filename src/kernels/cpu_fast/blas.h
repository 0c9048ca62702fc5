/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one door to BLAS. It always runs on the calling thread: OpenBLAS is set to one thread once,
 * and a build of it that cannot be used from our own threads is refused by name.
 */
#pragma once

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

/* Sets BLAS to one thread. Fails with UNSUPPORTED for OpenBLAS's OpenMP build. */
tri_status tri_blas_start(tri_error *err);
/* "OpenBLAS 0.3.21 ... Zen ...": version and the processor its code was chosen for. */
const char *tri_blas_version(void);

struct tri_blas_matrix {
    const float *data;
    int64_t stride; /* between rows */
    bool transpose;
};

/* c[M, N] (rows c_stride apart) = alpha op(a) op(b) + beta c, the sum over K. */
void tri_blas_sgemm(float *c, int64_t c_stride, struct tri_blas_matrix a, struct tri_blas_matrix b,
                    int64_t M, int64_t N, int64_t K, float alpha, float beta);
