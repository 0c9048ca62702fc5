/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of comm.h over MPI: each hands its buffers to a request. */
#include "comm/mpi/engine.h"

#include <string.h>

static tri_status begin(tri_group *group, const struct tri_comm_call *call, const void *in,
                        void *out, tri_request **request)
{
    struct mpi_request *taken;
    TRI_TRY(tri_mpi_request_take((struct mpi_group *)group, call, in, out, &taken));
    return tri_mpi_begin(taken, request);
}

static tri_status mpi_all_reduce_begin(tri_group *group, void *buffer, int64_t count,
                                       enum tri_dtype dtype, enum tri_reduce op,
                                       tri_request **request)
{
    struct tri_comm_call call = {
        .op = TRI_COMM_ALL_REDUCE, .dtype = dtype, .reduce = op, .count = count};
    return begin(group, &call, buffer, buffer, request);
}

static tri_status mpi_reduce_scatter_begin(tri_group *group, void *out, const void *in,
                                           int64_t count, enum tri_dtype dtype, enum tri_reduce op,
                                           tri_request **request)
{
    struct tri_comm_call call = {
        .op = TRI_COMM_REDUCE_SCATTER, .dtype = dtype, .reduce = op, .count = count};
    return begin(group, &call, in, out, request);
}

static tri_status mpi_all_gather_begin(tri_group *group, void *out, const void *in, int64_t count,
                                       enum tri_dtype dtype, tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_ALL_GATHER, .dtype = dtype, .count = count};
    return begin(group, &call, in, out, request);
}

static tri_status mpi_broadcast_begin(tri_group *group, void *buffer, int64_t count,
                                      enum tri_dtype dtype, int root, tri_request **request)
{
    struct tri_comm_call call = {
        .op = TRI_COMM_BROADCAST, .dtype = dtype, .root = root, .count = count};
    return begin(group, &call, buffer, buffer, request);
}

static tri_status mpi_all_to_all_begin(tri_group *group, void *out, const int64_t *out_counts,
                                       const int64_t *out_first, const void *in,
                                       const int64_t *in_counts, const int64_t *in_first,
                                       enum tri_dtype dtype, tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_ALL_TO_ALL, .dtype = dtype};
    TRI_TRY(tri_comm_check_counts(group, out_counts, in_counts));
    TRI_TRY(tri_comm_check_pair(group, out_counts[group->rank], in_counts[group->rank], group->rank,
                                group->rank));
    struct mpi_request *taken;
    TRI_TRY(tri_mpi_request_take((struct mpi_group *)group, &call, in, out, &taken));
    const int64_t *counts[4] = {out_counts, out_first, in_counts, in_first};
    for (int i = 0; i < 4; i++)
        memcpy(taken->counts + i * group->size, counts[i],
               (size_t)group->size * sizeof *taken->counts);
    return tri_mpi_begin(taken, request);
}

static tri_status message_begin(tri_group *group, const struct tri_comm_call *call, const void *in,
                                void *out, enum tri_channel channel, tri_request **request)
{
    struct mpi_request *taken;
    TRI_TRY(tri_comm_check_channel(group, call->op, channel));
    TRI_TRY(tri_mpi_request_take((struct mpi_group *)group, call, in, out, &taken));
    taken->channel = (int)channel;
    return tri_mpi_begin(taken, request);
}

static tri_status mpi_send_begin(tri_group *group, const void *buffer, int64_t count,
                                 enum tri_dtype dtype, int peer, enum tri_channel channel,
                                 tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_SEND, .dtype = dtype, .root = peer, .count = count};
    return message_begin(group, &call, buffer, NULL, channel, request);
}

static tri_status mpi_recv_begin(tri_group *group, void *buffer, int64_t count,
                                 enum tri_dtype dtype, int peer, enum tri_channel channel,
                                 tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_RECV, .dtype = dtype, .root = peer, .count = count};
    return message_begin(group, &call, NULL, buffer, channel, request);
}

tri_status tri_mpi_barrier_begin(tri_group *group, tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_BARRIER};
    return begin(group, &call, NULL, NULL, request);
}

const struct tri_comm_ops tri_mpi_ops = {
    .name = "mpi",
    .group_create = tri_mpi_group_create,
    .group_destroy = tri_mpi_group_destroy,
    .all_reduce_begin = mpi_all_reduce_begin,
    .reduce_scatter_begin = mpi_reduce_scatter_begin,
    .all_gather_begin = mpi_all_gather_begin,
    .broadcast_begin = mpi_broadcast_begin,
    .all_to_all_begin = mpi_all_to_all_begin,
    .send_begin = mpi_send_begin,
    .recv_begin = mpi_recv_begin,
    .barrier_begin = tri_mpi_barrier_begin,
    .end = tri_mpi_end,
    .test = tri_mpi_test,
    .lend_staging = tri_mpi_lend_staging,
};
