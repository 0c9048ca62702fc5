/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that calls BLAS. */
#include "kernels/cpu_fast/blas.h"

#include <cblas.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

/* What openblas_get_parallel() returns for a build on OpenMP. */
#define BLAS_OPENMP 2

tri_status tri_blas_start(tri_error *err)
{
    TRI_CHECK(
        openblas_get_parallel() != BLAS_OPENMP, err, TRI_UNSUPPORTED,
        "backend 'cpu_fast' cannot use OpenBLAS's OpenMP build ('%s'): its threads get in the "
        "way of trine's own; install the pthread build (libopenblas0-pthread) or use cpu_ref",
        openblas_get_config());
    if (openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
    return TRI_OK;
}

static char blas_version[256];

static void blas_version_read(void)
{
    snprintf(blas_version, sizeof(blas_version), "%s", openblas_get_config());
}

/* OpenBLAS builds the text anew in one buffer at each call: of ranks that are threads one may ask. */
const char *tri_blas_version(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, blas_version_read);
    return blas_version;
}

static blasint blas_int(int64_t value)
{
    TRI_ASSERT(value >= 0 && value <= INT_MAX);
    return (blasint)value;
}

/* A stride that BLAS accepts even when there is one row only. */
static blasint blas_stride(int64_t stride, int64_t columns)
{
    int64_t least = columns > 0 ? columns : 1;
    return blas_int(stride > least ? stride : least);
}

void tri_blas_sgemm(float *c, int64_t c_stride, struct tri_blas_matrix a, struct tri_blas_matrix b,
                    int64_t M, int64_t N, int64_t K, float alpha, float beta)
{
    cblas_sgemm(CblasRowMajor, a.transpose ? CblasTrans : CblasNoTrans,
                b.transpose ? CblasTrans : CblasNoTrans, blas_int(M), blas_int(N), blas_int(K),
                alpha, a.data, blas_stride(a.stride, a.transpose ? M : K), b.data,
                blas_stride(b.stride, b.transpose ? K : N), beta, c, blas_stride(c_stride, N));
}
