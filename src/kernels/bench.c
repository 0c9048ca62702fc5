/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of the kernel benchmark: measure the machine, then for each row check, time, print. */
#include "kernels/bench.h"
#include "base/cancel.h"
#include "kernels/bench_case.h"
#include "kernels/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REPEATS   101
#define CHECK_SHARE   1e-4 /* of the largest value of an output: coarse, the tests are fine */
#define PEAK_GEMM     1024 /* rows, columns and contraction of one member's product */
#define PEAK_BYTES    (64 << 20)
#define PEAK_REPEATS  7
#define RANDOM_LOWEST 0.1f

struct bench {
    const struct tri_kernels *kernels, *reference;
    const struct tri_scratch_table *scratch;
    struct tri_queue queue;
    int team_size, repeats;
    double gflops, gbytes; /* per second, measured */
};

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run_free(struct bench_run *run)
{
    for (int i = 0; i < BENCH_BUFFERS; i++)
        free(run->buffer[i]);
    free(run->ids);
    free(run->samples);
    free(run->workspace);
}

static void *run_alloc(size_t bytes)
{
    return aligned_alloc(64, (bytes + 127) / 64 * 64);
}

/* Values in [0.1, 1.1): legal for everything a buffer may stand for. The same for equal dims. */
static void run_fill(struct bench_run *run, const int64_t *size, int64_t num_ids, int64_t limit)
{
    uint32_t x = 12345;
    for (int i = 0; i < BENCH_BUFFERS; i++)
        for (int64_t e = 0; e < size[i]; e++) {
            x = x * 1664525u + 1013904223u;
            run->buffer[i][e] = (float)(x >> 8) * 0x1p-24f + RANDOM_LOWEST;
        }
    for (int64_t e = 0; e < num_ids; e++) {
        x = x * 1664525u + 1013904223u;
        run->ids[e] = (int32_t)((x >> 8) % (uint32_t)limit);
    }
}

static tri_status run_make(const struct bench *bench, const struct bench_case *c, const int64_t *d,
                           tri_error *err, struct bench_run *made)
{
    struct bench_run run = {.d = d};
    int64_t size[BENCH_BUFFERS] = {0}, num_ids = c->num_ids ? 1 : 0;
    bool is_complete = true;
    c->sizes(d, size);
    for (int i = 0; i < BENCH_DIMS; i++)
        num_ids *= c->num_ids >> i & 1 ? d[i] : 1;
    for (int i = 0; i < BENCH_BUFFERS; i++) {
        run.buffer[i] = run_alloc((size_t)size[i] * sizeof(float));
        is_complete = is_complete && run.buffer[i];
    }
    run.ids = run_alloc((size_t)num_ids * sizeof(*run.ids));
    run.samples = calloc(64, sizeof(*run.samples));
    run.workspace = run_alloc(c->scratch ? c->scratch(bench->scratch, d, bench->team_size) : 0);
    if (!is_complete || !run.ids || !run.samples || !run.workspace) {
        run_free(&run);
        return tri_error_set(err, TRI_NOMEM, "out of memory for the benchmark of '%s'", c->name);
    }
    run_fill(&run, size, num_ids, d[c->limit]);
    *made = run;
    return TRI_OK;
}

/* Largest difference of the compared buffers, as a share of the largest value. */
static double run_difference(const struct bench_case *c, const struct bench_run *a,
                             const struct bench_run *b)
{
    int64_t size[BENCH_BUFFERS] = {0};
    double worst = 0;
    c->sizes(a->d, size);
    for (int i = 0; i < BENCH_BUFFERS; i++) {
        double largest = 0, difference = 0;
        for (int64_t e = 0; c->outputs >> i & 1 && e < size[i]; e++) {
            difference = fmax(difference, fabs((double)a->buffer[i][e] - b->buffer[i][e]));
            largest = fmax(largest, fabs(b->buffer[i][e]));
            if (isnan(a->buffer[i][e]))
                return INFINITY;
        }
        worst = fmax(worst, largest > 0 ? difference / largest : difference);
    }
    return worst;
}

static tri_status bench_check(struct bench *bench, const struct bench_case *c, tri_error *err)
{
    struct bench_run got, want;
    TRI_TRY(run_make(bench, c, c->check, err, &got));
    tri_status status = run_make(bench, c, c->check, err, &want);
    if (status != TRI_OK)
        goto done;
    got.queue = want.queue = &bench->queue;
    c->run(bench->kernels, &got);
    c->run(bench->reference, &want);
    double difference = run_difference(c, &got, &want);
    if (!(difference <= CHECK_SHARE))
        status = tri_error_set(err, TRI_NUMERIC,
                               "'%s' of backend '%s' differs from cpu_ref by %.3g of its largest "
                               "value, %.0g is allowed; run the tests t2xx to see where",
                               c->name, bench->kernels->name, difference, CHECK_SHARE);
    run_free(&want);
done:
    run_free(&got);
    return status;
}

static void bench_print(FILE *out, const struct bench *bench, const struct bench_case *c,
                        const double *seconds)
{
    double median = seconds[bench->repeats / 2];
    double rate = (c->flops ? c->flops(c->full) : c->bytes(c->full)) / median * 1e-9;
    fprintf(out, "%s,", c->name);
    for (size_t i = 0; i < strlen(c->letters); i++)
        fprintf(out, "%s%c%lld", i ? " " : "", c->letters[i], (long long)c->full[i]);
    fprintf(out, ",%.6g,%.6g,%.6g,%.1f,%s,%.3f\n", seconds[0], median, seconds[bench->repeats - 1],
            rate, c->flops ? "GFLOP/s" : "GB/s", rate / (c->flops ? bench->gflops : bench->gbytes));
    fflush(out);
}

static tri_status bench_time(FILE *out, struct bench *bench, const struct bench_case *c,
                             tri_error *err)
{
    struct bench_run run;
    double seconds[MAX_REPEATS];
    TRI_TRY(run_make(bench, c, c->full, err, &run));
    run.queue = &bench->queue;
    c->run(bench->kernels, &run); /* touches the pages */
    for (int i = 0; i < bench->repeats; i++) {
        double start = tri_clock_seconds();
        c->run(bench->kernels, &run);
        seconds[i] = tri_clock_seconds() - start;
    }
    qsort(seconds, (size_t)bench->repeats, sizeof(*seconds), compare_doubles);
    bench_print(out, bench, c, seconds);
    run_free(&run);
    return TRI_OK;
}

/* Each member works on its own memory, so that nothing but the machine limits it. */
struct peak {
    const struct tri_kernels *kernels;
    float *memory;
    size_t member_floats;
};

static void peak_gemm_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct peak *peak = arg;
    const int64_t n = PEAK_GEMM;
    float *a = peak->memory + (size_t)task * peak->member_floats;
    struct tri_queue alone = {.device = &tri_device_host};
    peak->kernels->gemm(&alone, tri_tensor_f32_2d(a + 2 * n * n, n, n), tri_tensor_f32_2d(a, n, n),
                        tri_tensor_f32_2d(a + n * n, n, n), false, true, 0, NULL);
}

static void peak_copy_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct peak *peak = arg;
    float *a = peak->memory + (size_t)task * peak->member_floats;
    memcpy(a, (const char *)a + PEAK_BYTES, PEAK_BYTES);
}

/* Least seconds over the repeats: a limit, not an average. */
static double peak_seconds(const struct bench *bench, struct peak *peak, tri_task_fn *fn)
{
    double best = INFINITY;
    for (int i = 0; i < PEAK_REPEATS; i++) {
        double start = tri_clock_seconds();
        tri_team_run(bench->queue.team, fn, peak, bench->team_size);
        best = fmin(best, tri_clock_seconds() - start);
    }
    return best;
}

/* Products of cpu_fast are the yardstick of every backend. */
static tri_status bench_measure(struct bench *bench, tri_error *err)
{
    struct peak peak = {.kernels = tri_kernels_find("cpu_fast", err),
                        .member_floats = 2 * (size_t)PEAK_BYTES / sizeof(float)};
    if (!peak.kernels)
        return tri_error_status(err);
    size_t floats = peak.member_floats * (size_t)bench->team_size;
    peak.memory = run_alloc(floats * sizeof(float));
    TRI_CHECK(peak.memory, err, TRI_NOMEM, "out of memory to measure the machine");
    for (size_t i = 0; i < floats; i++)
        peak.memory[i] = 1;
    double flops = 2.0 * PEAK_GEMM * PEAK_GEMM * PEAK_GEMM * bench->team_size;
    bench->gflops = flops / peak_seconds(bench, &peak, peak_gemm_task) * 1e-9;
    double bytes = 2.0 * PEAK_BYTES * bench->team_size;
    bench->gbytes = bytes / peak_seconds(bench, &peak, peak_copy_task) * 1e-9;
    free(peak.memory);
    return TRI_OK;
}

static tri_status bench_rows(FILE *out, struct bench *bench, const char *only, tri_error *err)
{
    TRI_TRY(bench_measure(bench, err));
    fprintf(out, "# backend %s, team %d, repeats %d, sgemm %.1f GFLOP/s, copy %.1f GB/s\n",
            bench->kernels->name, bench->team_size, bench->repeats, bench->gflops, bench->gbytes);
    fprintf(out, "operation,shape,min_s,median_s,max_s,rate,unit,share\n");
    for (int i = 0; i < tri_bench_num_cases; i++) {
        const struct bench_case *c = &tri_bench_cases[i];
        if (only && !strstr(c->name, only))
            continue;
        TRI_TRY(bench_check(bench, c, err));
        TRI_TRY(bench_time(out, bench, c, err));
    }
    return TRI_OK;
}

tri_status tri_kernels_bench(FILE *out, const struct tri_kernels_bench *options, tri_error *err)
{
    TRI_CHECK(options->repeats >= 1 && options->repeats <= MAX_REPEATS, err, TRI_INVALID,
              "%d repeats; use 1 to %d", options->repeats, MAX_REPEATS);
    struct bench bench = {.kernels = tri_kernels_find(options->backend, err),
                          .reference = tri_kernels_cpu_ref(),
                          .scratch = tri_kernels_scratch(options->backend),
                          .team_size = options->team_size,
                          .repeats = options->repeats};
    if (!bench.kernels)
        return tri_error_status(err);
    bench.queue.device = &tri_device_host;
    TRI_TRY(tri_team_create(options->team_size, err, &bench.queue.team));
    tri_status status = bench_rows(out, &bench, options->only, err);
    tri_team_destroy(&bench.queue.team);
    return status;
}
