/* SPDX-License-Identifier: Apache-2.0 */
/* A table of operations that forwards to a group's own, but for the one that is left out. */
#include "train_drop.h"

#include <string.h>

static _Thread_local struct planted {
    const struct tri_comm_ops *inner;
    struct tri_comm_ops ops;
    struct train_drop *drop;
    int num[TRI_NUM_COMM_OPS];
} planted;

static bool is_dropped(const tri_group *group, enum tri_comm_op op)
{
    int ordinal = ++planted.num[op];
    if (group->world->rank == 0)
        planted.drop->num[op] = ordinal;
    bool counts = planted.drop->ordinal < 0 || planted.drop->ordinal == ordinal;
    return planted.drop->op == op && counts;
}

static tri_status drop_all_reduce(tri_group *group, void *buffer, int64_t count,
                                  enum tri_dtype dtype, enum tri_reduce op, tri_request **request)
{
    if (is_dropped(group, TRI_COMM_ALL_REDUCE))
        return TRI_OK;
    return planted.inner->all_reduce_begin(group, buffer, count, dtype, op, request);
}

/* What is left out leaves every member with its own part. */
static tri_status drop_reduce_scatter(tri_group *group, void *out, const void *in, int64_t count,
                                      enum tri_dtype dtype, enum tri_reduce op,
                                      tri_request **request)
{
    if (!is_dropped(group, TRI_COMM_REDUCE_SCATTER))
        return planted.inner->reduce_scatter_begin(group, out, in, count, dtype, op, request);
    size_t bytes = (size_t)count * tri_dtype_bytes(dtype);
    memmove(out, (const char *)in + (size_t)group->rank * bytes, bytes);
    return TRI_OK;
}

static tri_status drop_all_gather(tri_group *group, void *out, const void *in, int64_t count,
                                  enum tri_dtype dtype, tri_request **request)
{
    if (!is_dropped(group, TRI_COMM_ALL_GATHER))
        return planted.inner->all_gather_begin(group, out, in, count, dtype, request);
    size_t bytes = (size_t)count * tri_dtype_bytes(dtype);
    memmove((char *)out + (size_t)group->rank * bytes, in, bytes);
    return TRI_OK;
}

static tri_status drop_end(tri_group *group, tri_request **request)
{
    return *request ? planted.inner->end(group, request) : TRI_OK;
}

static bool drop_test(tri_group *group, tri_request *request)
{
    return request ? planted.inner->test(group, request) : true;
}

void train_drop_plant(tri_group *group, struct train_drop *drop)
{
    planted = (struct planted){.inner = group->ops, .ops = *group->ops, .drop = drop};
    planted.ops.all_reduce_begin = drop_all_reduce;
    planted.ops.reduce_scatter_begin = drop_reduce_scatter;
    planted.ops.all_gather_begin = drop_all_gather;
    planted.ops.end = drop_end;
    planted.ops.test = drop_test;
    group->ops = &planted.ops;
}
