/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging of the communicator: what 'trine plan' counts for it is what a run under mpirun uses, every row to
 * its last byte, and the communicator allocates none of its own. Run under mpirun as "t824-staging mpi" with
 * 2 or 4 ranks; alone it holds the choice of the communicator.
 */
#include "harness/train_run.h"

#include "kernels/reduce.h"
#include "train/communicator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- which communicator is planned for ---- */

static const char *planned_for(const char *asked, bool was_launched, int num_ranks)
{
    struct tri_plan_comm comm = {0};
    tri_error *err = tri_error_create();
    assert_int_equal(tri_communicator_plan(asked, was_launched, num_ranks, err, &comm), TRI_OK);
    tri_error_destroy(&err);
    assert_non_null(comm.why);
    /* Only mpi receives what it sums. */
    assert_int_equal(comm.staging(TRI_COMM_ALL_REDUCE, 4, 10001, TRI_DTYPE_F32),
                     strcmp(comm.name, "mpi") == 0 ? 3 * 2501 * 4 : 0);
    return comm.name;
}

static void the_communicator_follows_from_how_ranks_start(void **state)
{
    (void)state;
    assert_string_equal(planned_for("", false, 1), "self");
    assert_string_equal(planned_for("", false, 4), "threads");
    assert_string_equal(planned_for("", true, 4), "mpi");
    assert_string_equal(planned_for("mpi", false, 4), "mpi");
    assert_string_equal(planned_for("threads", true, 4), "threads");
}

static void an_unknown_communicator_is_refused(void **state)
{
    (void)state;
    static const char *const asked[] = {"nccl", "self"};
    static const char *const parts[] = {"'communicator' is 'nccl'; use 'threads'",
                                        "'self', which has one rank, not 4"};
    for (int i = 0; i < 2; i++) {
        struct tri_plan_comm comm = {0};
        tri_error *err = tri_error_create();
        assert_int_equal(tri_communicator_plan(asked[i], false, 4, err, &comm), TRI_INVALID);
        assert_non_null(strstr(tri_error_message(err, 0), parts[i]));
        assert_null(comm.name);
        tri_error_destroy(&err);
    }
}

/* ---- what a run uses ---- */

static const struct train_way ways[] = {
    {.model = TRAIN_GPT2, .tp = 2},
    {.model = TRAIN_LLAMA, .tp = 2, .sequence_parallel = true},
    {.model = TRAIN_GPT2, .pp = 2},
    {.model = TRAIN_LLAMA, .dp = 2, .bucket_size = 5000},
    {.model = TRAIN_GPT2, .dp = 2, .sharded = true, .bucket_size = 5000},
    {.model = TRAIN_ATTENTION, .tp = 4},
    {.model = TRAIN_LLAMA, .tp = 2, .pp = 2, .sequence_parallel = true},
    {.model = TRAIN_GPT2, .pp = 2, .dp = 2, .sharded = true, .bucket_size = 5000},
    {.model = TRAIN_LLAMA, .tp = 2, .dp = 2},
};
#define NUM_WAYS ((int)(sizeof ways / sizeof ways[0]))

static bool is_staging(const struct tri_plan_row *row)
{
    return row->arena == TRI_ARENA_COMM && strcmp(row->name, "staging") == 0 &&
           strcmp(row->owner, "checkpoint") != 0;
}

/* Longer than one piece: rounds through what the plan has for the world. */
static tri_status sum_in_pieces(struct tri_session *session, int num)
{
    tri_group *all = session->context->all;
    float *values = malloc((size_t)num * sizeof *values);
    TRI_CHECK(values, session->err, TRI_NOMEM, "out of memory");
    for (int i = 0; i < num; i++)
        values[i] = (float)(i % 1000 + all->rank);
    tri_status status = tri_group_all_reduce(all, values, num, TRI_DTYPE_F32, TRI_REDUCE_SUM);
    for (int i = 0; i < num && status == TRI_OK; i++)
        if (values[i] != (float)(all->size * (i % 1000)) + (float)(all->size * (all->size - 1) / 2))
            status = tri_error_set(session->err, TRI_BUG, "element %d of the sum is wrong", i);
    free(values);
    return status;
}

/* On some rank every row is written to its end: the last of a group may have the smaller part. */
static tri_status check_rows(struct tri_session *session)
{
    static const unsigned char paint[4] = {0xa5, 0xa5, 0xa5, 0xa5};
    const struct tri_rank_plan *plan = &session->plan;
    int num = 0;
    for (int i = 0; i < plan->num_rows; i++) {
        const struct tri_plan_row *row = &plan->rows[i];
        if (!is_staging(row))
            continue;
        const char *at = tri_context_row(session->context, i, 0);
        int64_t is_used = memcmp(at + row->bytes - sizeof paint, paint, sizeof paint) != 0;
        struct tri_context *context = session->context;
        tri_group *peers = strcmp(row->owner, "group tp") == 0      ? context->tp
                           : strcmp(row->owner, "group embd") == 0  ? context->embd
                           : strncmp(row->owner, "bucket", 6) == 0  ? context->dp
                           : strcmp(row->owner, "group world") == 0 ? context->all
                                                                    : context->tp;
        TRI_TRY(tri_group_all_reduce(peers, &is_used, 1, TRI_DTYPE_I64, TRI_REDUCE_MAX));
        TRI_CHECK(is_used, session->err, TRI_BUG, "'%s': %zu bytes of staging are not all used",
                  row->owner, row->bytes);
        num++;
    }
    TRI_CHECK(num > 0, session->err, TRI_BUG, "the plan has no staging");
    TRI_CHECK(session->world->own_staging_bytes == 0, session->err, TRI_BUG,
              "the communicator allocated %zu bytes that no plan counts",
              session->world->own_staging_bytes);
    return TRI_OK;
}

/* 'trine plan --communicator mpi' on any machine says what this rank has. */
static tri_status check_plan(struct tri_session *session, const struct train_way *way)
{
    struct tri_run_config config;
    struct tri_model_spec *spec = NULL;
    struct tri_placement *placement = NULL;
    struct tri_plan_comm comm;
    struct tri_rank_plan plan;
    train_way_config(way, &config);
    tri_arena *arena = tri_arena_create();
    int num_ranks = session->world->size;
    tri_status status = tri_communicator_plan("mpi", false, num_ranks, session->err, &comm);
    if (status == TRI_OK)
        status = tri_run_plan(&config, NULL, num_ranks, TRI_USE_TRAINING, 0, &comm, session->err,
                              &spec, &placement);
    if (status == TRI_OK)
        status = tri_rank_plan_make(placement, session->world->rank, arena, session->err, &plan);
    if (status == TRI_OK && plan.total_bytes != session->plan.total_bytes)
        status = tri_error_set(session->err, TRI_BUG, "the plan says %zu bytes, the run has %zu",
                               plan.total_bytes, session->plan.total_bytes);
    tri_placement_destroy(&placement);
    tri_model_spec_destroy(&spec);
    tri_arena_destroy(&arena);
    return status;
}

static tri_status two_steps(struct tri_session *session)
{
    struct train_source source;
    struct tri_lr_schedule schedule;
    struct tri_progress progress = {0};
    struct tri_step_result result;
    TRI_TRY(train_source_init(&source, session));
    struct tri_batch_source batches = train_source_get(&source);
    tri_status status = train_schedule(session, &schedule);
    for (int i = 0; i < 2 && status == TRI_OK; i++)
        status = tri_step_run(session, &batches, &schedule, false, &progress, &result);
    train_source_fini(&source);
    return status;
}

static tri_status staging_body(struct tri_session *session, void *arg)
{
    tri_storage *storage = session->context->arena[TRI_ARENA_COMM];
    tri_storage_open_gap(storage, 0, tri_storage_bytes(storage));
    tri_storage_paint(storage);
    TRI_TRY(two_steps(session));
    TRI_TRY(sum_in_pieces(session, 150001));
    TRI_TRY(sum_in_pieces(session, 1 << 17)); /* whose pieces are the largest there are */
    TRI_TRY(check_rows(session));
    return check_plan(session, arg);
}

static void a_run_uses_the_planned_staging(void **state)
{
    tri_world *world = *state;
    int num = 0;
    for (int i = 0; i < NUM_WAYS; i++) {
        char text[256];
        struct train_way way = ways[i];
        struct train_result result;
        if (train_way_ranks(&way) != world->size)
            continue;
        way.steps = 1;
        way.tamper = staging_body;
        way.tamper_arg = &way;
        train_way_format(&way, text, sizeof text);
        print_message("%s\n", text);
        tri_status status = train_run_on(&way, world, &result);
        train_result_free(&result);
        if (status != TRI_OK) {
            world->abandon(world, tri_error_message(world->err, 0));
            fail_msg("%s: %s", text, tri_error_message(world->err, 0));
        }
        num++;
    }
    assert_true(num > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest alone[] = {
        cmocka_unit_test(the_communicator_follows_from_how_ranks_start),
        cmocka_unit_test(an_unknown_communicator_is_refused),
    };
    if (argc < 2 || strcmp(argv[1], "mpi") != 0)
        return cmocka_run_group_tests(alone, NULL, NULL);
    tri_error *err = tri_error_create();
    tri_world *world = NULL;
    if (tri_world_create_mpi(600.0, tri_reduce_in_order, err, &world) != TRI_OK) {
        fprintf(stderr, "skipped: %s\n", tri_error_message(err, 0));
        return 77;
    }
    const struct CMUnitTest under_mpi[] = {
        cmocka_unit_test_prestate(a_run_uses_the_planned_staging, world),
    };
    int failed = cmocka_run_group_tests(under_mpi, NULL, NULL);
    tri_world_destroy(&world);
    tri_error_destroy(&err);
    return failed;
}
