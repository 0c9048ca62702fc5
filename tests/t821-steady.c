/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In steps 2 to N nothing is allocated: calls of the allocating functions from libtrine's objects are counted
 * by the linker's --wrap. BLAS, MPI and libc are shared objects whose own calls are not seen: only what our
 * objects ask for counts, and opening files or starting threads counts as well. Log lines and the JSON log are
 * part of a step.
 */
#include "harness/train_run.h"

#include "kernels/reduce.h"
#include "train/metrics.h"
#include "trine/score.h"
#include "trine/tokens.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- counting ---- */

static atomic_bool is_counting;
static atomic_int num_calls;
static const char *_Atomic last_call; /* the name of one that was counted */

static void count(const char *name)
{
    if (!atomic_load(&is_counting))
        return;
    atomic_fetch_add(&num_calls, 1);
    atomic_store(&last_call, name);
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t num, size_t bytes);
void *__wrap_calloc(size_t num, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__real_open_memstream(char **text, size_t *bytes);
FILE *__wrap_open_memstream(char **text, size_t *bytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *arg);

void *__wrap_malloc(size_t bytes)
{
    count("malloc");
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t num, size_t bytes)
{
    count("calloc");
    return __real_calloc(num, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    count("realloc");
    return __real_realloc(old, bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    count("aligned_alloc");
    return __real_aligned_alloc(align, bytes);
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    count("mmap");
    return __real_mmap(at, bytes, protection, flags, file, offset);
}

char *__wrap_strdup(const char *text)
{
    count("strdup");
    return __real_strdup(text);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    count("fopen");
    return __real_fopen(path, mode);
}

FILE *__wrap_open_memstream(char **text, size_t *bytes)
{
    count("open_memstream");
    return __real_open_memstream(text, bytes);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *arg)
{
    count("pthread_create");
    return __real_pthread_create(thread, attributes, body, arg);
}

static void start_counting(void)
{
    atomic_store(&num_calls, 0);
    atomic_store(&is_counting, true);
}

static void expect_none(const char *what)
{
    atomic_store(&is_counting, false);
    int num = atomic_load(&num_calls);
    if (num)
        fail_msg("%s: %d calls, the last of %s", what, num, atomic_load(&last_call));
}

/* ---- steps ---- */

enum { NUM_STEPS = 8 };

static char log_json[64];

static void with_log(struct tri_run_config *config)
{
    config->train.log_interval = 3;
    snprintf(config->train.log_json, sizeof config->train.log_json, "%s", log_json);
}

static atomic_int num_lines;

static void take_line(void *arg, const char *text)
{
    (void)arg;
    (void)text;
    atomic_fetch_add(&num_lines, 1);
}

/* All ranks are done with the first round before any call counts. */
static tri_status begin_counting(const struct tri_session *session)
{
    TRI_TRY(tri_group_barrier(session->context->all));
    if (session->world->rank == 0)
        start_counting();
    return tri_group_barrier(session->context->all);
}

static tri_status end_counting(const struct tri_session *session)
{
    TRI_TRY(tri_group_barrier(session->context->all));
    atomic_store(&is_counting, false);
    return tri_group_barrier(session->context->all);
}

static tri_status steady_steps(struct tri_session *session, struct train_source *source,
                               tri_metrics *metrics)
{
    struct tri_batch_source batches = train_source_get(source);
    struct tri_lr_schedule schedule;
    struct tri_progress progress = {0};
    struct tri_step_result result;
    TRI_TRY(train_schedule(session, &schedule));
    for (int i = 0; i < NUM_STEPS; i++) {
        TRI_TRY(tri_step_run(session, &batches, &schedule, false, &progress, &result));
        if (metrics)
            TRI_TRY(tri_metrics_step(metrics, &progress, &result));
        if (i == 0)
            TRI_TRY(begin_counting(session));
    }
    return end_counting(session);
}

static tri_status steady(struct tri_session *session, void *arg)
{
    (void)arg;
    const struct tri_observer observer = {.line = take_line};
    struct train_source source;
    tri_metrics *metrics = NULL;
    tri_status status = train_source_init(&source, session);
    if (status == TRI_OK && session->world->rank == 0)
        status = tri_metrics_create(session, &observer, &metrics);
    if (status == TRI_OK)
        status = steady_steps(session, &source, metrics);
    tri_metrics_destroy(&metrics);
    train_source_fini(&source);
    return status;
}

static void steps_allocate_nothing(void **state)
{
    static const struct train_way ways[] = {
        {.model = TRAIN_LLAMA, .team = 3},
        {.model = TRAIN_GPT2, .tp = 2, .sequence_parallel = true, .team = 2},
        {.model = TRAIN_GPT2, .pp = 2, .dp = 2, .sharded = true, .bucket_size = 3000},
        {.model = TRAIN_LLAMA, .pp = 2, .vpp = 2, .dp = 2},
        {.model = TRAIN_LLAMA, .tp = 2, .pp = 2, .dp = 2, .sharded = true},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct train_way way = ways[i];
        struct train_result result;
        char text[256];
        train_way_format(&way, text, sizeof text);
        way.steps = 1;
        way.configure = with_log;
        way.tamper = steady;
        atomic_store(&num_lines, 0);
        train_run(&way, &result);
        expect_none(text);
        assert_true(atomic_load(&num_lines) >= 2);
        train_result_free(&result);
    }
    (void)state;
}

/* ---- scoring ---- */

/* More sequences than a global batch, then fewer. */
static tri_status steady_scores(struct tri_session *session, tri_scorer *scorer)
{
    static const int64_t lengths[] = {5, 8, 1, 3, 7, 2, 8, 6, 4};
    enum { NUM = sizeof lengths / sizeof lengths[0], NUM_TOKENS = 44 };
    int32_t tokens[NUM_TOKENS];
    float logprobs[NUM_TOKENS];
    double sums[NUM];
    const struct tri_scores scores = {.logprobs = logprobs, .sums = sums};
    struct tri_score_request request = {.num_sequences = NUM, .lengths = lengths, .tokens = tokens};
    for (int i = 0; i < NUM_TOKENS; i++)
        tokens[i] = i % 7;
    for (int i = 0; i < 3; i++) {
        TRI_TRY(tri_scorer_run(scorer, &request, &scores));
        request.num_sequences = NUM - 3 * i;
        if (i == 0)
            TRI_TRY(begin_counting(session));
    }
    return end_counting(session);
}

static tri_status steady_scorer(struct tri_session *session, void *arg)
{
    (void)arg;
    tri_scorer *scorer = NULL;
    TRI_TRY(tri_scorer_create(session, &scorer));
    tri_status status = steady_scores(session, scorer);
    tri_scorer_destroy(&scorer);
    return status;
}

static void scoring_allocates_nothing(void **state)
{
    static const struct train_way ways[] = {
        {.model = TRAIN_LLAMA, .micro_batch = 1, .global_batch = 4},
        {.model = TRAIN_GPT2, .tp = 2, .sequence_parallel = true, .pp = 2, .global_batch = 4},
        {.model = TRAIN_LLAMA, .pp = 2, .vpp = 2, .dp = 2, .micro_batch = 1, .global_batch = 4},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct train_way way = ways[i];
        struct train_result result;
        way.steps = 1;
        way.tamper = steady_scorer;
        train_run(&way, &result);
        expect_none("scoring");
        train_result_free(&result);
    }
    (void)state;
}

/* ---- the whole loop, on token files ---- */

/* Every rank has left step 1 when rank 0 reports step 2. */
static void watch(void *arg, int64_t done, int64_t total, double seconds_left, double loss)
{
    (void)arg;
    (void)seconds_left;
    (void)loss;
    if (done == 2)
        start_counting();
    if (done == total)
        atomic_store(&is_counting, false);
}

static void write_tokens(const char *prefix)
{
    enum { NUM_DOCUMENTS = 40, LENGTH = 100 };
    static int32_t tokens[NUM_DOCUMENTS * LENGTH];
    int64_t lengths[NUM_DOCUMENTS];
    tri_error *err = tri_error_create();
    for (int i = 0; i < NUM_DOCUMENTS * LENGTH; i++)
        tokens[i] = (i * 7 + i / 13) % 101;
    for (int i = 0; i < NUM_DOCUMENTS; i++)
        lengths[i] = LENGTH;
    assert_int_equal(tri_tokens_write(prefix, 101, tokens, lengths, NUM_DOCUMENTS, err), TRI_OK);
    tri_error_destroy(&err);
}

static void the_training_loop_allocates_nothing(void **state)
{
    const struct train_way way = {
        .model = TRAIN_LLAMA, .pp = 2, .dp = 2, .sharded = true, .global_batch = 8};
    struct tri_run_config config;
    char folder[] = "/tmp/trine-test-XXXXXX", text[64];
    tri_error *errs[4];
    assert_non_null(mkdtemp(folder));
    train_way_config(&way, &config);
    with_log(&config);
    config.train.train_iters = 10;
    snprintf(config.data.data_path, sizeof config.data.data_path, "%s/tokens", folder);
    snprintf(config.data.split, sizeof config.data.split, "100,0,0");
    write_tokens(config.data.data_path);
    for (int i = 0; i < 4; i++)
        errs[i] = tri_error_create();
    struct tri_pretrain_request request = {.config = &config,
                                           .observer = {.line = take_line, .progress = watch}};
    struct tri_launch launch = {.ranks = 4, .time_limit_seconds = 600};
    tri_status status = tri_launch_run(&launch, tri_pretrain, &request, errs);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < tri_error_count(errs[i]); k++)
            print_error("rank %d: %s\n", i, tri_error_message(errs[i], k));
        tri_error_destroy(&errs[i]);
    }
    snprintf(text, sizeof text, "rm -rf %s", folder);
    assert_int_equal(system(text), 0);
    assert_int_equal(status, TRI_OK);
    expect_none("the training loop");
    (void)state;
}

/* The counter itself works. */
static void an_allocation_is_counted(void **state)
{
    start_counting();
    tri_error *err = tri_error_create();
    atomic_store(&is_counting, false);
    assert_true(atomic_load(&num_calls) > 0);
    tri_error_destroy(&err);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_is_counted),
        cmocka_unit_test(steps_allocate_nothing),
        cmocka_unit_test(scoring_allocates_nothing),
        cmocka_unit_test(the_training_loop_allocates_nothing),
    };
    snprintf(log_json, sizeof log_json, "/tmp/trine-test-XXXXXX");
    int file = mkstemp(log_json);
    if (file < 0)
        return 1;
    close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(log_json);
    return failed;
}
