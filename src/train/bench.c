/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmark of a step. */
#include "train/bench.h"

#include "base/cancel.h"
#include "base/rng.h"
#include "optim/lr_schedule.h"
#include "spec/model_spec.h"

#include <stdlib.h>
#include <string.h>

#define MAX_REPEATS 101

struct bench {
    const struct tri_bench_request *request;
    struct tri_session *session;
    int32_t *block; /* tokens, labels, positions of one microbatch */
    int64_t *sample_ids;
    float *matrices;
    size_t matrix_bytes;
    double step[MAX_REPEATS], sgemm[MAX_REPEATS];
};

static tri_status begin(void *arg, int64_t consumed)
{
    (void)arg;
    (void)consumed;
    return TRI_OK;
}

static tri_status give(void *arg, int index, struct tri_microbatch *microbatch)
{
    struct bench *bench = arg;
    (void)index;
    const struct tri_run_config *config = &bench->session->config;
    int64_t b = config->train.micro_batch_size, s = config->shape.seq_length, n = b * s;
    *microbatch = (struct tri_microbatch){.rows = b,
                                          .length = s,
                                          .tokens = bench->block,
                                          .labels = bench->block + n,
                                          .positions = bench->block + 2 * n,
                                          .sample_ids = bench->sample_ids,
                                          .num_valid = n};
    return TRI_OK;
}

/* Shapes whose best rate is the machine's limit: M, N, K. */
static int limit_shapes(const struct tri_session *session, int64_t shapes[4][3])
{
    const struct tri_run_config *config = &session->config;
    int64_t tokens = config->train.micro_batch_size * config->shape.seq_length;
    int64_t h = config->shape.transformer.hidden_size,
            f = config->shape.transformer.ffn_hidden_size;
    const int64_t all[4][3] = {
        {2048, 2048, 2048}, {tokens, 3 * h, h}, {tokens, f, h}, {tokens, h, f}};
    memcpy(shapes, all, sizeof all);
    return 4;
}

static tri_status make_room(struct bench *bench)
{
    struct tri_session *session = bench->session;
    const struct tri_run_config *config = &session->config;
    int64_t b = config->train.micro_batch_size, s = config->shape.seq_length, n = b * s;
    const struct tri_scratch_table *scratch = tri_kernels_scratch(session->context->update->name);
    int64_t shapes[4][3];
    size_t elements = 0, workspace = 0;
    int num = limit_shapes(session, shapes);
    for (int i = 0; i < num; i++) {
        int64_t M = shapes[i][0], N = shapes[i][1], K = shapes[i][2];
        size_t need = (size_t)(M * N + M * K + N * K),
               work = scratch->gemm(M, N, K, tri_team_size(session->team));
        elements = need > elements ? need : elements;
        workspace = work > workspace ? work : workspace;
    }
    bench->matrix_bytes = (elements * sizeof(float) + 63) / 64 * 64;
    bench->matrices = aligned_alloc(64, bench->matrix_bytes + (workspace + 63) / 64 * 64);
    bench->block = calloc((size_t)(3 * n), sizeof(int32_t));
    bench->sample_ids = calloc((size_t)b, sizeof(int64_t));
    if (!bench->matrices || !bench->block || !bench->sample_ids)
        return tri_error_set(session->err, TRI_NOMEM, "out of memory for the benchmark");
    for (size_t i = 0; i < elements; i++)
        bench->matrices[i] = (float)(i % 13) - 6.0f;
    struct tri_rng_key key = tri_rng_key(1, TRI_RNG_TEST, 0);
    for (int64_t i = 0; i < 2 * n; i++)
        bench->block[i] =
            (int32_t)(tri_rng_double(key, (uint64_t)i) * (double)config->shape.vocab_size);
    for (int64_t i = 0; i < n; i++)
        bench->block[2 * n + i] = (int32_t)(i % s);
    return TRI_OK;
}

/* The best rate over the shapes, each timed once more than once. */
static double sgemm_rate(struct bench *bench)
{
    struct tri_context *context = bench->session->context;
    void *workspace = (char *)bench->matrices + bench->matrix_bytes;
    int64_t shapes[4][3];
    double best = 0;
    int num = limit_shapes(bench->session, shapes);
    for (int i = 0; i < 3 * num; i++) {
        int64_t M = shapes[i % num][0], N = shapes[i % num][1], K = shapes[i % num][2];
        struct tri_tensor c = tri_tensor_f32_2d(bench->matrices, M, N);
        struct tri_tensor a = tri_tensor_f32_2d(bench->matrices + M * N, M, K);
        struct tri_tensor b = tri_tensor_f32_2d(bench->matrices + M * N + M * K, N, K);
        double start = tri_clock_seconds();
        context->update->gemm(&context->queue, c, a, b, false, true, 0.0f, workspace);
        double rate = 2.0 * (double)M * (double)N * (double)K / (tri_clock_seconds() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_row(FILE *out, const char *name, double *values, int num, double scale,
                      const char *unit)
{
    qsort(values, (size_t)num, sizeof *values, ascending);
    fprintf(out, "%s,%s,%.6g,%.6g,%.6g\n", name, unit, values[0] * scale, values[num / 2] * scale,
            values[num - 1] * scale);
}

static tri_status print_results(struct bench *bench, int num)
{
    struct tri_session *session = bench->session;
    const struct tri_run_config *config = &session->config;
    double flops, share[MAX_REPEATS], rate[MAX_REPEATS], tokens_per_second[MAX_REPEATS];
    double tokens = (double)config->train.global_batch_size * (double)config->shape.seq_length;
    TRI_TRY(
        tri_model_flops_per_token(session->spec, config->shape.seq_length, session->err, &flops));
    if (session->world->rank != 0)
        return TRI_OK;
    for (int i = 0; i < num; i++) {
        rate[i] = tokens * flops / bench->step[i];
        share[i] = rate[i] / bench->sgemm[i];
        tokens_per_second[i] = tokens / bench->step[i];
    }
    FILE *out = bench->request->out;
    fprintf(out, "figure,unit,minimum,median,maximum\n");
    print_row(out, "step", bench->step, num, 1, "s");
    print_row(out, "tokens", tokens_per_second, num, 1, "tokens/s");
    print_row(out, "model flops", rate, num, 1e-9, "GFLOP/s");
    print_row(out, "matrix product", bench->sgemm, num, 1e-9, "GFLOP/s");
    print_row(out, "share of the matrix product", share, num, 100, "%");
    return TRI_OK;
}

static tri_status run_bench(struct bench *bench)
{
    struct tri_session *session = bench->session;
    struct tri_batch_source source = {.begin_step = begin, .microbatch = give, .arg = bench};
    struct tri_lr_schedule schedule = {.max_lr = 1e-4, .decay = 1, .style = TRI_LR_CONSTANT};
    struct tri_progress progress = {0};
    struct tri_step_result result;
    int num = bench->request->repeats < MAX_REPEATS ? bench->request->repeats : MAX_REPEATS;
    TRI_TRY(make_room(bench));
    TRI_TRY(tri_params_initialise(session->context, session->model->params));
    TRI_TRY(tri_step_run(session, &source, &schedule, false, &progress, &result));
    for (int i = 0; i < num; i++) {
        TRI_TRY(tri_group_barrier(session->context->all));
        bench->sgemm[i] = sgemm_rate(bench);
        TRI_TRY(tri_group_all_reduce(session->context->all, &bench->sgemm[i], 1, TRI_DTYPE_F64,
                                     TRI_REDUCE_SUM));
        TRI_TRY(tri_step_run(session, &source, &schedule, false, &progress, &result));
        bench->step[i] = result.seconds;
    }
    return print_results(bench, num);
}

tri_status tri_bench_step(void *arg, tri_world *world)
{
    struct bench bench = {.request = arg};
    struct tri_session_request make = {.config = bench.request->config, .world = world};
    tri_status status = tri_session_create(&make, &bench.session);
    if (status == TRI_OK)
        status = run_bench(&bench);
    free(bench.matrices);
    free(bench.block);
    free(bench.sample_ids);
    tri_session_destroy(&bench.session);
    return status;
}
