/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The battery that every backend of comm/ passes, run as "t400-comm self|threads|mpi". Each body
 * works on the groups of the first 1, 2, ... ranks of its world, in an order of ranks that is not
 * the world's, and compares bit for bit with what one rank computes alone from everybody's inputs.
 */
#include "t4-ranks.h"

static struct ranks ranks;

static const int64_t counts[] = {0, 1, 7, 513, 4099, 30011};
#define NUM_COUNTS (sizeof counts / sizeof *counts)
#define MOST       30011

/* Buffers of one rank; every body makes and frees its own. */
struct room {
    char *a, *b, *c, *each[MAX_RANKS];
};

static tri_status room_init(tri_world *world, struct room *room, int num)
{
    size_t bytes = (size_t)(MOST * 8 * num + 64);
    *room = (struct room){.a = calloc(1, bytes), .b = calloc(1, bytes), .c = calloc(1, bytes)};
    EXPECT(room->a && room->b && room->c);
    for (int i = 0; i < num; i++) {
        room->each[i] = calloc(1, bytes);
        EXPECT(room->each[i]);
    }
    return TRI_OK;
}

static void room_fini(struct room *room)
{
    free(room->a);
    free(room->b);
    free(room->c);
    for (int i = 0; i < MAX_RANKS; i++)
        free(room->each[i]);
}

typedef tri_status group_fn(tri_group *group, tri_world *world, struct room *room);

/* Runs fn on the group of the first size ranks, beginning with the last, for all sizes. */
static tri_status on_all_sizes(void *arg, tri_world *world)
{
    group_fn *const *fn = arg;
    struct room room;
    tri_status status = room_init(world, &room, world->size);
    for (int size = 1; size <= world->size && status == TRI_OK; size++) {
        if (world->rank >= size)
            continue;
        int members[MAX_RANKS];
        for (int i = 0; i < size; i++)
            members[i] = (i + size - 1) % size;
        char name[32];
        snprintf(name, sizeof name, "first_%d", size);
        tri_group *group = NULL;
        status = tri_group_create(world, name, members, size, &group);
        if (status == TRI_OK)
            status = (*fn)(group, world, &room);
        tri_group_destroy(&group);
    }
    room_fini(&room);
    return status;
}

/* What a reduction of everybody's fill(salt) must give: for the wide types by plain loops here. */
static void reduced(const tri_group *group, struct room *room, void *out, enum tri_dtype dtype,
                    enum tri_reduce op, int64_t count, int salt)
{
    const void *in[MAX_RANKS];
    for (int i = 0; i < group->size; i++) {
        fill(room->each[i], dtype, count, group->ranks[i], salt);
        in[i] = room->each[i];
    }
    if (op != TRI_REDUCE_SUM || (dtype != TRI_DTYPE_F32 && dtype != TRI_DTYPE_F64)) {
        tri_reduce_in_order(op, dtype, out, in, group->size, count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float narrow = ((const float *)in[0])[dtype == TRI_DTYPE_F32 ? i : 0];
        double wide = dtype == TRI_DTYPE_F64 ? ((const double *)in[0])[i] : 0.0;
        for (int k = 1; k < group->size; k++) {
            if (dtype == TRI_DTYPE_F32)
                narrow += ((const float *)in[k])[i];
            else
                wide += ((const double *)in[k])[i];
        }
        if (dtype == TRI_DTYPE_F32)
            ((float *)out)[i] = narrow;
        else
            ((double *)out)[i] = wide;
    }
}

static const struct {
    enum tri_dtype dtype;
    enum tri_reduce op;
} reductions[] = {
    {TRI_DTYPE_F32, TRI_REDUCE_SUM},  {TRI_DTYPE_F64, TRI_REDUCE_SUM},
    {TRI_DTYPE_BF16, TRI_REDUCE_SUM}, {TRI_DTYPE_F16, TRI_REDUCE_SUM},
    {TRI_DTYPE_I64, TRI_REDUCE_SUM},  {TRI_DTYPE_F32, TRI_REDUCE_MAX},
    {TRI_DTYPE_F64, TRI_REDUCE_MIN},  {TRI_DTYPE_I64, TRI_REDUCE_OR},
};
#define NUM_REDUCTIONS (sizeof reductions / sizeof *reductions)

static tri_status check_all_reduce(tri_group *group, tri_world *world, struct room *room)
{
    for (size_t r = 0; r < NUM_REDUCTIONS; r++)
        for (size_t c = 0; c < NUM_COUNTS; c++) {
            enum tri_dtype dtype = reductions[r].dtype;
            size_t bytes = (size_t)counts[c] * tri_dtype_bytes(dtype);
            fill(room->a, dtype, counts[c], world->rank, 10);
            TRI_TRY(tri_group_all_reduce(group, room->a, counts[c], dtype, reductions[r].op));
            reduced(group, room, room->b, dtype, reductions[r].op, counts[c], 10);
            EXPECT(!memcmp(room->a, room->b, bytes));
        }
    return TRI_OK;
}

static tri_status check_reduce_scatter(tri_group *group, tri_world *world, struct room *room)
{
    for (size_t r = 0; r < NUM_REDUCTIONS; r++)
        for (size_t c = 0; c < NUM_COUNTS; c++)
            for (int in_place = 0; in_place < 2; in_place++) {
                enum tri_dtype dtype = reductions[r].dtype;
                size_t bytes = (size_t)counts[c] * tri_dtype_bytes(dtype);
                fill(room->a, dtype, counts[c] * group->size, world->rank, 11);
                char *part = room->a + bytes * (size_t)group->rank;
                char *out = in_place ? part : room->c;
                TRI_TRY(tri_group_reduce_scatter(group, out, room->a, counts[c], dtype,
                                                 reductions[r].op));
                reduced(group, room, room->b, dtype, reductions[r].op, counts[c] * group->size, 11);
                EXPECT(!memcmp(out, room->b + bytes * (size_t)group->rank, bytes));
            }
    return TRI_OK;
}

static tri_status check_all_gather(tri_group *group, tri_world *world, struct room *room)
{
    static const enum tri_dtype dtypes[] = {TRI_DTYPE_F32, TRI_DTYPE_U8, TRI_DTYPE_BF16};
    for (size_t d = 0; d < 3; d++)
        for (size_t c = 0; c < NUM_COUNTS; c++)
            for (int in_place = 0; in_place < 2; in_place++) {
                size_t bytes = (size_t)counts[c] * tri_dtype_bytes(dtypes[d]);
                char *in = in_place ? room->b + bytes * (size_t)group->rank : room->a;
                memset(room->b, 0x5a, bytes * (size_t)group->size + 1);
                fill(in, dtypes[d], counts[c], world->rank, 12);
                TRI_TRY(tri_group_all_gather(group, room->b, in, counts[c], dtypes[d]));
                for (int i = 0; i < group->size; i++) {
                    fill(room->c, dtypes[d], counts[c], group->ranks[i], 12);
                    EXPECT(!memcmp(room->b + bytes * (size_t)i, room->c, bytes));
                }
                EXPECT(room->b[bytes * (size_t)group->size] == 0x5a);
            }
    return TRI_OK;
}

static tri_status check_broadcast(tri_group *group, tri_world *world, struct room *room)
{
    for (int root = 0; root < group->size; root++)
        for (size_t c = 0; c < NUM_COUNTS; c++) {
            size_t bytes = (size_t)counts[c] * 4;
            fill(room->a, TRI_DTYPE_F32, counts[c], world->rank, 13);
            room->a[bytes] = 0x5a;
            TRI_TRY(tri_group_broadcast(group, room->a, counts[c], TRI_DTYPE_F32, root));
            fill(room->b, TRI_DTYPE_F32, counts[c], group->ranks[root], 13);
            EXPECT(!memcmp(room->a, room->b, bytes));
            EXPECT(room->a[bytes] == 0x5a);
        }
    return TRI_OK;
}

/* How much rank gives to another in round: often nothing. */
static int64_t given(int from, int to, int round)
{
    uint64_t bits = mix((uint64_t)(from * 64 + to) * 16u + (uint64_t)round);
    return bits & 1u ? (int64_t)(bits >> 8 & 0x7ffu) : 0;
}

static tri_status check_all_to_all(tri_group *group, tri_world *world, struct room *room)
{
    for (int round = 0; round < 4; round++) {
        int64_t in_counts[MAX_RANKS], in_first[MAX_RANKS];
        int64_t out_counts[MAX_RANKS], out_first[MAX_RANKS], in_end = 3, out_end = 5;
        for (int i = 0; i < group->size; i++) {
            in_counts[i] = round == 3 ? 0 : given(world->rank, group->ranks[i], round);
            out_counts[i] = round == 3 ? 0 : given(group->ranks[i], world->rank, round);
            in_first[i] = in_end;
            out_first[i] = out_end;
            in_end += in_counts[i] + 2;
            out_end += out_counts[i] + 1;
            fill(room->a + 4 * in_first[i], TRI_DTYPE_F32, in_counts[i],
                 world->rank * MAX_RANKS + group->ranks[i], 14);
        }
        TRI_TRY(tri_group_all_to_all(group, room->b, out_counts, out_first, room->a, in_counts,
                                     in_first, TRI_DTYPE_F32));
        for (int i = 0; i < group->size; i++) {
            fill(room->c, TRI_DTYPE_F32, out_counts[i], group->ranks[i] * MAX_RANKS + world->rank,
                 14);
            EXPECT(!memcmp(room->b + 4 * out_first[i], room->c, (size_t)out_counts[i] * 4));
        }
    }
    return TRI_OK;
}

#define NUM_MESSAGES 4
#define MESSAGE_MOST (MOST / 8)

/* Message number k of a round on one channel: its length and where it lies in a buffer. */
struct message {
    int64_t count;
    size_t offset;
    int salt;
};

static struct message message_of(int round, int k, int channel)
{
    int64_t count = counts[(k * 2 + round) % (int)NUM_COUNTS];
    return (struct message){.count = count < MESSAGE_MOST ? count : MESSAGE_MOST,
                            .offset = (size_t)(k * 2 + channel) * MESSAGE_MOST * 4,
                            .salt = k * 2 + channel};
}

/* Begins one send to 'to' and one receive from 'from', in either order. */
static tri_status message_pair_begin(tri_group *group, struct room *room, struct message message,
                                     int to, int from, enum tri_channel channel, bool is_send_first,
                                     tri_request **requests)
{
    char *out = room->a + message.offset, *got = room->b + message.offset;
    fill(out, TRI_DTYPE_F32, message.count, group->world->rank, message.salt);
    for (int i = 0; i < 2; i++)
        if ((i == 0) == is_send_first)
            TRI_TRY(group->ops->send_begin(group, out, message.count, TRI_DTYPE_F32, to, channel,
                                           &requests[i]));
        else
            TRI_TRY(group->ops->recv_begin(group, got, message.count, TRI_DTYPE_F32, from, channel,
                                           &requests[i]));
    return TRI_OK;
}

/* A ring in both directions at once, several messages outstanding; in a group of two previous and
   next are one peer and only the channels keep the streams apart. Ends come in reverse order. */
static tri_status check_messages(tri_group *group, tri_world *world, struct room *room)
{
    int next = (group->rank + 1) % group->size;
    int previous = (group->rank + group->size - 1) % group->size;
    int neighbours[TRI_NUM_CHANNELS][2] = {{next, previous}, {previous, next}};
    tri_request *requests[4 * NUM_MESSAGES];
    for (int round = 0; round < 3; round++) {
        int num = 0;
        for (int k = 0; k < NUM_MESSAGES; k++)
            for (int channel = 0; channel < TRI_NUM_CHANNELS; channel++, num += 2)
                TRI_TRY(message_pair_begin(group, room, message_of(round, k, channel),
                                           neighbours[channel][0], neighbours[channel][1],
                                           (enum tri_channel)channel, (group->rank + k) % 2 == 0,
                                           requests + num));
        while (num > 0) {
            TRI_TRY(tri_request_end(group, &requests[--num]));
            EXPECT(requests[num] == NULL);
        }
        for (int k = 0; k < NUM_MESSAGES; k++)
            for (int channel = 0; channel < TRI_NUM_CHANNELS; channel++) {
                struct message message = message_of(round, k, channel);
                fill(room->c, TRI_DTYPE_F32, message.count, group->ranks[neighbours[channel][1]],
                     message.salt);
                EXPECT(!memcmp(room->b + message.offset, room->c, (size_t)message.count * 4));
            }
    }
    return TRI_OK;
}

/* A blocking chain, as a pipeline sends: from each member to the next. */
static tri_status check_chain(tri_group *group, tri_world *world, struct room *room)
{
    for (int64_t count = 1; count <= 20001; count += 20000) {
        if (group->rank > 0)
            TRI_TRY(tri_group_recv(group, room->a, count, TRI_DTYPE_F32, group->rank - 1,
                                   TRI_CHANNEL_FORWARD));
        else
            fill(room->a, TRI_DTYPE_F32, count, 99, 15);
        fill(room->b, TRI_DTYPE_F32, count, 99, 15);
        EXPECT(!memcmp(room->a, room->b, (size_t)count * 4));
        if (group->rank + 1 < group->size)
            TRI_TRY(tri_group_send(group, room->a, count, TRI_DTYPE_F32, group->rank + 1,
                                   TRI_CHANNEL_FORWARD));
        TRI_TRY(tri_group_barrier(group));
    }
    return TRI_OK;
}

/* Several operations under way on two groups with the same members, ended in an order that differs
   from rank to rank; test() is asked on the way. */
static tri_status check_outstanding(tri_group *group, tri_world *world, struct room *room)
{
    tri_group *other;
    TRI_TRY(tri_group_create(world, "other", group->ranks, group->size, &other));
    const int64_t count = 6007;
    const size_t slot = (size_t)count * 4;
    enum { NUM = 6 };
    for (int round = 0; round < 8; round++) {
        tri_request *requests[NUM];
        for (int k = 0; k < NUM; k++) {
            tri_group *used = k % 2 ? other : group;
            fill(room->a + slot * (size_t)k, TRI_DTYPE_F32, count, world->rank, 20 + k);
            TRI_TRY(used->ops->all_reduce_begin(used, room->a + slot * (size_t)k, count,
                                                TRI_DTYPE_F32, TRI_REDUCE_SUM, &requests[k]));
        }
        for (int k = 0; k < NUM; k++) {
            int which = (k * 5 + world->rank + round) % NUM;
            tri_group *used = which % 2 ? other : group;
            while (round % 2 && !used->ops->test(used, requests[which]))
                ;
            TRI_TRY(tri_request_end(used, &requests[which]));
        }
        for (int k = 0; k < NUM; k++) {
            reduced(group, room, room->b, TRI_DTYPE_F32, TRI_REDUCE_SUM, count, 20 + k);
            EXPECT(!memcmp(room->a + slot * (size_t)k, room->b, slot));
        }
    }
    tri_group_destroy(&other);
    return TRI_OK;
}

static tri_status check_agree(tri_group *group, tri_world *world, struct room *room)
{
    (void)room;
    tri_error *own = world->err, *scratch = tri_error_create();
    EXPECT(tri_group_agree(group, TRI_OK) == TRI_OK);
    for (int bad = 0; bad < group->size; bad++) {
        tri_error_clear(scratch);
        world->err = scratch;
        int failed = group->ranks[bad];
        bool is_failed = world->rank == failed || world->rank == group->size - 1;
        tri_status status = tri_group_agree(group, is_failed ? TRI_NUMERIC : TRI_OK);
        world->err = own;
        EXPECT(status == (is_failed ? TRI_NUMERIC : TRI_PEER));
        char lowest[32];
        snprintf(lowest, sizeof lowest, "rank %d ", failed);
        if (!is_failed)
            EXPECT(strstr(tri_error_message(scratch, 0), lowest));
    }
    tri_error_destroy(&scratch);
    return TRI_OK;
}

/* Rows and columns of a grid: every rank is in two groups that share only itself. */
static tri_status overlapping_body(void *arg, tri_world *world)
{
    (void)arg;
    if (world->size % 2)
        return TRI_OK;
    int half = world->size / 2, row = world->rank / half, column = world->rank % half;
    int in_row[MAX_RANKS], in_column[2] = {column, column + half};
    for (int i = 0; i < half; i++)
        in_row[i] = row * half + i;
    tri_group *across, *down;
    TRI_TRY(tri_group_create(world, "row", in_row, half, &across));
    TRI_TRY(tri_group_create(world, "column", in_column, 2, &down));
    EXPECT(across->rank == column && down->rank == row && across->size == half);
    for (int round = 0; round < 50; round++) {
        int64_t value = world->rank + round, sum = 0;
        tri_request *outer;
        int64_t later = world->rank;
        TRI_TRY(
            down->ops->all_reduce_begin(down, &later, 1, TRI_DTYPE_I64, TRI_REDUCE_SUM, &outer));
        TRI_TRY(tri_group_all_reduce(across, &value, 1, TRI_DTYPE_I64, TRI_REDUCE_SUM));
        TRI_TRY(tri_request_end(down, &outer));
        for (int i = 0; i < half; i++)
            sum += in_row[i] + round;
        EXPECT(value == sum);
        EXPECT(later == in_column[0] + in_column[1]);
    }
    tri_group_destroy(&across);
    tri_group_destroy(&down);
    return TRI_OK;
}

/* One large buffer: more than a message carries at once under mpi. */
static tri_status large_body(void *arg, tri_world *world)
{
    (void)arg;
    int all[2] = {0, 1};
    if (world->rank > 1 || world->size < 2)
        return TRI_OK;
    const int64_t count = 20 * 1024 * 1024 + 3;
    tri_group *group;
    TRI_TRY(tri_group_create(world, "pair", all, 2, &group));
    float *a = malloc((size_t)count * 4), *b = malloc((size_t)count * 4);
    EXPECT(a && b);
    fill(a, TRI_DTYPE_F32, count, world->rank, 30);
    tri_request *send, *recv;
    int peer = 1 - group->rank;
    TRI_TRY(
        group->ops->send_begin(group, a, count, TRI_DTYPE_F32, peer, TRI_CHANNEL_FORWARD, &send));
    TRI_TRY(
        group->ops->recv_begin(group, b, count, TRI_DTYPE_F32, peer, TRI_CHANNEL_FORWARD, &recv));
    TRI_TRY(tri_request_end(group, &send));
    TRI_TRY(tri_request_end(group, &recv));
    /* b: what the peer has. The sum of both must be what the all-reduce gives. */
    for (int64_t i = 0; i < count; i++)
        b[i] = a[i] + b[i];
    TRI_TRY(tri_group_all_reduce(group, a, count, TRI_DTYPE_F32, TRI_REDUCE_SUM));
    EXPECT(!memcmp(a, b, (size_t)count * 4));
    free(a);
    free(b);
    tri_group_destroy(&group);
    return TRI_OK;
}

static void on_groups(group_fn *fn)
{
    ranks_pass(&ranks, on_all_sizes, &fn);
}
static void test_all_reduce(void **state)
{
    (void)state;
    on_groups(check_all_reduce);
}
static void test_reduce_scatter(void **state)
{
    (void)state;
    on_groups(check_reduce_scatter);
}
static void test_all_gather(void **state)
{
    (void)state;
    on_groups(check_all_gather);
}
static void test_broadcast(void **state)
{
    (void)state;
    on_groups(check_broadcast);
}
static void test_all_to_all(void **state)
{
    (void)state;
    on_groups(check_all_to_all);
}
static void test_messages(void **state)
{
    (void)state;
    on_groups(check_messages);
}
static void test_chain(void **state)
{
    (void)state;
    on_groups(check_chain);
}
static void test_outstanding(void **state)
{
    (void)state;
    on_groups(check_outstanding);
}
static void test_agree(void **state)
{
    (void)state;
    on_groups(check_agree);
}
static void test_overlapping_groups(void **state)
{
    (void)state;
    ranks_pass(&ranks, overlapping_body, NULL);
}
static void test_large(void **state)
{
    (void)state;
    ranks_pass(&ranks, large_body, NULL);
}

int main(int argc, char **argv)
{
    if (ranks_open(&ranks, argc > 1 ? argv[1] : "threads", 8, 600.0) != TRI_OK) {
        fprintf(stderr, "skipped: %s\n", tri_error_message(ranks.errs[0], 0));
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_reduce), cmocka_unit_test(test_reduce_scatter),
        cmocka_unit_test(test_all_gather), cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_all_to_all), cmocka_unit_test(test_messages),
        cmocka_unit_test(test_chain),      cmocka_unit_test(test_outstanding),
        cmocka_unit_test(test_agree),      cmocka_unit_test(test_overlapping_groups),
        cmocka_unit_test(test_large),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ranks_close(&ranks);
    return failed;
}
