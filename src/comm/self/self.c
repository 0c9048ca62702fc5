/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank and no messages: every collective is a copy from in to out, or nothing, and is done when
 * begin returns. A message to oneself waits in its channel until its partner begins; whichever
 * comes second does the copy. Every backend hands out this group when a group has one member, so
 * that no user needs a special case.
 *
 * What a backend owes: a world (rank, size, destroy, abandon, staging_bytes, is_failed), group
 * creation, one begin per operation with the checks of comm/backend.h, end, test, and the table in
 * the last lines.
 */
#include "comm/backend.h"
#include "comm/staging.h"

#include <stdlib.h>
#include <string.h>

struct self_request {
    struct tri_request base;
    struct self_request *next; /* of the messages that wait in the same channel */
    struct tri_comm_call call;
    const void *from; /* send */
    void *to;         /* recv */
    bool is_done;
};

struct self_group {
    tri_group base;
    struct tri_pool requests;
    struct self_request *waiting[TRI_NUM_CHANNELS]; /* all sends or all receives, oldest first */
};

static tri_status self_take(tri_group *group, const struct tri_comm_call *call,
                            struct self_request **request)
{
    TRI_TRY(tri_comm_check(group, call));
    struct self_request *taken = tri_pool_take(&((struct self_group *)group)->requests);
    TRI_CHECK(taken, group->world->err, TRI_NOMEM, "out of memory for %s on group '%s'",
              tri_comm_op_name(call->op), group->name);
    *taken = (struct self_request){.call = *call, .is_done = true};
    *request = taken;
    return TRI_OK;
}

static tri_status self_copy_begin(tri_group *group, const struct tri_comm_call *call, void *out,
                                  const void *in, tri_request **request)
{
    struct self_request *taken;
    TRI_TRY(self_take(group, call, &taken));
    if (out != in && call->count > 0)
        memcpy(out, in, (size_t)call->count * tri_dtype_bytes(call->dtype));
    *request = &taken->base;
    return TRI_OK;
}

static tri_status self_all_reduce_begin(tri_group *group, void *buffer, int64_t count,
                                        enum tri_dtype dtype, enum tri_reduce op,
                                        tri_request **request)
{
    struct tri_comm_call call = {
        .op = TRI_COMM_ALL_REDUCE, .dtype = dtype, .reduce = op, .count = count};
    return self_copy_begin(group, &call, buffer, buffer, request);
}

static tri_status self_reduce_scatter_begin(tri_group *group, void *out, const void *in,
                                            int64_t count, enum tri_dtype dtype, enum tri_reduce op,
                                            tri_request **request)
{
    struct tri_comm_call call = {
        .op = TRI_COMM_REDUCE_SCATTER, .dtype = dtype, .reduce = op, .count = count};
    return self_copy_begin(group, &call, out, in, request);
}

static tri_status self_all_gather_begin(tri_group *group, void *out, const void *in, int64_t count,
                                        enum tri_dtype dtype, tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_ALL_GATHER, .dtype = dtype, .count = count};
    return self_copy_begin(group, &call, out, in, request);
}

static tri_status self_broadcast_begin(tri_group *group, void *buffer, int64_t count,
                                       enum tri_dtype dtype, int root, tri_request **request)
{
    struct tri_comm_call call = {
        .op = TRI_COMM_BROADCAST, .dtype = dtype, .root = root, .count = count};
    return self_copy_begin(group, &call, buffer, buffer, request);
}

static tri_status self_all_to_all_begin(tri_group *group, void *out, const int64_t *out_counts,
                                        const int64_t *out_first, const void *in,
                                        const int64_t *in_counts, const int64_t *in_first,
                                        enum tri_dtype dtype, tri_request **request)
{
    TRI_TRY(tri_comm_check_counts(group, out_counts, in_counts));
    TRI_TRY(tri_comm_check_pair(group, out_counts[0], in_counts[0], 0, 0));
    struct tri_comm_call call = {.op = TRI_COMM_ALL_TO_ALL, .dtype = dtype, .count = in_counts[0]};
    TRI_TRY(tri_comm_check(group, &call));
    size_t bytes = tri_dtype_bytes(dtype);
    return self_copy_begin(group, &call, (char *)out + (size_t)out_first[0] * bytes,
                           (const char *)in + (size_t)in_first[0] * bytes, request);
}

static tri_status self_barrier_begin(tri_group *group, tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_BARRIER};
    return self_copy_begin(group, &call, NULL, NULL, request);
}

/* Pairs the message with the oldest one of the other direction, or lets it wait. */
static tri_status self_message_begin(tri_group *base, const struct tri_comm_call *call,
                                     const void *from, void *to, enum tri_channel channel,
                                     tri_request **request)
{
    TRI_TRY(tri_comm_check_channel(base, call->op, channel));
    struct self_group *group = (struct self_group *)base;
    struct self_request *taken, *first = group->waiting[channel];
    TRI_TRY(self_take(base, call, &taken));
    taken->from = from;
    taken->to = to;
    *request = &taken->base;
    if (!first || first->call.op == call->op) {
        taken->is_done = false;
        struct self_request **last = &group->waiting[channel];
        while (*last)
            last = &(*last)->next;
        *last = taken;
        return TRI_OK;
    }
    group->waiting[channel] = first->next;
    first->is_done = true;
    if (first->call.count != call->count || first->call.dtype != call->dtype) {
        tri_pool_give(&group->requests, taken);
        *request = NULL;
        char sent[TRI_COMM_TEXT / 4], begun[TRI_COMM_TEXT / 4];
        tri_comm_call_format(&first->call, sent, sizeof sent);
        tri_comm_call_format(call, begun, sizeof begun);
        return tri_error_set(base->world->err, TRI_COMM,
                             "rank %d began %s on group '%s' where its own %s waits; both must "
                             "have one count and type",
                             base->world->rank, begun, base->name, sent);
    }
    if (call->count > 0)
        memcpy(to ? to : first->to, from ? from : first->from,
               (size_t)call->count * tri_dtype_bytes(call->dtype));
    return TRI_OK;
}

static tri_status self_send_begin(tri_group *group, const void *buffer, int64_t count,
                                  enum tri_dtype dtype, int peer, enum tri_channel channel,
                                  tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_SEND, .dtype = dtype, .root = peer, .count = count};
    return self_message_begin(group, &call, buffer, NULL, channel, request);
}

static tri_status self_recv_begin(tri_group *group, void *buffer, int64_t count,
                                  enum tri_dtype dtype, int peer, enum tri_channel channel,
                                  tri_request **request)
{
    struct tri_comm_call call = {.op = TRI_COMM_RECV, .dtype = dtype, .root = peer, .count = count};
    return self_message_begin(group, &call, NULL, buffer, channel, request);
}

/* A message without its partner is taken out of the channel: it would wait for ever. */
static tri_status self_end(tri_group *base, tri_request **request)
{
    struct self_group *group = (struct self_group *)base;
    struct self_request *ended = (struct self_request *)*request;
    *request = NULL;
    tri_status status = TRI_OK;
    if (!ended->is_done) {
        for (int channel = 0; channel < TRI_NUM_CHANNELS; channel++)
            for (struct self_request **at = &group->waiting[channel]; *at; at = &(*at)->next)
                if (*at == ended) {
                    *at = ended->next;
                    break;
                }
        status = tri_error_set(base->world->err, TRI_COMM,
                               "%s on group '%s': rank %d waits for a message of its own that it "
                               "has not begun; begin both sides before ending one",
                               tri_comm_op_name(ended->call.op), base->name, base->world->rank);
    }
    tri_pool_give(&group->requests, ended);
    return status;
}

static bool self_test(tri_group *group, tri_request *request)
{
    (void)group;
    return ((struct self_request *)request)->is_done;
}

static void self_group_destroy(tri_group *base)
{
    struct self_group *group = (struct self_group *)base;
    tri_pool_fini(&group->requests, NULL);
    tri_group_fini(base);
    free(group);
}

static const struct tri_comm_ops self_ops = {
    .name = "self",
    .group_create = tri_self_group_create,
    .group_destroy = self_group_destroy,
    .all_reduce_begin = self_all_reduce_begin,
    .reduce_scatter_begin = self_reduce_scatter_begin,
    .all_gather_begin = self_all_gather_begin,
    .broadcast_begin = self_broadcast_begin,
    .all_to_all_begin = self_all_to_all_begin,
    .send_begin = self_send_begin,
    .recv_begin = self_recv_begin,
    .barrier_begin = self_barrier_begin,
    .end = self_end,
    .test = self_test,
    .lend_staging = tri_lend_staging_none,
};

tri_status tri_self_group_create(tri_world *world, const char *name, const int *ranks, int size,
                                 tri_error *err, tri_group **group)
{
    struct self_group *created = calloc(1, sizeof *created);
    TRI_CHECK(created, err, TRI_NOMEM, "out of memory for group '%s'", name);
    tri_status status = tri_group_init(&created->base, &self_ops, world, name, ranks, size, err);
    if (status != TRI_OK) {
        free(created);
        return status;
    }
    tri_pool_init(&created->requests, sizeof(struct self_request));
    *group = &created->base;
    return TRI_OK;
}

struct self_world {
    tri_world base;
    bool is_failed;
};

static void self_world_destroy(tri_world *world)
{
    free(world);
}

static void self_world_abandon(tri_world *world, const char *why)
{
    (void)why;
    ((struct self_world *)world)->is_failed = true;
}

static bool self_world_is_failed(tri_world *world)
{
    return ((struct self_world *)world)->is_failed;
}

tri_status tri_world_create_self(tri_reduce_fn *reduce, tri_error *err, tri_world **world)
{
    struct self_world *created = calloc(1, sizeof *created);
    TRI_CHECK(created, err, TRI_NOMEM, "out of memory for a world of one rank");
    created->base = (tri_world){
        .ops = &self_ops,
        .rank = 0,
        .size = 1,
        .reduce = reduce,
        .err = err,
        .destroy = self_world_destroy,
        .abandon = self_world_abandon,
        .staging_bytes = tri_staging_none,
        .is_failed = self_world_is_failed,
    };
    *world = &created->base;
    return TRI_OK;
}
