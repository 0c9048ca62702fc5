/* SPDX-License-Identifier: Apache-2.0 */
/* The backends by name: one line each, with what a machine must have to run it. */
#include "kernels/cpu_fast/blas.h"
#include "kernels/kernels.h"
#include "kernels/scratch.h"

#include <string.h>

static tri_status cpu_ref_check(tri_error *err)
{
    (void)err;
    return TRI_OK;
}

/* The vector code is compiled for x86-64-v3 where the build is for x86. */
static tri_status cpu_fast_check(tri_error *err)
{
#if defined(__x86_64__)
    TRI_CHECK(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"), err, TRI_UNSUPPORTED,
              "backend 'cpu_fast' needs a processor with AVX2 and FMA; use cpu_ref");
#endif
    return tri_blas_start(err);
}

static const struct backend {
    const char *name;
    tri_status (*check)(tri_error *err);
    const struct tri_kernels *(*table)(void);
    const struct tri_scratch_table *scratch;
} backends[] = {
    {"cpu_ref", cpu_ref_check, tri_kernels_cpu_ref, &tri_scratch_cpu_ref},
    {"cpu_fast", cpu_fast_check, tri_kernels_cpu_fast, &tri_scratch_cpu_fast},
};
#define NUM_BACKENDS ((int)(sizeof(backends) / sizeof(backends[0])))

static const struct backend *backend_find(const char *name)
{
    for (int i = 0; i < NUM_BACKENDS; i++)
        if (strcmp(name, backends[i].name) == 0)
            return &backends[i];
    return NULL;
}

const struct tri_kernels *tri_kernels_find(const char *name, tri_error *err)
{
    const struct backend *backend = backend_find(name);
    if (!backend) {
        tri_error_set(err, TRI_INVALID, "no kernel backend '%s'; use cpu_ref or cpu_fast", name);
        return NULL;
    }
    return backend->check(err) == TRI_OK ? backend->table() : NULL;
}

const struct tri_scratch_table *tri_kernels_scratch(const char *name)
{
    const struct backend *backend = backend_find(name);
    return backend ? backend->scratch : NULL;
}

const char *tri_kernels_arithmetic(void)
{
    return tri_blas_version();
}
