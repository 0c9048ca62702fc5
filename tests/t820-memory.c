/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a training run: what steps touch is what the plan says, to the byte; nothing is read before it
 * is written; the plan follows the choice of one module's implementation; and the process is as large as the
 * plan, within five in a hundred, plus what the libraries take.
 */
#include "harness/train_run.h"
#include "t1-shapes.h"

#include "base/exact_sum.h"
#include "kernels/reduce.h"
#include "train/evaluate.h"
#include "train/resume.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A sanitizer keeps memory of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_sanitized = true;
#elif defined(__has_feature)
static const bool is_sanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
static const bool is_sanitized = false;
#endif

/* ---- the highest byte ---- */

/* One past the last byte of the arena that some row covers. */
static size_t planned_peak(const struct tri_rank_plan *plan, enum tri_arena_kind arena)
{
    size_t peak = 0;
    for (int i = 0; i < plan->num_rows; i++) {
        const struct tri_plan_row *row = &plan->rows[i];
        size_t end = row->offset + (size_t)(row->num_copies - 1) * row->stride + row->bytes;
        /* Only a save fills it; how far depends on the model. */
        bool is_staging = strcmp(row->owner, "checkpoint") == 0;
        if (row->arena == arena && !is_staging && end > peak)
            peak = end;
    }
    return peak;
}

/* Of the arenas that must start as zero: one past the last byte that is something else, or above peak
   something else than a gap's paint. */
static size_t highest_not_zero(const tri_storage *storage, size_t peak)
{
    size_t highest = tri_storage_bytes(storage);
    const unsigned char *bytes = tri_storage_get(storage, 0);
    while (highest > 0 &&
           (bytes[highest - 1] == 0 || (highest > peak && bytes[highest - 1] == 0xa5)))
        highest--;
    return highest;
}

/* Arenas that may hold anything before they are written. */
static bool is_painted(enum tri_arena_kind arena)
{
    return arena == TRI_ARENA_GRADS || arena == TRI_ARENA_SAVED || arena == TRI_ARENA_WORK ||
           arena == TRI_ARENA_COMM;
}

static void open_all_gaps(struct tri_session *session)
{
    for (int i = 0; i < TRI_NUM_ARENAS; i++)
        tri_storage_open_gap(session->context->arena[i], 0,
                             tri_storage_bytes(session->context->arena[i]));
}

/* Paint is no number that a result would survive. */
static tri_status paint(struct tri_session *session, void *arg)
{
    (void)arg;
    open_all_gaps(session);
    for (int i = 0; i < TRI_NUM_ARENAS; i++)
        if (is_painted((enum tri_arena_kind)i))
            tri_storage_paint(session->context->arena[i]);
    return TRI_OK;
}

/* Zero is also what a value may be, so the last values of an arena may hide; less than a row of numbers. */
#define HIDDEN_BYTES 64

static tri_status check_peaks(struct tri_session *session)
{
    const struct tri_rank_plan *plan = &session->plan;
    for (int i = 0; i < TRI_NUM_ARENAS; i++) {
        enum tri_arena_kind arena = (enum tri_arena_kind)i;
        size_t peak = planned_peak(plan, arena);
        size_t highest = is_painted(arena) ? tri_storage_highest(session->context->arena[i])
                                           : highest_not_zero(session->context->arena[i], peak);
        /* The end of the last bucket is padding, which gradients and values never use. */
        size_t padding = 0;
        if (arena == TRI_ARENA_PARAMS || arena == TRI_ARENA_OPTIM)
            padding = (size_t)(session->context->dp->size + 1) * TRI_NORM_BLOCK * sizeof(float);
        size_t hidden = is_painted(arena) ? 0 : HIDDEN_BYTES + padding;
        TRI_CHECK(highest <= peak && highest + hidden >= peak, session->err, TRI_BUG,
                  "arena '%s': the highest byte written is %zu, the plan's peak %zu",
                  tri_arena_name(arena), highest, peak);
    }
    return TRI_OK;
}

struct peaks {
    struct train_way way;
    double loss;
};

static tri_status peak_steps(struct tri_session *session, struct train_source *source, double *loss)
{
    struct tri_batch_source batches = train_source_get(source);
    struct tri_lr_schedule schedule;
    struct tri_progress progress = {0};
    struct tri_step_result result;
    struct tri_evaluation evaluation;
    TRI_TRY(train_schedule(session, &schedule));
    for (int i = 0; i < 2; i++)
        TRI_TRY(tri_step_run(session, &batches, &schedule, false, &progress, &result));
    TRI_TRY(tri_evaluate(session, &batches, 1, &evaluation));
    *loss = result.loss;
    return check_peaks(session);
}

static tri_status peaks_tamper(struct tri_session *session, void *arg)
{
    struct peaks *peaks = arg;
    struct train_source source;
    double loss = 0;
    TRI_TRY(paint(session, NULL));
    TRI_TRY(train_source_init(&source, session));
    tri_status status = peak_steps(session, &source, &loss);
    train_source_fini(&source);
    if (session->world->rank == 0)
        peaks->loss = loss;
    return status;
}

static void steps_reach_the_planned_peak(void **state)
{
    static const struct train_way ways[] = {
        {.model = TRAIN_GPT2},
        {.model = TRAIN_LLAMA, .team = 3},
        {.model = TRAIN_GPT2, .tp = 2, .sequence_parallel = true},
        {.model = TRAIN_LLAMA, .tp = 2},
        {.model = TRAIN_GPT2, .pp = 2, .dp = 2, .sharded = true, .bucket_size = 5000},
        {.model = TRAIN_LLAMA, .layers = 8, .pp = 2, .vpp = 2},
        {.model = TRAIN_LLAMA,
         .pp = 2,
         .schedule = "golden/placement/zero-bubble-pp2-m4.txt",
         .global_batch = 8},
        {.model = TRAIN_LLAMA, .dp = 3, .sharded = true},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct peaks peaks = {0};
        struct train_way way = ways[i];
        struct train_result result;
        way.steps = 1;
        way.tamper = peaks_tamper;
        way.tamper_arg = &peaks;
        train_run(&way, &result);
        train_result_free(&result);
    }
    (void)state;
}

static void nothing_is_read_before_it_is_written(void **state)
{
    static const struct train_way ways[] = {
        {.model = TRAIN_GPT2, .pp = 2, .dp = 2, .sharded = true},
        {.model = TRAIN_LLAMA, .tp = 2, .sequence_parallel = true, .pp = 2},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct train_way way = ways[i];
        struct train_result clean, painted;
        way.steps = 5;
        train_run(&way, &clean);
        way.tamper = paint;
        train_run(&way, &painted);
        assert_true(train_same_bits(&painted, &clean, true));
        assert_memory_equal(painted.final, clean.final, (size_t)clean.elements * sizeof(float));
        train_result_free(&clean);
        train_result_free(&painted);
    }
    (void)state;
}

/* ---- gaps ---- */

struct stray {
    bool is_done;
    enum tri_arena_kind arena;
    size_t offset;
};

/* Rank 0 writes a byte between two rows before a step. */
static tri_status write_into_a_gap(struct tri_session *session, void *arg)
{
    struct stray *stray = arg;
    const struct tri_context *context = session->context;
    for (int i = 0; session->world->rank == 0 && i < context->num_gaps; i++)
        if (context->gaps[i].arena == stray->arena) {
            stray->offset = context->gaps[i].first + context->gaps[i].bytes / 2;
            *(char *)tri_storage_get(context->arena[stray->arena], stray->offset) = 1;
            stray->is_done = true;
            break;
        }
    return TRI_OK;
}

/* Rows of one number per token then end before the next row may begin. */
static void odd_length(struct tri_run_config *config)
{
    config->shape.seq_length = 13;
}

/* In a debug build without the address sanitizer, which t031-storage asks. */
static void a_byte_written_between_rows_is_found(void **state)
{
    (void)state;
    if (!tri_storage_paints_gaps())
        skip();
    int num = 0;
    for (int i = 0; i < TRI_NUM_ARENAS; i++) {
        char expected[64];
        struct stray stray = {.arena = (enum tri_arena_kind)i};
        struct train_way way = {
            .model = TRAIN_LLAMA, .tp = 2, .pp = 2, .steps = 1, .configure = odd_length};
        struct train_result result;
        tri_error *err = tri_error_create();
        way.tamper = write_into_a_gap;
        way.tamper_arg = &stray;
        tri_status status = train_try(&way, &result, err);
        snprintf(expected, sizeof expected, "arena '%s': byte ", tri_arena_name(stray.arena));
        assert_int_equal(status, stray.is_done ? TRI_BUG : TRI_OK);
        if (stray.is_done)
            assert_non_null(strstr(tri_error_message(err, 0), expected));
        print_message("%s: %s\n", tri_arena_name(stray.arena),
                      stray.is_done ? tri_error_message(err, 0) : "no gap");
        num += stray.is_done;
        train_result_free(&result);
        tri_error_destroy(&err);
    }
    assert_true(num >= 2);
}

/* ---- the plan follows the spec ---- */

struct size {
    size_t arena[TRI_NUM_ARENAS];
    size_t rows; /* of all rows together */
};

static struct size plan_size(const char *override)
{
    const struct train_way way = {.model = TRAIN_LLAMA, .team = 3};
    struct tri_run_config config;
    struct tri_model_spec *spec = NULL;
    struct tri_placement *placement = NULL;
    struct tri_rank_plan plan;
    struct size size = {.rows = 0};
    tri_error *err = tri_error_create();
    tri_arena *arena = tri_arena_create();
    train_way_config(&way, &config);
    snprintf(config.spec.override, sizeof config.spec.override, "%s", override);
    tri_status status =
        tri_run_plan(&config, NULL, 1, TRI_USE_TRAINING, 0, NULL, err, &spec, &placement);
    if (status != TRI_OK)
        fail_msg("%s", tri_error_message(err, 0));
    assert_int_equal(tri_rank_plan_make(placement, 0, arena, err, &plan), TRI_OK);
    memcpy(size.arena, plan.arena_bytes, sizeof size.arena);
    for (int i = 0; i < plan.num_rows; i++)
        size.rows += (size_t)plan.rows[i].num_copies * plan.rows[i].bytes;
    tri_arena_destroy(&arena);
    tri_placement_destroy(&placement);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
    return size;
}

/* Another implementation has other scratch: rows of that module, and nothing else, change. */
static void one_module_changes_the_plan(void **state)
{
    struct size fused = plan_size(""), attention, head;
    attention = plan_size("decoder.layers[1].self_attention.core_attention=plain");
    head = plan_size("head=plain");
    assert_true(attention.rows != fused.rows);
    assert_true(head.rows != fused.rows);
    assert_int_equal(fused.arena[TRI_ARENA_PARAMS], head.arena[TRI_ARENA_PARAMS]);
    assert_int_equal(fused.arena[TRI_ARENA_OPTIM], head.arena[TRI_ARENA_OPTIM]);
    (void)state;
}

/* ---- the size of the process ---- */

static double resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%*s %ld", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Tens of megabytes, so that libraries do not hide an error. */
static void larger(struct tri_run_config *config)
{
    config->shape.vocab_size = 3000;
    config->shape.transformer.hidden_size = 192;
    config->shape.transformer.kv_channels = 24;
    config->shape.transformer.ffn_hidden_size = 512;
    config->shape.seq_length = 128;
    config->shape.max_position_embeddings = 128;
    config->train.micro_batch_size = config->train.global_batch_size = 4;
}

static tri_status size_steps(struct tri_session *session, struct train_source *source,
                             const char *folder)
{
    struct tri_batch_source batches = train_source_get(source);
    struct tri_lr_schedule schedule;
    struct tri_progress progress = {0};
    struct tri_step_result result;
    struct tri_evaluation evaluation;
    tri_session_state *state = NULL;
    TRI_TRY(train_schedule(session, &schedule));
    TRI_TRY(tri_step_run(session, &batches, &schedule, false, &progress, &result));
    TRI_TRY(tri_evaluate(session, &batches, 1, &evaluation));
    snprintf(session->config.checkpoint.save, sizeof session->config.checkpoint.save, "%s", folder);
    TRI_TRY(tri_session_state_create(session, NULL, &state));
    tri_status status = tri_session_state_save(state, &progress);
    tri_session_state_destroy(&state);
    return status;
}

/* Runs a step, an evaluation and a save of way alone; how large the process is then, and the plan. */
static void measure(const struct train_way *way, const char *folder, double *resident,
                    double *planned)
{
    struct tri_run_config config;
    struct train_source source;
    struct tri_session *session = NULL;
    tri_world *world = NULL;
    tri_error *err = tri_error_create();
    train_way_config(way, &config);
    assert_int_equal(tri_world_create_self(tri_reduce_in_order, err, &world), TRI_OK);
    struct tri_session_request request = {.config = &config, .world = world};
    assert_int_equal(tri_session_create(&request, &session), TRI_OK);
    assert_int_equal(tri_params_initialise(session->context, session->model->params), TRI_OK);
    assert_int_equal(train_source_init(&source, session), TRI_OK);
    if (size_steps(session, &source, folder) != TRI_OK)
        fail_msg("%s", tri_error_message(err, 0));
    *resident = resident_bytes();
    *planned = (double)session->plan.total_bytes;
    train_source_fini(&source);
    tri_session_destroy(&session);
    tri_world_destroy(&world);
    tri_error_destroy(&err);
}

static void the_process_is_as_large_as_the_plan(void **state)
{
    (void)state;
    if (is_sanitized)
        skip();
    char folder[] = "/tmp/trine-test-XXXXXX", text[64];
    assert_non_null(mkdtemp(folder));
    double base, small_plan, resident, planned;
    struct train_way way = {.model = TRAIN_LLAMA, .team = 2};
    /* A tiny run leaves behind what libraries keep; its own plan is gone. */
    measure(&way, folder, &base, &small_plan);
    base = resident_bytes();
    way.configure = larger;
    measure(&way, folder, &resident, &planned);
    print_message("plan %.1f MiB, base %.1f MiB, resident %.1f MiB: %+.2f %%\n", planned / 0x1p20,
                  base / 0x1p20, resident / 0x1p20, 100 * (resident - base - planned) / planned);
    snprintf(text, sizeof text, "rm -rf %s", folder);
    assert_int_equal(system(text), 0);
    assert_true(planned > 50 * 0x1p20);
    assert_true(fabs(resident - base - planned) <= 0.05 * planned);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_reach_the_planned_peak),
        cmocka_unit_test(nothing_is_read_before_it_is_written),
        cmocka_unit_test(a_byte_written_between_rows_is_found),
        cmocka_unit_test(one_module_changes_the_plan),
        cmocka_unit_test(the_process_is_as_large_as_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
