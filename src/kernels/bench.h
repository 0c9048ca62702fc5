/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark of a kernel backend: every operation is first checked against cpu_ref on a small odd
 * shape, then timed on the shapes of GPT-2 124M (batch 4 x 512) and of a decoding step. Output is
 * CSV, one row per operation and shape; beside each time stand the rate and its share of what this
 * machine was just measured to reach: matrix products of the team, or bytes copied by it.
 */
#pragma once

#include "base/check.h"

#include <stdio.h>

struct tri_kernels_bench {
    const char *backend; /* "cpu_fast" */
    int team_size;
    int repeats;      /* of each timing; the median is reported between minimum and maximum */
    const char *only; /* NULL: all; else operations whose name contains it */
};

/* Writes the CSV to out. A wrong result is TRI_NUMERIC and names the operation. */
tri_status tri_kernels_bench(FILE *out, const struct tri_kernels_bench *bench, tri_error *err);
