/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that differ among the members of a group. What an operation is, and what was begun on
 * the group before, goes into the tags of its messages, so that messages of different operations
 * never meet: nothing is summed that does not belong together, at no cost, and a difference that
 * made nobody wait shows at the next operation. A rank that has waited for a while then sends what
 * it began to those it waits for. A rank that has begun something else in the same place knows both
 * sides, and ends the run with their names.
 */
#include "comm/mpi/engine.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#define MOST_KINDS 65521

int tri_mpi_num_kinds(void)
{
    int *highest = NULL, has_highest = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &has_highest);
    int num = (has_highest ? *highest : SHRT_MAX) / TRI_MPI_NUM_TAGS;
    return num < MOST_KINDS ? num : MOST_KINDS;
}

static bool is_message(const struct tri_comm_call *call)
{
    return call->op == TRI_COMM_SEND || call->op == TRI_COMM_RECV;
}

static uint64_t mix(uint64_t hash, uint64_t part)
{
    hash = (hash ^ part) * 1099511628211u;
    return hash ^ hash >> 29;
}

/* The same for both sides of a message. */
static uint64_t call_hash(uint64_t hash, const struct tri_comm_call *call)
{
    bool is_side = is_message(call);
    hash = mix(hash, is_side ? TRI_COMM_SEND : (uint64_t)call->op);
    hash = mix(hash, (uint64_t)call->dtype);
    hash = mix(hash, (uint64_t)call->reduce);
    hash = mix(hash, is_side ? 0 : (uint64_t)call->root);
    return mix(hash, (uint64_t)call->count);
}

int tri_mpi_kind(const struct mpi_world *world, const struct mpi_request *request, size_t bytes)
{
    uint64_t hash = mix(call_hash(request->before, &request->call), (uint64_t)bytes);
    return (int)(hash % (uint64_t)world->num_kinds);
}

static struct mpi_begun begun_of(const struct mpi_request *request)
{
    const struct tri_comm_call *call = &request->call;
    return (struct mpi_begun){
        .group_id = request->group->id,
        .call = *call,
        .sequence = request->sequence,
        .channel = request->channel,
        .peer = is_message(call) ? request->group->base.ranks[call->root] : -1,
        .before = request->before,
    };
}

void tri_mpi_history_add(struct mpi_world *world, struct mpi_request *request)
{
    struct mpi_group *group = request->group;
    request->before = 0;
    if (group->is_arriving)
        return;
    if (!is_message(&request->call)) {
        request->before = group->before;
        group->before = call_hash(group->before, &request->call);
    }
    world->history[world->num_begun++ % MPI_HISTORY] = begun_of(request);
}

void tri_mpi_history_forget(struct mpi_world *world, unsigned group_id)
{
    for (int i = 0; i < MPI_HISTORY; i++)
        if (world->history[i].group_id == group_id)
            world->history[i].sequence = 0;
}

void tri_mpi_history_describe(const struct mpi_world *world, const struct mpi_request *request,
                              struct mpi_control *message)
{
    message->begun[0] = begun_of(request);
    message->num_begun = 1;
    uint64_t sequence = is_message(&request->call) ? 0 : request->sequence;
    for (uint64_t back = 1; back < sequence && message->num_begun < MPI_MOST_COMPARED; back++)
        for (int i = 0; i < MPI_HISTORY; i++) {
            const struct mpi_begun *own = &world->history[i];
            if (own->group_id != request->group->id || own->sequence != sequence - back ||
                is_message(&own->call))
                continue;
            message->begun[message->num_begun++] = *own;
            break;
        }
}

/* What this rank began in the place that other, of another rank, has on its side; NULL: nothing. */
static const struct mpi_begun *history_find(const struct mpi_world *world,
                                            const struct mpi_begun *other, int other_rank)
{
    bool is_side = is_message(&other->call);
    enum tri_comm_op partner = other->call.op == TRI_COMM_SEND ? TRI_COMM_RECV : TRI_COMM_SEND;
    for (int i = 0; i < MPI_HISTORY; i++) {
        const struct mpi_begun *own = &world->history[i];
        if (own->group_id != other->group_id || own->sequence != other->sequence ||
            own->sequence == 0 || is_message(&own->call) != is_side)
            continue;
        if (!is_side || (own->call.op == partner && own->channel == other->channel &&
                         own->peer == other_rank && other->peer == world->base.rank))
            return own;
    }
    return NULL;
}

bool tri_mpi_compare(const struct mpi_world *world, const struct mpi_control *message, char *text,
                     size_t bytes)
{
    const struct mpi_begun *last = history_find(world, &message->begun[0], message->from);
    if (!last || (tri_comm_is_same_call(&last->call, &message->begun[0].call) &&
                  last->before == message->begun[0].before))
        return false;
    for (int i = message->num_begun - 1; i >= 0; i--) {
        const struct mpi_begun *other = &message->begun[i];
        const struct mpi_begun *own = history_find(world, other, message->from);
        if (!own || tri_comm_is_same_call(&own->call, &other->call))
            continue;
        tri_comm_differs_format(message->group_name, own->sequence, message->from, &other->call,
                                world->base.rank, &own->call, text, bytes);
        return true;
    }
    snprintf(text, bytes,
             "ranks %d and %d began different operations on group '%s' before number %" PRIu64
             "; all members must begin the same operations in the same order",
             message->from, world->base.rank, message->group_name, last->sequence);
    return true;
}
