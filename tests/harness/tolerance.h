/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of tolerances for fp32 results against a reference in double. A difference is the
 * largest absolute one over a tensor, divided by the largest absolute value of the reference. Past
 * warn it is printed, past fail the test fails.
 */
#pragma once

#include <stddef.h>
#include <string.h>

struct tri_tolerance {
    const char *what;
    double warn, fail;
};

static const struct tri_tolerance tri_tolerances[] = {
    /* what             warn    fail */
    {"exact", 0, 0},               /* copies, masks, sums of two */
    {"elementwise", 2e-7, 5e-7},   /* one or two roundings */
    {"activation", 5e-7, 2e-6},    /* polynomials of exp and erf */
    {"norm", 1e-6, 5e-6},          /* a row's statistics */
    {"column_sum", 1e-6, 1e-5},    /* sums over rows */
    {"cross_entropy", 1e-6, 5e-6}, /* sums of exp over a vocabulary */
    {"gemm", 1e-6, 1e-5},          /* sums of K <= 1000 products of mixed sign */
    {"attention", 2e-6, 1e-5},     /* scores of a few units, then exp */
    {"attention_grad", 4e-6, 3e-5},
    {"adam", 1e-6, 3e-6},
    {"norm_of_gradient", 1e-12, 1e-11}, /* fp64 all the way */
    {"finite_difference", 1e-3, 1e-2},  /* fp32 forward, step 1e-2 */
};

/* NULL when there is no such row. */
static inline const struct tri_tolerance *tri_tolerance_find(const char *what)
{
    for (size_t i = 0; i < sizeof(tri_tolerances) / sizeof(tri_tolerances[0]); i++)
        if (strcmp(tri_tolerances[i].what, what) == 0)
            return &tri_tolerances[i];
    return NULL;
}
