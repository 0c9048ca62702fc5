/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups as their users see them: creation with its checks, the blocking forms on top of begin and
 * end, and the agreement point. Written once for all backends.
 */
#include "comm/comm.h"

void tri_world_destroy(tri_world **world)
{
    if (*world)
        (*world)->destroy(*world);
    *world = NULL;
}

tri_status tri_group_create(tri_world *world, const char *name, const int *ranks, int size,
                            tri_group **group)
{
    TRI_CHECK(size >= 1 && size <= world->size, world->err, TRI_INVALID,
              "group '%s' cannot have %d members; the world has %d ranks", name, size, world->size);
    bool has_own = false;
    for (int i = 0; i < size; i++) {
        TRI_CHECK(ranks[i] >= 0 && ranks[i] < world->size, world->err, TRI_INVALID,
                  "group '%s' names rank %d; the world has ranks 0 to %d", name, ranks[i],
                  world->size - 1);
        for (int j = 0; j < i; j++)
            TRI_CHECK(ranks[j] != ranks[i], world->err, TRI_INVALID,
                      "group '%s' names rank %d twice; a rank has one position", name, ranks[i]);
        has_own = has_own || ranks[i] == world->rank;
    }
    TRI_CHECK(has_own, world->err, TRI_INVALID,
              "group '%s' was asked for by rank %d, which is not a member; only members create it",
              name, world->rank);
    return world->ops->group_create(world, name, ranks, size, world->err, group);
}

void tri_group_destroy(tri_group **group)
{
    if (*group)
        (*group)->ops->group_destroy(*group);
    *group = NULL;
}

tri_status tri_request_end(tri_group *group, tri_request **request)
{
    return group->ops->end(group, request);
}

void tri_group_lend_staging(tri_group *group, void *memory, size_t bytes)
{
    group->lent_bytes = bytes;
    group->ops->lend_staging(group, memory, bytes);
}

/* The largest of count, count / 2, ... elements whose staging has been lent; all members come to
   the same. Without any lent it is count: the backend finds memory of its own. */
static int64_t piece_elements(const tri_group *group, int64_t count, enum tri_dtype dtype)
{
    tri_staging_fn *staging = group->world->staging_bytes;
    while (group->lent_bytes > 0 && count > 1 &&
           staging(TRI_COMM_ALL_REDUCE, group->size, count, dtype) > group->lent_bytes)
        count = (count + 1) / 2;
    return count;
}

tri_status tri_group_all_reduce(tri_group *group, void *buffer, int64_t count, enum tri_dtype dtype,
                                enum tri_reduce op)
{
    char *at = buffer;
    do {
        tri_request *request = NULL;
        int64_t num = piece_elements(group, count, dtype);
        TRI_TRY(group->ops->all_reduce_begin(group, at, num, dtype, op, &request));
        TRI_TRY(group->ops->end(group, &request));
        at += num > 0 ? (size_t)num * tri_dtype_bytes(dtype) : 0;
        count -= num;
    } while (count > 0);
    return TRI_OK;
}

tri_status tri_group_reduce_scatter(tri_group *group, void *out, const void *in, int64_t count,
                                    enum tri_dtype dtype, enum tri_reduce op)
{
    tri_request *request = NULL;
    TRI_TRY(group->ops->reduce_scatter_begin(group, out, in, count, dtype, op, &request));
    return group->ops->end(group, &request);
}

tri_status tri_group_all_gather(tri_group *group, void *out, const void *in, int64_t count,
                                enum tri_dtype dtype)
{
    tri_request *request = NULL;
    TRI_TRY(group->ops->all_gather_begin(group, out, in, count, dtype, &request));
    return group->ops->end(group, &request);
}

tri_status tri_group_broadcast(tri_group *group, void *buffer, int64_t count, enum tri_dtype dtype,
                               int root)
{
    tri_request *request = NULL;
    TRI_TRY(group->ops->broadcast_begin(group, buffer, count, dtype, root, &request));
    return group->ops->end(group, &request);
}

tri_status tri_group_all_to_all(tri_group *group, void *out, const int64_t *out_counts,
                                const int64_t *out_first, const void *in, const int64_t *in_counts,
                                const int64_t *in_first, enum tri_dtype dtype)
{
    tri_request *request = NULL;
    TRI_TRY(group->ops->all_to_all_begin(group, out, out_counts, out_first, in, in_counts, in_first,
                                         dtype, &request));
    return group->ops->end(group, &request);
}

tri_status tri_group_send(tri_group *group, const void *buffer, int64_t count, enum tri_dtype dtype,
                          int peer, enum tri_channel channel)
{
    tri_request *request = NULL;
    TRI_TRY(group->ops->send_begin(group, buffer, count, dtype, peer, channel, &request));
    return group->ops->end(group, &request);
}

tri_status tri_group_recv(tri_group *group, void *buffer, int64_t count, enum tri_dtype dtype,
                          int peer, enum tri_channel channel)
{
    tri_request *request = NULL;
    TRI_TRY(group->ops->recv_begin(group, buffer, count, dtype, peer, channel, &request));
    return group->ops->end(group, &request);
}

tri_status tri_group_barrier(tri_group *group)
{
    tri_request *request = NULL;
    TRI_TRY(group->ops->barrier_begin(group, &request));
    return group->ops->end(group, &request);
}

tri_status tri_group_agree(tri_group *group, tri_status mine)
{
    int64_t lowest = mine == TRI_OK ? INT64_MAX : group->world->rank;
    tri_status status = tri_group_all_reduce(group, &lowest, 1, TRI_DTYPE_I64, TRI_REDUCE_MIN);
    if (mine != TRI_OK)
        return mine;
    TRI_TRY(status);
    TRI_CHECK(lowest == INT64_MAX, group->world->err, TRI_PEER,
              "rank %d of group '%s' failed first; its message names the cause", (int)lowest,
              group->name);
    return TRI_OK;
}
