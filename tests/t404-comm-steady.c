/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After its first rounds a communicator allocates nothing: the calls that the rooms' own objects make
 * are counted by the linker's --wrap. Run as "t404-comm-steady self|threads|mpi".
 */
#include "t4-ranks.h"

#include <stdatomic.h>

static struct ranks ranks;
static atomic_int num_calls;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t num, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t num, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    atomic_fetch_add(&num_calls, 1);
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t num, size_t bytes)
{
    atomic_fetch_add(&num_calls, 1);
    return __real_calloc(num, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    atomic_fetch_add(&num_calls, 1);
    return __real_realloc(old, bytes);
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    atomic_fetch_add(&num_calls, 1);
    return __real_aligned_alloc(align, bytes);
}

#define COUNT 5003

/* A step's worth of operations: buckets under way while others run, messages, an exchange. */
static tri_status round_of_operations(tri_group *group, float *x, float *y)
{
    const struct tri_comm_ops *ops = group->ops;
    tri_request *buckets[3], *sent;
    int64_t counts[MAX_RANKS], first[MAX_RANKS];
    int next = (group->rank + 1) % group->size;
    int previous = (group->rank + group->size - 1) % group->size;
    for (int i = 0; i < 3; i++)
        TRI_TRY(ops->reduce_scatter_begin(group, y + i * COUNT, x, COUNT / group->size,
                                          TRI_DTYPE_F32, TRI_REDUCE_SUM, &buckets[i]));
    TRI_TRY(tri_group_all_reduce(group, y + 4 * COUNT, COUNT, TRI_DTYPE_F32, TRI_REDUCE_MAX));
    TRI_TRY(ops->send_begin(group, x, COUNT, TRI_DTYPE_F32, next, TRI_CHANNEL_FORWARD, &sent));
    TRI_TRY(
        tri_group_recv(group, y + 3 * COUNT, COUNT, TRI_DTYPE_F32, previous, TRI_CHANNEL_FORWARD));
    TRI_TRY(tri_request_end(group, &sent));
    for (int i = 2; i >= 0; i--)
        TRI_TRY(tri_request_end(group, &buckets[i]));
    for (int i = 0; i < group->size; i++) {
        counts[i] = 5;
        first[i] = 5 * i;
    }
    TRI_TRY(tri_group_all_to_all(group, y, counts, first, x, counts, first, TRI_DTYPE_F32));
    TRI_TRY(tri_group_broadcast(group, y, COUNT, TRI_DTYPE_F32, 0));
    return tri_group_agree(group, TRI_OK);
}

static tri_status steady_body(void *arg, tri_world *world)
{
    (void)arg;
    int all[MAX_RANKS];
    for (int i = 0; i < world->size; i++)
        all[i] = i;
    tri_group *group;
    TRI_TRY(tri_group_create(world, "all", all, world->size, &group));
    float *x = calloc(5 * COUNT, sizeof *x), *y = calloc(5 * COUNT, sizeof *y);
    EXPECT(x && y);
    int before = 0, after = 0;
    for (int i = 0; i < 60; i++) {
        TRI_TRY(tri_group_barrier(group));
        if (i == 2)
            before = atomic_load(&num_calls);
        TRI_TRY(tri_group_barrier(group));
        TRI_TRY(round_of_operations(group, x, y));
    }
    TRI_TRY(tri_group_barrier(group));
    after = atomic_load(&num_calls);
    TRI_TRY(tri_group_barrier(group));
    EXPECT(before > 0);
    TRI_CHECK(after == before, world->err, TRI_BUG, "%d allocations in 58 steady rounds",
              after - before);
    free(x);
    free(y);
    tri_group_destroy(&group);
    return TRI_OK;
}

static void test_steady(void **state)
{
    (void)state;
    ranks_pass(&ranks, steady_body, NULL);
}

int main(int argc, char **argv)
{
    if (ranks_open(&ranks, argc > 1 ? argv[1] : "threads", 4, 600.0) != TRI_OK) {
        fprintf(stderr, "skipped: %s\n", tri_error_message(ranks.errs[0], 0));
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steady)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ranks_close(&ranks);
    return failed;
}
