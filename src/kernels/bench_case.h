/* SPDX-License-Identifier: Apache-2.0 */
/* One row of the kernel benchmark: how to size it, run it, and count its work. */
#pragma once

#include "kernels/kernels.h"

#define BENCH_DIMS    6
#define BENCH_BUFFERS 9

/* One instance of a case at given dims: its buffers, filled at random, and ids below limit. */
struct bench_run {
    const int64_t *d;
    float *buffer[BENCH_BUFFERS];
    int32_t *ids;
    int64_t *samples;
    void *workspace;
    struct tri_queue *queue;
};

struct bench_case {
    const char *name;
    const char *letters; /* of the dims, for the shape column: "MNK" */
    int64_t full[BENCH_DIMS], check[BENCH_DIMS];
    /* Floats of each buffer; 0: none. */
    void (*sizes)(const int64_t *d, int64_t *size);
    void (*run)(const struct tri_kernels *k, struct bench_run *r);
    size_t (*scratch)(const struct tri_scratch_table *s, const int64_t *d, int team_size);
    unsigned outputs; /* bit i: buffer i is compared with cpu_ref's */
    int64_t num_ids,
        limit; /* dims whose product is the number of ids (bit mask), dim of the limit */
    /* Work: floating-point operations, or bytes that must move; the other is 0. */
    double (*flops)(const int64_t *d);
    double (*bytes)(const int64_t *d);
};

extern const struct bench_case tri_bench_cases[];
extern const int tri_bench_num_cases;
