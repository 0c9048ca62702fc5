/* SPDX-License-Identifier: Apache-2.0 */
/* The forwarding world of comm/wrap.h. Requests are the inner group's own. */
#include "comm/wrap.h"

#include <stdlib.h>

struct wrap_world {
    tri_world base;
    tri_world *inner;
    tri_wrap_hook *hook;
    void *state;
    void (*release)(void *state);
};

struct wrap_group {
    tri_group base;
    tri_group *inner;
    uint64_t num_operations;
};

static tri_group *inner_of(tri_group *group)
{
    return ((struct wrap_group *)group)->inner;
}

/* Fills what all operations have in common and calls the hook. */
static tri_status wrap_before(tri_group *base, struct tri_wrap_event *event)
{
    struct wrap_group *group = (struct wrap_group *)base;
    struct wrap_world *world = (struct wrap_world *)base->world;
    event->group = base;
    event->sequence = ++group->num_operations;
    return world->hook(world->state, world->inner, event);
}

static size_t bytes_of(int64_t count, enum tri_dtype dtype)
{
    return count > 0 ? (size_t)count * tri_dtype_bytes(dtype) : 0;
}

static tri_status wrap_all_reduce_begin(tri_group *group, void *buffer, int64_t count,
                                        enum tri_dtype dtype, enum tri_reduce op,
                                        tri_request **request)
{
    tri_group *inner = inner_of(group);
    size_t bytes = bytes_of(count, dtype);
    struct tri_wrap_event event = {
        .call = {.op = TRI_COMM_ALL_REDUCE, .dtype = dtype, .reduce = op, .count = count},
        .bytes = bytes,
        .outgoing = buffer,
        .outgoing_bytes = bytes,
        .is_in_place = true};
    TRI_TRY(wrap_before(group, &event));
    return inner->ops->all_reduce_begin(inner, buffer, count, dtype, op, request);
}

static tri_status wrap_reduce_scatter_begin(tri_group *group, void *out, const void *in,
                                            int64_t count, enum tri_dtype dtype, enum tri_reduce op,
                                            tri_request **request)
{
    tri_group *inner = inner_of(group);
    size_t bytes = bytes_of(count * group->size, dtype);
    struct tri_wrap_event event = {
        .call = {.op = TRI_COMM_REDUCE_SCATTER, .dtype = dtype, .reduce = op, .count = count},
        .bytes = bytes,
        .outgoing = in,
        .outgoing_bytes = bytes};
    TRI_TRY(wrap_before(group, &event));
    return inner->ops->reduce_scatter_begin(inner, out, event.outgoing, count, dtype, op, request);
}

static tri_status wrap_all_gather_begin(tri_group *group, void *out, const void *in, int64_t count,
                                        enum tri_dtype dtype, tri_request **request)
{
    tri_group *inner = inner_of(group);
    size_t bytes = bytes_of(count, dtype);
    struct tri_wrap_event event = {
        .call = {.op = TRI_COMM_ALL_GATHER, .dtype = dtype, .count = count},
        .bytes = bytes,
        .outgoing = in,
        .outgoing_bytes = bytes};
    TRI_TRY(wrap_before(group, &event));
    return inner->ops->all_gather_begin(inner, out, event.outgoing, count, dtype, request);
}

static tri_status wrap_broadcast_begin(tri_group *group, void *buffer, int64_t count,
                                       enum tri_dtype dtype, int root, tri_request **request)
{
    tri_group *inner = inner_of(group);
    size_t bytes = bytes_of(count, dtype);
    struct tri_wrap_event event = {
        .call = {.op = TRI_COMM_BROADCAST, .dtype = dtype, .root = root, .count = count},
        .bytes = bytes,
        .outgoing = root == group->rank ? buffer : NULL,
        .outgoing_bytes = root == group->rank ? bytes : 0,
        .is_in_place = true};
    TRI_TRY(wrap_before(group, &event));
    return inner->ops->broadcast_begin(inner, buffer, count, dtype, root, request);
}

static tri_status wrap_all_to_all_begin(tri_group *group, void *out, const int64_t *out_counts,
                                        const int64_t *out_first, const void *in,
                                        const int64_t *in_counts, const int64_t *in_first,
                                        enum tri_dtype dtype, tri_request **request)
{
    tri_group *inner = inner_of(group);
    int64_t sum = 0, last = 0;
    for (int i = 0; i < group->size; i++) {
        sum += in_counts[i];
        if (in_counts[i] > 0 && in_first[i] + in_counts[i] > last)
            last = in_first[i] + in_counts[i];
    }
    struct tri_wrap_event event = {
        .call = {.op = TRI_COMM_ALL_TO_ALL, .dtype = dtype, .count = sum},
        .bytes = bytes_of(sum, dtype),
        .outgoing = in,
        .outgoing_bytes = bytes_of(last, dtype)};
    TRI_TRY(wrap_before(group, &event));
    return inner->ops->all_to_all_begin(inner, out, out_counts, out_first, event.outgoing,
                                        in_counts, in_first, dtype, request);
}

static tri_status wrap_send_begin(tri_group *group, const void *buffer, int64_t count,
                                  enum tri_dtype dtype, int peer, enum tri_channel channel,
                                  tri_request **request)
{
    tri_group *inner = inner_of(group);
    size_t bytes = bytes_of(count, dtype);
    struct tri_wrap_event event = {
        .call = {.op = TRI_COMM_SEND, .dtype = dtype, .root = peer, .count = count},
        .bytes = bytes,
        .outgoing = buffer,
        .outgoing_bytes = bytes};
    TRI_TRY(wrap_before(group, &event));
    return inner->ops->send_begin(inner, event.outgoing, count, dtype, peer, channel, request);
}

static tri_status wrap_recv_begin(tri_group *group, void *buffer, int64_t count,
                                  enum tri_dtype dtype, int peer, enum tri_channel channel,
                                  tri_request **request)
{
    tri_group *inner = inner_of(group);
    struct tri_wrap_event event = {
        .call = {.op = TRI_COMM_RECV, .dtype = dtype, .root = peer, .count = count},
        .bytes = bytes_of(count, dtype)};
    TRI_TRY(wrap_before(group, &event));
    return inner->ops->recv_begin(inner, buffer, count, dtype, peer, channel, request);
}

static tri_status wrap_barrier_begin(tri_group *group, tri_request **request)
{
    tri_group *inner = inner_of(group);
    struct tri_wrap_event event = {.call = {.op = TRI_COMM_BARRIER}};
    TRI_TRY(wrap_before(group, &event));
    return inner->ops->barrier_begin(inner, request);
}

static tri_status wrap_end(tri_group *group, tri_request **request)
{
    tri_group *inner = inner_of(group);
    return inner->ops->end(inner, request);
}

static bool wrap_test(tri_group *group, tri_request *request)
{
    tri_group *inner = inner_of(group);
    return inner->ops->test(inner, request);
}

static void wrap_lend_staging(tri_group *group, void *memory, size_t bytes)
{
    tri_group *inner = inner_of(group);
    inner->ops->lend_staging(inner, memory, bytes);
}

static void wrap_group_destroy(tri_group *group)
{
    tri_group *inner = inner_of(group);
    inner->ops->group_destroy(inner);
    free(group);
}

static tri_status wrap_group_create(tri_world *world, const char *name, const int *ranks, int size,
                                    tri_error *err, tri_group **group)
{
    tri_world *inner = ((struct wrap_world *)world)->inner;
    struct wrap_group *created = calloc(1, sizeof *created);
    TRI_CHECK(created, err, TRI_NOMEM, "out of memory for group '%s'", name);
    tri_status status = inner->ops->group_create(inner, name, ranks, size, err, &created->inner);
    if (status != TRI_OK) {
        free(created);
        return status;
    }
    created->base = *created->inner;
    created->base.ops = world->ops;
    created->base.world = world;
    *group = &created->base;
    return TRI_OK;
}

static void wrap_destroy(tri_world *base)
{
    struct wrap_world *world = (struct wrap_world *)base;
    world->inner->destroy(world->inner);
    world->release(world->state);
    free(world);
}

static void wrap_abandon(tri_world *world, const char *why)
{
    tri_world *inner = ((struct wrap_world *)world)->inner;
    inner->abandon(inner, why);
}

static bool wrap_is_failed(tri_world *world)
{
    tri_world *inner = ((struct wrap_world *)world)->inner;
    return inner->is_failed(inner);
}

static const struct tri_comm_ops wrap_ops = {
    .name = "wrap",
    .group_create = wrap_group_create,
    .group_destroy = wrap_group_destroy,
    .all_reduce_begin = wrap_all_reduce_begin,
    .reduce_scatter_begin = wrap_reduce_scatter_begin,
    .all_gather_begin = wrap_all_gather_begin,
    .broadcast_begin = wrap_broadcast_begin,
    .all_to_all_begin = wrap_all_to_all_begin,
    .send_begin = wrap_send_begin,
    .recv_begin = wrap_recv_begin,
    .barrier_begin = wrap_barrier_begin,
    .end = wrap_end,
    .test = wrap_test,
    .lend_staging = wrap_lend_staging,
};

tri_status tri_world_wrap(tri_world *inner, tri_wrap_hook *hook, void *state,
                          void (*release)(void *state), tri_world **world)
{
    struct wrap_world *created = calloc(1, sizeof *created);
    TRI_CHECK(created, inner->err, TRI_NOMEM, "out of memory for a wrapper round the world");
    created->base = *inner;
    created->base.ops = &wrap_ops;
    created->base.destroy = wrap_destroy;
    created->base.abandon = wrap_abandon;
    created->base.is_failed = wrap_is_failed;
    created->inner = inner;
    created->hook = hook;
    created->state = state;
    created->release = release;
    *world = &created->base;
    return TRI_OK;
}
