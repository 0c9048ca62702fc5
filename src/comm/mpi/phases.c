/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of each operation. A buffer that a phase sends from is written no earlier than in the
 * next phase. Each member talks to the others beginning with its right neighbour, so that no one is
 * asked by all at once.
 */
#include "comm/mpi/engine.h"
#include "comm/staging.h"

#include <string.h>

static int64_t element_bytes(const struct mpi_request *request)
{
    return (int64_t)tri_dtype_bytes(request->call.dtype);
}

struct part {
    size_t offset, bytes;
};

static struct part part_of(const struct mpi_request *request, int position)
{
    int64_t count = request->call.count, bytes = element_bytes(request);
    int64_t each = tri_mpi_part_elements(count, request->group->base.size);
    int64_t first = position * each < count ? position * each : count;
    int64_t last = first + each < count ? first + each : count;
    return (struct part){(size_t)(first * bytes), (size_t)((last - first) * bytes)};
}

static int right_of(const tri_group *group, int distance)
{
    return (group->rank + distance) % group->size;
}

static void *staged(const struct mpi_request *request, int position, size_t bytes)
{
    int slot = position - (position > request->group->base.rank);
    return request->staging + (size_t)slot * bytes;
}

/* Sums bytes of this member's own and the others' staged bytes, in rank order, into out. */
static void reduce_staged(struct mpi_request *request, void *out, const void *own, size_t bytes)
{
    const tri_group *group = &request->group->base;
    for (int i = 0; i < group->size; i++)
        request->inputs[i] = i == group->rank ? own : staged(request, i, bytes);
    if (bytes > 0)
        group->world->reduce(request->call.reduce, request->call.dtype, out, request->inputs,
                             group->size, (int64_t)bytes / element_bytes(request));
}

static tri_status small_all_reduce_phase(struct mpi_request *request)
{
    const tri_group *group = &request->group->base;
    size_t bytes = (size_t)(request->call.count * element_bytes(request));
    if (request->phase > 0) {
        reduce_staged(request, request->out, request->out, bytes);
        request->is_done = true;
        return TRI_OK;
    }
    for (int i = 1; i < group->size; i++) {
        int to = right_of(group, i), from = right_of(group, group->size - i);
        TRI_TRY(tri_mpi_post_recv(request, staged(request, from, bytes), bytes, from));
        TRI_TRY(tri_mpi_post_send(request, request->out, bytes, to));
    }
    return TRI_OK;
}

static tri_status all_reduce_phase(struct mpi_request *request)
{
    if (tri_mpi_is_small(request->call.count, element_bytes(request)))
        return small_all_reduce_phase(request);
    const tri_group *group = &request->group->base;
    char *buffer = request->out;
    struct part own = part_of(request, group->rank);
    if (request->phase == 1)
        reduce_staged(request, buffer + own.offset, buffer + own.offset, own.bytes);
    request->is_done = request->phase == 2;
    for (int i = 1; i < group->size && !request->is_done; i++) {
        int to = right_of(group, i), from = right_of(group, group->size - i);
        struct part given = part_of(request, to), taken = part_of(request, from);
        if (request->phase == 0) {
            TRI_TRY(tri_mpi_post_recv(request, staged(request, from, own.bytes), own.bytes, from));
            TRI_TRY(tri_mpi_post_send(request, buffer + given.offset, given.bytes, to));
        } else {
            TRI_TRY(tri_mpi_post_recv(request, buffer + taken.offset, taken.bytes, from));
            TRI_TRY(tri_mpi_post_send(request, buffer + own.offset, own.bytes, to));
        }
    }
    return TRI_OK;
}

static tri_status reduce_scatter_phase(struct mpi_request *request)
{
    const tri_group *group = &request->group->base;
    size_t bytes = (size_t)(request->call.count * element_bytes(request));
    const char *in = request->in;
    if (request->phase > 0) {
        reduce_staged(request, request->out, in + bytes * (size_t)group->rank, bytes);
        request->is_done = true;
        return TRI_OK;
    }
    for (int i = 1; i < group->size; i++) {
        int to = right_of(group, i), from = right_of(group, group->size - i);
        TRI_TRY(tri_mpi_post_recv(request, staged(request, from, bytes), bytes, from));
        TRI_TRY(tri_mpi_post_send(request, in + bytes * (size_t)to, bytes, to));
    }
    return TRI_OK;
}

static tri_status all_gather_phase(struct mpi_request *request)
{
    const tri_group *group = &request->group->base;
    size_t bytes = (size_t)(request->call.count * element_bytes(request));
    char *out = request->out, *own = out + bytes * (size_t)group->rank;
    request->is_done = request->phase > 0;
    if (!request->is_done && bytes > 0 && own != request->in)
        memcpy(own, request->in, bytes);
    for (int i = 1; i < group->size && !request->is_done; i++) {
        int to = right_of(group, i), from = right_of(group, group->size - i);
        TRI_TRY(tri_mpi_post_recv(request, out + bytes * (size_t)from, bytes, from));
        TRI_TRY(tri_mpi_post_send(request, own, bytes, to));
    }
    return TRI_OK;
}

/* The root deals out the parts, then every member passes its part on to all but the root. */
static tri_status broadcast_phase(struct mpi_request *request)
{
    const tri_group *group = &request->group->base;
    char *buffer = request->out;
    int root = request->call.root;
    bool is_root = group->rank == root;
    bool is_whole = tri_mpi_is_small(request->call.count, element_bytes(request));
    struct part own = part_of(request, group->rank);
    if (is_whole)
        own = (struct part){0, (size_t)(request->call.count * element_bytes(request))};
    request->is_done = request->phase == (is_whole ? 1 : 2);
    if (request->phase == 0 && !is_root)
        return tri_mpi_post_recv(request, buffer + own.offset, own.bytes, root);
    for (int i = 1; i < group->size && !request->is_done; i++) {
        int to = right_of(group, i), from = right_of(group, group->size - i);
        struct part given = is_whole || request->phase == 1 ? own : part_of(request, to);
        if (!is_root) {
            struct part taken = part_of(request, from);
            TRI_TRY(tri_mpi_post_recv(request, buffer + taken.offset, taken.bytes, from));
        }
        if (to != root)
            TRI_TRY(tri_mpi_post_send(request, buffer + given.offset, given.bytes, to));
    }
    return TRI_OK;
}

static tri_status all_to_all_phase(struct mpi_request *request)
{
    const tri_group *group = &request->group->base;
    size_t bytes = (size_t)element_bytes(request);
    const int64_t *out_counts = request->counts, *out_first = out_counts + group->size;
    const int64_t *in_counts = out_first + group->size, *in_first = in_counts + group->size;
    const char *in = request->in;
    char *out = request->out;
    request->is_done = request->phase > 0;
    for (int i = 0; i < group->size && !request->is_done; i++) {
        int to = right_of(group, i), from = right_of(group, group->size - i);
        size_t give = (size_t)in_counts[to] * bytes, take = (size_t)out_counts[from] * bytes;
        if (i == 0 && give > 0)
            memcpy(out + (size_t)out_first[to] * bytes, in + (size_t)in_first[to] * bytes, give);
        if (i > 0 && take > 0)
            TRI_TRY(tri_mpi_post_recv(request, out + (size_t)out_first[from] * bytes, take, from));
        if (i > 0 && give > 0)
            TRI_TRY(tri_mpi_post_send(request, in + (size_t)in_first[to] * bytes, give, to));
    }
    return TRI_OK;
}

/* Phase k: a token to the member 2^k to the right; after log2(size) phases each has heard of
   all. */
static tri_status barrier_phase(struct mpi_request *request)
{
    static const char token = 1;
    const tri_group *group = &request->group->base;
    int distance = 1 << request->phase;
    request->is_done = distance >= group->size;
    if (request->is_done)
        return TRI_OK;
    TRI_TRY(
        tri_mpi_post_recv(request, &request->token, 1, right_of(group, group->size - distance)));
    return tri_mpi_post_send(request, &token, 1, right_of(group, distance));
}

static tri_status message_phase(struct mpi_request *request)
{
    size_t bytes = (size_t)(request->call.count * element_bytes(request));
    request->is_done = request->phase > 0;
    if (request->is_done)
        return TRI_OK;
    if (request->call.op == TRI_COMM_SEND)
        return tri_mpi_post_send(request, request->in, bytes, request->call.root);
    return tri_mpi_post_recv(request, request->out, bytes, request->call.root);
}

tri_status tri_mpi_phase(struct mpi_request *request)
{
    switch (request->call.op) {
    case TRI_COMM_ALL_REDUCE:
        return all_reduce_phase(request);
    case TRI_COMM_REDUCE_SCATTER:
        return reduce_scatter_phase(request);
    case TRI_COMM_ALL_GATHER:
        return all_gather_phase(request);
    case TRI_COMM_BROADCAST:
        return broadcast_phase(request);
    case TRI_COMM_ALL_TO_ALL:
        return all_to_all_phase(request);
    case TRI_COMM_SEND:
    case TRI_COMM_RECV:
        return message_phase(request);
    case TRI_COMM_BARRIER:
        return barrier_phase(request);
    case TRI_NUM_COMM_OPS:
        break;
    }
    return TRI_BUG;
}
