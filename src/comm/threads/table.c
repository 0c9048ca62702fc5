/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of comm.h among thread ranks: each hands its buffers to tri_threads_begin(). */
#include "comm/threads/threads.h"

static tri_status collective_begin(tri_group *base, const struct tri_comm_call *call, void *out,
                                   const void *in, const int64_t *const *counts,
                                   tri_request **request)
{
    struct threads_group *group = (struct threads_group *)base;
    struct threads_begin begin = {.stream = &group->shared->collectives,
                                  .sequence = &group->num_collectives,
                                  .member = base->rank,
                                  .num_members = base->size,
                                  .side = {.in = in, .out = out}};
    return tri_threads_begin(base, call, &begin, counts, request);
}

static tri_status threads_all_reduce_begin(tri_group *group, void *buffer, int64_t count,
                                           enum tri_dtype dtype, enum tri_reduce op,
                                           tri_request **request)
{
    struct tri_comm_call call = {
        .op = TRI_COMM_ALL_REDUCE, .dtype = dtype, .reduce = op, .count = count};
    return collective_begin(group, &call, buffer, buffer, NULL, request);
}

static tri_status threads_reduce_scatter_begin(tri_group *group, void *out, const void *in,
                                               int64_t count, enum tri_dtype dtype,
                                               enum tri_reduce op, tri_request **request)
{
    struct tri_comm_call call = {
        .op = TRI_COMM_REDUCE_SCATTER, .dtype = dtype, .reduce = op, .count = count};
    return collective_begin(group, &call, out, in, NULL, request);
}

static tri_status threads_all_gather_begin(tri_group *group, void *out, const void *in,
                                           int64_t count, enum tri_dtype dtype,
                                           tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_ALL_GATHER, .dtype = dtype, .count = count};
    return collective_begin(group, &call, out, in, NULL, request);
}

static tri_status threads_broadcast_begin(tri_group *group, void *buffer, int64_t count,
                                          enum tri_dtype dtype, int root, tri_request **request)
{
    struct tri_comm_call call = {
        .op = TRI_COMM_BROADCAST, .dtype = dtype, .root = root, .count = count};
    return collective_begin(group, &call, buffer, buffer, NULL, request);
}

static tri_status threads_all_to_all_begin(tri_group *group, void *out, const int64_t *out_counts,
                                           const int64_t *out_first, const void *in,
                                           const int64_t *in_counts, const int64_t *in_first,
                                           enum tri_dtype dtype, tri_request **request)
{
    TRI_TRY(tri_comm_check_counts(group, out_counts, in_counts));
    const int64_t *counts[4] = {out_counts, out_first, in_counts, in_first};
    struct tri_comm_call call = {.op = TRI_COMM_ALL_TO_ALL, .dtype = dtype};
    return collective_begin(group, &call, out, in, counts, request);
}

static tri_status threads_barrier_begin(tri_group *group, tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_BARRIER};
    return collective_begin(group, &call, NULL, NULL, NULL, request);
}

static tri_status message_begin(tri_group *base, const struct tri_comm_call *call, const void *from,
                                void *to, enum tri_channel channel, tri_request **request)
{
    struct threads_group *group = (struct threads_group *)base;
    TRI_TRY(tri_comm_check(base, call));
    TRI_TRY(tri_comm_check_channel(base, call->op, channel));
    int is_recv = call->op == TRI_COMM_RECV;
    int peer = call->root;
    int sender = is_recv ? peer : base->rank, receiver = is_recv ? base->rank : peer;
    int stream = (sender * base->size + receiver) * TRI_NUM_CHANNELS + (int)channel;
    int own = (is_recv * base->size + peer) * TRI_NUM_CHANNELS + (int)channel;
    struct threads_begin begin = {.stream = &group->shared->messages[stream],
                                  .sequence = &group->num_messages[own],
                                  .member = is_recv,
                                  .num_members = 2,
                                  .pair = {sender, receiver},
                                  .side = {.in = from, .out = to}};
    return tri_threads_begin(base, call, &begin, NULL, request);
}

static tri_status threads_send_begin(tri_group *group, const void *buffer, int64_t count,
                                     enum tri_dtype dtype, int peer, enum tri_channel channel,
                                     tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_SEND, .dtype = dtype, .root = peer, .count = count};
    return message_begin(group, &call, buffer, NULL, channel, request);
}

static tri_status threads_recv_begin(tri_group *group, void *buffer, int64_t count,
                                     enum tri_dtype dtype, int peer, enum tri_channel channel,
                                     tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_RECV, .dtype = dtype, .root = peer, .count = count};
    return message_begin(group, &call, NULL, buffer, channel, request);
}

const struct tri_comm_ops tri_threads_ops = {
    .name = "threads",
    .group_create = tri_threads_group_create,
    .group_destroy = tri_threads_group_destroy,
    .all_reduce_begin = threads_all_reduce_begin,
    .reduce_scatter_begin = threads_reduce_scatter_begin,
    .all_gather_begin = threads_all_gather_begin,
    .broadcast_begin = threads_broadcast_begin,
    .all_to_all_begin = threads_all_to_all_begin,
    .send_begin = threads_send_begin,
    .recv_begin = threads_recv_begin,
    .barrier_begin = threads_barrier_begin,
    .end = tri_threads_end,
    .test = tri_threads_test,
    .lend_staging = tri_lend_staging_none,
};
