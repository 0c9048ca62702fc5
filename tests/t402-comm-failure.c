/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that stall, fail, differ or flip a bit, and what the others say: "t402-comm-failure threads"
 * runs all cases, "t402-comm-failure mpi CASE" one, since a failed MPI world does not come back. Who
 * stalls does so until the others have given up, so nothing here depends on how fast the machine is.
 * The case "hang" stalls for ever and is judged by t402-comm-hang.sh.
 */
#include "t4-ranks.h"

#include <unistd.h>

static struct ranks ranks;
static const char *only; /* the one case to run, or NULL */

/* For cases that wait for the limit, and for those that must not need it. Processes that do not get a
   core for a quarter of the limit are taken for lost, so theirs is longer. */
#define SHORT_SECONDS     0.5
#define SHORT_MPI_SECONDS 2.0
#define LONG_SECONDS      600.0

static bool has_own(int rank)
{
    return ranks.backend == BACKEND_THREADS || rank == ranks.world->rank;
}

/* Rank's status, and a part of its message. */
static void expect(int rank, tri_status status, const char *part)
{
    if (!has_own(rank))
        return;
    const char *message = tri_error_message(ranks.errs[rank], 0);
    if (ranks.status[rank] != status || (part && !strstr(message, part)))
        print_message("rank %d: status %d (want %d), '%s' (want '%s')\n", rank,
                      (int)ranks.status[rank], (int)status, message, part ? part : "");
    assert_int_equal(ranks.status[rank], status);
    assert_true(!part || strstr(message, part));
}

static tri_status make_group(tri_world *world, const char *name, int first, int size,
                             tri_group **group)
{
    int members[MAX_RANKS];
    for (int i = 0; i < size; i++)
        members[i] = first + i;
    return tri_group_create(world, name, members, size, group);
}

static tri_status sum_of_one(tri_group *group)
{
    float one = 1.0f;
    return tri_group_all_reduce(group, &one, 1, TRI_DTYPE_F32, TRI_REDUCE_SUM);
}

/* Two sums over all ranks with a fault planted in one of them. */
static tri_status faulty_body(void *arg, tri_world *inner)
{
    tri_world *world;
    tri_group *group = NULL;
    TRI_TRY(tri_world_wrap_fault(inner, arg, &world));
    tri_status status = make_group(world, "all", 0, world->size, &group);
    for (int i = 0; i < 3 && status == TRI_OK; i++)
        status = sum_of_one(group);
    tri_group_destroy(&group);
    if (ranks.backend == BACKEND_THREADS)
        tri_world_destroy(&world);
    else
        ranks.world = world;
    return status;
}

static void case_stall(void)
{
    struct tri_fault_plan plan = {1, TRI_COMM_ALL_REDUCE, 2, TRI_FAULT_STALL};
    ranks_run(&ranks, SHORT_SECONDS, faulty_body, &plan);
    for (int i = 0; i < ranks.num; i++)
        expect(i, TRI_COMM,
               i == 1 ? "planted fault: rank 1 stalled in all_reduce on group 'all'"
                      : "rank 1 did not come to all_reduce number 2 on group 'all' within");
}

static void case_fail(void)
{
    struct tri_fault_plan plan = {2, TRI_COMM_ALL_REDUCE, 3, TRI_FAULT_FAIL};
    ranks_run(&ranks, LONG_SECONDS, faulty_body, &plan);
    for (int i = 0; i < ranks.num; i++)
        expect(i, i == 2 ? TRI_COMM : TRI_PEER,
               i == 2 ? "planted fault: rank 2 failed in all_reduce on group 'all'"
                      : "rank 2 failed first: planted fault: rank 2 failed");
}

/* Rank 0 waits for rank 1, which waits for rank 2, which does not come: all name rank 2. */
static tri_status chain_body(void *arg, tri_world *inner)
{
    tri_world *world;
    tri_group *head = NULL, *tail = NULL;
    float x = 0.0f;
    TRI_TRY(tri_world_wrap_fault(inner, arg, &world));
    tri_status status = TRI_OK;
    if (world->rank < 2)
        status = make_group(world, "head", 0, 2, &head);
    if (status == TRI_OK && (world->rank == 1 || world->rank == 2))
        status = make_group(world, "tail", 1, 2, &tail);
    if (status == TRI_OK && tail)
        status = sum_of_one(tail);
    if (status == TRI_OK && world->rank == 0)
        status = tri_group_recv(head, &x, 1, TRI_DTYPE_F32, 1, TRI_CHANNEL_BACKWARD);
    if (status == TRI_OK && world->rank == 1)
        status = tri_group_send(head, &x, 1, TRI_DTYPE_F32, 0, TRI_CHANNEL_BACKWARD);
    tri_group_destroy(&head);
    tri_group_destroy(&tail);
    if (ranks.backend == BACKEND_THREADS)
        tri_world_destroy(&world);
    else
        ranks.world = world;
    return status;
}

static void case_chain(void)
{
    struct tri_fault_plan plan = {2, TRI_COMM_ALL_REDUCE, 1, TRI_FAULT_STALL};
    ranks_run(&ranks, SHORT_SECONDS, chain_body, &plan);
    expect(0, TRI_COMM, "rank 2 did not come to all_reduce number 1 on group 'tail'");
    expect(1, TRI_COMM, "rank 2 did not come to all_reduce number 1 on group 'tail'");
    expect(2, TRI_COMM, "planted fault");
}

/* Ranks 0 and 1 both receive from each other and nobody sends. */
static tri_status circle_body(void *arg, tri_world *world)
{
    (void)arg;
    if (world->rank > 1)
        return TRI_OK;
    tri_group *group;
    float x;
    TRI_TRY(make_group(world, "pair", 0, 2, &group));
    tri_status status =
        tri_group_recv(group, &x, 1, TRI_DTYPE_F32, 1 - world->rank, TRI_CHANNEL_FORWARD);
    tri_group_destroy(&group);
    return status;
}

static void case_circle(void)
{
    ranks_run(&ranks, SHORT_SECONDS, circle_body, NULL);
    expect(0, TRI_COMM, "did not come to recv number 1 on group 'pair'");
    expect(1, TRI_COMM, "did not come to recv number 1 on group 'pair'");
}

/* A rank that fails for a reason of its own; the others are inside a wait that it never joins. */
static tri_status abandon_body(void *arg, tri_world *world)
{
    (void)arg;
    tri_group *group;
    TRI_TRY(make_group(world, "all", 0, world->size, &group));
    tri_status status = sum_of_one(group);
    if (status == TRI_OK && world->rank == 1)
        status = tri_error_set(world->err, TRI_NUMERIC, "gradient of 'w' is not finite");
    if (status == TRI_OK)
        status = tri_group_barrier(group);
    tri_group_destroy(&group);
    return status;
}

static void case_abandon(void)
{
    tri_status status = ranks_run(&ranks, LONG_SECONDS, abandon_body, NULL);
    if (ranks.backend == BACKEND_THREADS)
        assert_int_equal(status, TRI_NUMERIC);
    for (int i = 0; i < ranks.num; i++)
        expect(i, i == 1 ? TRI_NUMERIC : TRI_PEER,
               i == 1 ? "gradient of 'w'" : "rank 1 failed first: gradient of 'w' is not finite");
}

/* Rank 0 never creates the group that the others use. */
static tri_status absent_body(void *arg, tri_world *world)
{
    (void)arg;
    tri_group *group;
    if (world->rank == 0) {
        while (!world->is_failed(world))
            usleep(1000);
        return TRI_OK;
    }
    TRI_TRY(make_group(world, "all", 0, world->size, &group));
    tri_status status = tri_group_barrier(group);
    tri_group_destroy(&group);
    return status;
}

static void case_absent(void)
{
    ranks_run(&ranks, SHORT_SECONDS, absent_body, NULL);
    expect(0, TRI_OK, NULL);
    for (int i = 1; i < ranks.num; i++)
        expect(i, TRI_COMM, "rank 0 did not come to barrier number");
}

static tri_status hang_body(void *arg, tri_world *world)
{
    (void)arg;
    tri_group *group;
    TRI_TRY(make_group(world, "all", 0, world->size, &group));
    TRI_TRY(sum_of_one(group));
    while (world->rank == 1)
        pause();
    return sum_of_one(group);
}

static void case_hang(void)
{
    ranks_run(&ranks, SHORT_SECONDS, hang_body, NULL);
    for (int i = 0; i < ranks.num; i++)
        if (has_own(i))
            fprintf(stderr, "rank %d says: %s\n", i, tri_error_message(ranks.errs[i], 0));
}

/* One bit of what rank 1 gives changes: everybody gets the same, and not what is right. */
static tri_status flip_body(void *arg, tri_world *inner)
{
    tri_world *world;
    tri_group *group;
    TRI_TRY(tri_world_wrap_fault(inner, arg, &world));
    TRI_TRY(make_group(world, "all", 0, world->size, &group));
    int64_t right = 0, sum = 0, gathered[MAX_RANKS], mine = 1000 + world->rank;
    for (int i = 0; i < world->size; i++)
        right += 1000 + i;
    for (int round = 0; round < 2; round++) {
        sum = mine;
        TRI_TRY(tri_group_all_reduce(group, &sum, 1, TRI_DTYPE_I64, TRI_REDUCE_SUM));
        int64_t gave = mine;
        TRI_TRY(tri_group_all_gather(group, gathered, &mine, 1, TRI_DTYPE_I64));
        EXPECT(mine == gave);
        const struct tri_fault_plan *plan = arg;
        int64_t bit = (int64_t)1 << 32; /* the lowest of the middle byte of eight */
        bool is_sum = plan->op == TRI_COMM_ALL_REDUCE;
        EXPECT(sum == right + (round == 1 && is_sum ? bit : 0));
        for (int i = 0; i < world->size; i++)
            EXPECT(gathered[i] == 1000 + i + (round == 1 && !is_sum && i == 1 ? bit : 0));
    }
    tri_group_destroy(&group);
    if (ranks.backend == BACKEND_THREADS)
        tri_world_destroy(&world);
    else
        ranks.world = world;
    return TRI_OK;
}

static void case_flip(void)
{
    struct tri_fault_plan plan = {1, TRI_COMM_ALL_REDUCE, 2, TRI_FAULT_FLIP};
    ranks_pass(&ranks, flip_body, &plan);
    plan.op = TRI_COMM_ALL_GATHER;
    ranks_pass(&ranks, flip_body, &plan);
}

static tri_status flip_refused_body(void *arg, tri_world *world)
{
    (void)arg;
    struct tri_fault_plan plan = {0, TRI_COMM_BARRIER, 1, TRI_FAULT_FLIP};
    tri_world *none = NULL;
    tri_status status = tri_world_wrap_fault(world, &plan, &none);
    EXPECT(status == TRI_INVALID && !none);
    EXPECT(strstr(tri_error_message(world->err, 0), "barrier sends no buffer"));
    tri_error_clear(world->err);
    return TRI_OK;
}

static void case_flip_refused(void)
{
    ranks_pass(&ranks, flip_refused_body, NULL);
}

struct lines {
    int num;
    char text[4][200];
};

static void line_keep(void *arg, const char *line)
{
    struct lines *lines = arg;
    if (lines->num < 4)
        snprintf(lines->text[lines->num++], sizeof lines->text[0], "%s", line);
}

static tri_status trace_body(void *arg, tri_world *inner)
{
    (void)arg;
    struct lines lines = {0};
    tri_world *world;
    tri_group *group;
    float x[MAX_RANKS] = {0};
    TRI_TRY(tri_world_wrap_trace(inner, line_keep, &lines, &world));
    TRI_TRY(make_group(world, "all", 0, world->size, &group));
    TRI_TRY(tri_group_all_reduce(group, x, 3, TRI_DTYPE_F32, TRI_REDUCE_SUM));
    TRI_TRY(tri_group_barrier(group));
    tri_request *sent;
    int next = (world->rank + 1) % world->size;
    int previous = (world->rank + world->size - 1) % world->size;
    TRI_TRY(group->ops->send_begin(group, x, 2, TRI_DTYPE_F32, next, TRI_CHANNEL_FORWARD, &sent));
    TRI_TRY(tri_group_recv(group, x + 2, 2, TRI_DTYPE_F32, previous, TRI_CHANNEL_FORWARD));
    TRI_TRY(tri_request_end(group, &sent));
    char want[4][200];
    snprintf(want[0], sizeof want[0], "rank %d group all op all_reduce bytes 12 sequence 1",
             world->rank);
    snprintf(want[1], sizeof want[1], "rank %d group all op barrier bytes 0 sequence 2",
             world->rank);
    snprintf(want[2], sizeof want[2], "rank %d group all op send bytes 8 sequence 3 peer %d",
             world->rank, next);
    snprintf(want[3], sizeof want[3], "rank %d group all op recv bytes 8 sequence 4 peer %d",
             world->rank, previous);
    EXPECT(lines.num == 4);
    for (int i = 0; i < 4; i++)
        TRI_CHECK(!strcmp(lines.text[i], want[i]), world->err, TRI_BUG, "traced '%s', not '%s'",
                  lines.text[i], want[i]);
    tri_group_destroy(&group);
    if (ranks.backend == BACKEND_THREADS)
        tri_world_destroy(&world);
    else
        ranks.world = world;
    return TRI_OK;
}

static void case_trace(void)
{
    ranks_pass(&ranks, trace_body, NULL);
}

/* Rank 0 and the others begin something else; which is *arg. */
static tri_status mismatch_body(void *arg, tri_world *world)
{
    int which = *(const int *)arg;
    bool is_first = world->rank == 0;
    tri_group *group;
    float x[8 * MAX_RANKS] = {0};
    TRI_TRY(make_group(world, "all", 0, world->size, &group));
    tri_status status = TRI_OK;
    int64_t expected[MAX_RANKS], given[MAX_RANKS], first[MAX_RANKS];
    for (int i = 0; i < world->size; i++) {
        expected[i] = 1;
        given[i] = world->rank == 1 && i == 0 ? 2 : 1;
        first[i] = i;
    }
    switch (which) {
    case 0: /* kind */
        status = is_first ? sum_of_one(group) : tri_group_all_gather(group, x, x, 1, TRI_DTYPE_F32);
        break;
    case 1: /* count */
        status = tri_group_all_reduce(group, x, is_first ? 4 : 5, TRI_DTYPE_F32, TRI_REDUCE_SUM);
        break;
    case 2: /* root */
        status = tri_group_broadcast(group, x, 4, TRI_DTYPE_F32, is_first ? 0 : 1);
        break;
    case 3: /* what is done with the values */
        status = tri_group_all_reduce(group, x, 4, TRI_DTYPE_F32,
                                      is_first ? TRI_REDUCE_SUM : TRI_REDUCE_MAX);
        break;
    case 4: /* a message's count */
        if (world->rank == 0)
            status = tri_group_send(group, x, 4, TRI_DTYPE_F32, 1, TRI_CHANNEL_FORWARD);
        if (world->rank == 1)
            status = tri_group_recv(group, x, 3, TRI_DTYPE_F32, 0, TRI_CHANNEL_FORWARD);
        break;
    default: /* what one gives another in an all_to_all */
        status = tri_group_all_to_all(group, x + 4 * MAX_RANKS, expected, first, x, given, first,
                                      TRI_DTYPE_F32);
        break;
    }
    /* Each of two roots waits for nobody. */
    if (status == TRI_OK && which == 2)
        status = sum_of_one(group);
    tri_group_destroy(&group);
    return status;
}

static void case_mismatch(void)
{
    static const char *const parts[] = {"differs", "differs", "differs",
                                        "differs", "differs", "elements from rank"};
    for (int which = 0; which < 6; which++) {
        ranks_run(&ranks, LONG_SECONDS, mismatch_body, &which);
        bool is_named = false;
        for (int i = 0; i < ranks.num; i++) {
            is_named = is_named || strstr(tri_error_message(ranks.errs[i], 0), parts[which]);
            if (which != 4 || i < 2)
                assert_true(ranks.status[i] == TRI_COMM || ranks.status[i] == TRI_PEER);
        }
        assert_true(is_named);
    }
}

/* Under mpi all ranks say the same, long before the time limit. The first to say it may be either side. */
static void mismatch_named(int which, const char *first, const char *second)
{
    ranks_run(&ranks, LONG_SECONDS, mismatch_body, &which);
    for (int i = 0; i < ranks.num; i++) {
        /* What rank 0 sends may be under way before rank 1 has looked at it. */
        if (which == 4 && (i > 1 || ranks.status[i] == TRI_OK))
            continue;
        expect(i, TRI_COMM, " on group 'all' differs: rank ");
        expect(i, TRI_COMM, first);
        expect(i, TRI_COMM, second);
    }
}

static void case_mismatch_kind(void)
{
    mismatch_named(0, "rank 0 began all_reduce (sum) of 1 fp32", " began all_gather of 1 fp32");
}

static void case_mismatch_count(void)
{
    mismatch_named(1, "rank 0 began all_reduce (sum) of 4 fp32",
                   " began all_reduce (sum) of 5 fp32");
}

static void case_mismatch_root(void)
{
    mismatch_named(2, "rank 0 began broadcast from member 0 of 4",
                   " began broadcast from member 1");
}

static void case_mismatch_reduce(void)
{
    mismatch_named(3, "rank 0 began all_reduce (sum) of 4", " began all_reduce (max) of 4");
}

static void case_mismatch_message(void)
{
    mismatch_named(4, "rank 0 began send of 4 fp32", "rank 1 began recv of 3 fp32");
}

/* Counts of an all_to_all are not compared, but what does not fit does not arrive either. */
static void case_mismatch_pair(void)
{
    int which = 5;
    ranks_run(&ranks, SHORT_SECONDS, mismatch_body, &which);
    expect(0, TRI_COMM, "rank 1 did not come to all_to_all number 1 on group 'all' within");
}

static const struct {
    const char *name;
    void (*run)(void);
    bool only_threads, only_mpi;
} cases[] = {
    {"stall", case_stall, false, false},
    {"fail", case_fail, false, false},
    {"chain", case_chain, false, false},
    {"circle", case_circle, false, false},
    {"abandon", case_abandon, false, false},
    {"absent", case_absent, false, false},
    {"hang", case_hang, false, true},
    {"flip", case_flip, true, false},
    {"trace", case_trace, false, false},
    {"mismatch", case_mismatch, true, false},
    {"mismatch_kind", case_mismatch_kind, false, true},
    {"mismatch_count", case_mismatch_count, false, true},
    {"mismatch_root", case_mismatch_root, false, true},
    {"mismatch_reduce", case_mismatch_reduce, false, true},
    {"mismatch_message", case_mismatch_message, false, true},
    {"mismatch_pair", case_mismatch_pair, false, true},
    {"flip_refused", case_flip_refused, false, false},
};

static void test_cases(void **state)
{
    (void)state;
    int num_run = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (ranks.backend == BACKEND_THREADS ? cases[i].only_mpi : cases[i].only_threads)
            continue;
        if (only && strcmp(only, cases[i].name))
            continue;
        print_message("case %s\n", cases[i].name);
        cases[i].run();
        num_run++;
    }
    assert_true(num_run > 0);
}

int main(int argc, char **argv)
{
    only = argc > 2 ? argv[2] : NULL;
    bool is_short = only && (!strcmp(only, "stall") || !strcmp(only, "chain") ||
                             !strcmp(only, "circle") || !strcmp(only, "absent") ||
                             !strcmp(only, "hang") || !strcmp(only, "mismatch_pair"));
    if (ranks_open(&ranks, argc > 1 ? argv[1] : "threads", 4,
                   is_short ? SHORT_MPI_SECONDS : LONG_SECONDS) != TRI_OK) {
        fprintf(stderr, "skipped: %s\n", tri_error_message(ranks.errs[0], 0));
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ranks_close(&ranks);
    return failed;
}
