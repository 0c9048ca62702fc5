/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What communicators refuse, run as "t403-comm-misuse self|threads|mpi", or "none" in a build without
 * MPI; messages to oneself; and the two questions that need no world.
 */
#include "t4-ranks.h"

static struct ranks ranks;

/* What is wrong is refused before anything is sent, with the value and what would work. */
static tri_status misuse_body(void *arg, tri_world *world)
{
    (void)arg;
    tri_error *own = world->err, *scratch = tri_error_create();
    int all[MAX_RANKS], twice[2] = {world->rank, world->rank}, beyond[1] = {world->size};
    for (int i = 0; i < world->size; i++)
        all[i] = i;
    tri_group *group, *none = NULL;
    tri_request *request = NULL;
    float x = 1.0f;
    TRI_TRY(tri_group_create(world, "all", all, world->size, &group));
    const struct tri_comm_ops *ops = group->ops;
    world->err = scratch;
    enum { NUM = 8 };
    tri_status got[NUM];
    char text[NUM][256];
    for (int i = 0; i < NUM; i++) {
        tri_error_clear(scratch);
        switch (i) {
        case 0:
            got[i] = ops->all_reduce_begin(group, &x, -1, TRI_DTYPE_F32, TRI_REDUCE_SUM, &request);
            break;
        case 1:
            got[i] = ops->all_reduce_begin(group, &x, 1, TRI_DTYPE_F32, TRI_REDUCE_OR, &request);
            break;
        case 2:
            got[i] = ops->all_reduce_begin(group, &x, 1, TRI_DTYPE_I32, TRI_REDUCE_SUM, &request);
            break;
        case 3:
            got[i] = ops->broadcast_begin(group, &x, 1, TRI_DTYPE_F32, world->size, &request);
            break;
        case 4:
            got[i] =
                ops->send_begin(group, &x, 1, TRI_DTYPE_F32, -1, TRI_CHANNEL_FORWARD, &request);
            break;
        case 5:
            got[i] = tri_group_create(world, "odd", beyond, 1, &none);
            break;
        case 6:
            got[i] = tri_group_create(world, "odd", twice, 2, &none);
            break;
        default:
            got[i] = tri_group_create(world, "odd", all, 0, &none);
            break;
        }
        snprintf(text[i], sizeof text[i], "%s", tri_error_message(scratch, 0));
    }
    world->err = own;
    tri_error_destroy(&scratch);
    static const char *const words[NUM] = {
        "count -1 is negative", "use int64",  "cannot reduce", "is not in the group",
        "position -1",          "names rank", "odd",           "0 members"};
    for (int i = 0; i < NUM; i++) {
        EXPECT(got[i] == TRI_INVALID);
        TRI_CHECK(strstr(text[i], words[i]), world->err, TRI_BUG, "'%s' lacks '%s'", text[i],
                  words[i]);
    }
    EXPECT(!request && !none);
    TRI_TRY(tri_group_barrier(group));
    tri_group_destroy(&group);
    return TRI_OK;
}

/* A message to oneself that has no partner cannot come: an error at once. */
static tri_status self_body(void *arg, tri_world *world)
{
    (void)arg;
    int own = world->rank;
    tri_group *group;
    float x = 1.0f, y = 0.0f;
    tri_request *send, *recv;
    TRI_TRY(tri_group_create(world, "own", &own, 1, &group));
    TRI_TRY(group->ops->recv_begin(group, &y, 1, TRI_DTYPE_F32, 0, TRI_CHANNEL_BACKWARD, &recv));
    EXPECT(!group->ops->test(group, recv));
    TRI_TRY(group->ops->send_begin(group, &x, 1, TRI_DTYPE_F32, 0, TRI_CHANNEL_BACKWARD, &send));
    EXPECT(group->ops->test(group, recv) && y == 1.0f);
    TRI_TRY(tri_request_end(group, &send));
    TRI_TRY(tri_request_end(group, &recv));
    EXPECT(tri_group_recv(group, &y, 1, TRI_DTYPE_F32, 0, TRI_CHANNEL_FORWARD) == TRI_COMM);
    EXPECT(strstr(tri_error_message(world->err, 0), "message of its own"));
    tri_error_clear(world->err);
    tri_group_destroy(&group);
    return TRI_OK;
}

static void test_misuse(void **state)
{
    (void)state;
    ranks_pass(&ranks, misuse_body, NULL);
}

static void test_messages_to_oneself(void **state)
{
    (void)state;
    ranks_pass(&ranks, self_body, NULL);
}

static tri_status staging_body(void *arg, tri_world *world)
{
    (void)arg;
    bool stages = ranks.backend == BACKEND_MPI;
    EXPECT(world->staging_bytes(TRI_COMM_ALL_REDUCE, 4, 10001, TRI_DTYPE_F32) ==
           (stages ? 3 * 2501 * 4 : 0));
    EXPECT(world->staging_bytes(TRI_COMM_REDUCE_SCATTER, 4, 101, TRI_DTYPE_BF16) ==
           (stages ? 3 * 101 * 2 : 0));
    EXPECT(world->staging_bytes(TRI_COMM_ALL_REDUCE, 1, 10001, TRI_DTYPE_F32) == 0);
    EXPECT(world->staging_bytes(TRI_COMM_ALL_GATHER, 4, 101, TRI_DTYPE_F32) == 0);
    return TRI_OK;
}

static void test_staging(void **state)
{
    (void)state;
    ranks_pass(&ranks, staging_body, NULL);
}

static void test_launcher(void **state)
{
    (void)state;
    char home[] = "HOME=/root", near_miss[] = "OMPI_COMM_WORLD_SIZES=2";
    char ompi[] = "OMPI_COMM_WORLD_SIZE=2", pmi[] = "PMI_RANK=0", pmix[] = "PMIX_RANK=1";
    char *plain[] = {home, near_miss, NULL};
    char *launched[] = {ompi, pmi, pmix};
    assert_false(tri_mpi_was_launched(plain));
    for (int i = 0; i < 3; i++) {
        char *env[] = {home, launched[i], NULL};
        assert_true(tri_mpi_was_launched(env));
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(tri_comm_op_name(TRI_COMM_ALL_REDUCE), "all_reduce");
    assert_string_equal(tri_comm_op_name(TRI_COMM_BARRIER), "barrier");
    assert_string_equal(tri_comm_op_name(TRI_NUM_COMM_OPS), "unknown operation");
}

/* Without MPI in the build the world says so and how to get it. */
static void test_no_mpi(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    tri_world *world = NULL;
    assert_int_equal(tri_world_create_mpi(1.0, tri_reduce_in_order, err, &world), TRI_UNSUPPORTED);
    assert_null(world);
    assert_non_null(strstr(tri_error_message(err, 0), "is not in this build; install an MPI"));
    tri_error_destroy(&err);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "none")) {
        const struct CMUnitTest none[] = {cmocka_unit_test(test_no_mpi)};
        return cmocka_run_group_tests(none, NULL, NULL);
    }
    if (ranks_open(&ranks, argc > 1 ? argv[1] : "threads", 3, 600.0) != TRI_OK) {
        fprintf(stderr, "skipped: %s\n", tri_error_message(ranks.errs[0], 0));
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_misuse),  cmocka_unit_test(test_messages_to_oneself),
        cmocka_unit_test(test_staging), cmocka_unit_test(test_launcher),
        cmocka_unit_test(test_names),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ranks_close(&ranks);
    return failed;
}
