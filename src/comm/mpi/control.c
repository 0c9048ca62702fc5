/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failure among processes, on a communicator of its own. A rank that gives up tells all others,
 * which poll for such messages while they wait. A rank whose time limit nears asks those it waits
 * for whether they wait too, and if so for whom, and asks on; a rank inside a wait answers at once,
 * one that computes, sleeps or is dead does not. At the limit those that were asked and did not
 * answer are named, in all survivors. Long before that it asks whether they began the same
 * (compare.c).
 *
 * MPI_Abort() is never called: it would end the survivors before they have said what they know.
 * Instead every rank leaves in order (world.c), and when somebody is stuck the processes end
 * without MPI_Finalize(), upon which the launcher ends those that are left.
 */
#include "comm/mpi/engine.h"

#include "base/cancel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL_TAG 1

enum control_kind {
    CONTROL_ABANDON, /* text: why the sender gives up */
    CONTROL_LOST,    /* text: who did not come */
    CONTROL_ASK,     /* do you wait for somebody? */
    CONTROL_WAITS,   /* yes: for missing, in op on group_name */
    CONTROL_COMPARE, /* begun: what the sender waits in */
    CONTROL_LEAVE,   /* the sender ends */
};

struct mpi_outgoing {
    struct mpi_outgoing *next;
    MPI_Request wait;
    struct mpi_control message;
};

/* Sends never wait; what was received is freed at the next poll. Out of memory loses a message: the
   others' time limits remain. */
static void control_send(struct mpi_world *world, const struct mpi_control *message, int to)
{
    struct mpi_outgoing *outgoing = calloc(1, sizeof *outgoing);
    if (!outgoing)
        return;
    outgoing->message = *message;
    outgoing->message.from = world->base.rank;
    if (MPI_Isend(&outgoing->message, (int)sizeof outgoing->message, MPI_BYTE, to, CONTROL_TAG,
                  world->control, &outgoing->wait) != MPI_SUCCESS) {
        free(outgoing);
        return;
    }
    outgoing->next = world->outgoing;
    world->outgoing = outgoing;
}

static void control_send_all(struct mpi_world *world, const struct mpi_control *message)
{
    for (int i = 0; i < world->base.size; i++)
        if (i != world->base.rank)
            control_send(world, message, i);
}

tri_status tri_mpi_failure(struct mpi_world *world)
{
    switch (world->failure) {
    case MPI_NO_FAILURE:
        break;
    case MPI_ABANDONED:
        return tri_error_set(world->base.err, TRI_PEER, "rank %d failed first: %s",
                             world->failed_rank, world->failure_text);
    case MPI_LOST:
        return tri_error_set(world->base.err, TRI_COMM, "%s", world->failure_text);
    }
    return TRI_OK;
}

/* The first failure stands. */
static void set_failure(struct mpi_world *world, enum mpi_failure failure, int rank,
                        const char *text)
{
    if (world->failure != MPI_NO_FAILURE)
        return;
    world->failure = failure;
    world->failed_rank = rank;
    snprintf(world->failure_text, sizeof world->failure_text, "%s", text);
}

void tri_mpi_abandon(tri_world *base, const char *why)
{
    struct mpi_world *world = (struct mpi_world *)base;
    tri_mpi_control_poll(world);
    if (world->failure != MPI_NO_FAILURE)
        return;
    set_failure(world, MPI_ABANDONED, base->rank, why);
    struct mpi_control message = {.kind = CONTROL_ABANDON};
    snprintf(message.text, sizeof message.text, "%s", why);
    control_send_all(world, &message);
}

/* What request waits for: world ranks whose messages have not come or were not taken. */
static void describe_wait(struct mpi_request *request, struct mpi_control *message)
{
    const tri_group *group = &request->group->base;
    message->num_missing = 0;
    for (int i = 0; i < request->num_waits && message->num_missing < MPI_MOST_NAMED; i++) {
        /* Testing all at once has not told which of them are done. */
        int is_done;
        if (request->waits[i] != MPI_REQUEST_NULL)
            MPI_Test(&request->waits[i], &is_done, MPI_STATUS_IGNORE);
        int rank = group->ranks[request->peers[i]];
        bool is_known = request->waits[i] == MPI_REQUEST_NULL;
        for (int k = 0; k < message->num_missing; k++)
            is_known = is_known || message->missing[k] == rank;
        if (!is_known)
            message->missing[message->num_missing++] = rank;
    }
    message->op = (int)request->call.op;
    message->sequence = request->sequence;
    snprintf(message->group_name, sizeof message->group_name, "%s", group->name);
}

static void search_add(struct mpi_world *world, const struct mpi_control *waits)
{
    struct mpi_search *search = &world->search;
    const struct mpi_control ask = {.kind = CONTROL_ASK, .search = search->number};
    for (int i = 0; i < waits->num_missing; i++) {
        int rank = waits->missing[i];
        if (rank == world->base.rank || search->is_asked[rank])
            continue;
        search->is_asked[rank] = true;
        search->last = *waits;
        control_send(world, &ask, rank);
    }
}

void tri_mpi_compare_begin(struct mpi_world *world, struct mpi_request *request)
{
    struct mpi_group *group = request->group;
    struct mpi_control message = {.kind = CONTROL_COMPARE};
    if (group->is_arriving)
        return;
    describe_wait(request, &message);
    tri_mpi_history_describe(world, request, &message);
    for (int i = 0; i < message.num_missing; i++)
        if (message.missing[i] != world->base.rank)
            control_send(world, &message, message.missing[i]);
}

/* Fails the run, in all ranks alike. */
static void lose(struct mpi_world *world, const struct mpi_control *lost)
{
    set_failure(world, MPI_LOST, world->base.rank, lost->text);
    control_send_all(world, lost);
}

void tri_mpi_search_begin(struct mpi_world *world, struct mpi_request *request)
{
    struct mpi_control own = {.kind = CONTROL_WAITS};
    size_t size = (size_t)world->base.size;
    memset(world->search.is_asked, 0, size * sizeof *world->search.is_asked);
    memset(world->search.has_answered, 0, size * sizeof *world->search.has_answered);
    describe_wait(request, &own);
    world->search.last = own;
    world->search.is_running = true;
    world->search.number++;
    search_add(world, &own);
}

void tri_mpi_search_end(struct mpi_world *world, struct mpi_request *request)
{
    struct mpi_search *search = &world->search;
    struct mpi_control message = {.kind = CONTROL_LOST};
    int found[MPI_MOST_NAMED], num = 0;
    for (int i = 0; i < world->base.size && num < MPI_MOST_NAMED; i++)
        if (search->is_asked[i] && !search->has_answered[i])
            found[num++] = i;
    if (num == 0) {
        /* All wait in a circle: say what this rank sees. */
        describe_wait(request, &search->last);
        num = search->last.num_missing;
        memcpy(found, search->last.missing, (size_t)num * sizeof *found);
    }
    tri_comm_missing_format(search->last.group_name, (enum tri_comm_op)search->last.op,
                            search->last.sequence, found, num, world->base.time_limit_seconds,
                            message.text, sizeof message.text);
    lose(world, &message);
}

static void control_take(struct mpi_world *world, const struct mpi_control *message)
{
    struct mpi_control reply = {.kind = CONTROL_WAITS}, lost = {.kind = CONTROL_LOST};
    switch ((enum control_kind)message->kind) {
    case CONTROL_ABANDON:
        set_failure(world, MPI_ABANDONED, message->from, message->text);
        break;
    case CONTROL_LOST:
        set_failure(world, MPI_LOST, message->from, message->text);
        break;
    case CONTROL_ASK:
        if (!world->waits_for)
            break;
        reply.search = message->search;
        describe_wait(world->waits_for, &reply);
        control_send(world, &reply, message->from);
        break;
    case CONTROL_WAITS:
        if (!world->search.is_running || message->search != world->search.number)
            break;
        world->search.has_answered[message->from] = true;
        search_add(world, message);
        break;
    case CONTROL_COMPARE:
        if (world->failure == MPI_NO_FAILURE &&
            tri_mpi_compare(world, message, lost.text, sizeof lost.text))
            lose(world, &lost);
        break;
    case CONTROL_LEAVE:
        world->has_left[message->from] = true;
        break;
    }
}

void tri_mpi_control_poll(struct mpi_world *world)
{
    for (;;) {
        int is_there = 0;
        struct mpi_control message;
        MPI_Status from;
        if (MPI_Iprobe(MPI_ANY_SOURCE, CONTROL_TAG, world->control, &is_there, &from) !=
                MPI_SUCCESS ||
            !is_there)
            break;
        if (MPI_Recv(&message, (int)sizeof message, MPI_BYTE, from.MPI_SOURCE, CONTROL_TAG,
                     world->control, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            break;
        control_take(world, &message);
    }
    for (struct mpi_outgoing **at = &world->outgoing; *at;) {
        struct mpi_outgoing *outgoing = *at;
        int is_done = 0;
        MPI_Test(&outgoing->wait, &is_done, MPI_STATUS_IGNORE);
        if (!is_done) {
            at = &outgoing->next;
            continue;
        }
        *at = outgoing->next;
        free(outgoing);
    }
}

static bool all_have_left(const struct mpi_world *world)
{
    for (int i = 0; i < world->base.size; i++)
        if (i != world->base.rank && !world->has_left[i])
            return false;
    return true;
}

bool tri_mpi_leave(struct mpi_world *world, double seconds)
{
    const struct mpi_control leave = {.kind = CONTROL_LEAVE};
    double start = tri_clock_seconds();
    control_send_all(world, &leave);
    for (;;) {
        tri_mpi_control_poll(world);
        double waited = tri_clock_seconds() - start;
        if (all_have_left(world) && !world->outgoing)
            return true;
        if (waited > seconds)
            return false;
        tri_mpi_nap(waited);
    }
}

/* What nobody has received stays with MPI: its memory must not be freed. */
void tri_mpi_control_fini(struct mpi_world *world)
{
    tri_mpi_control_poll(world);
    world->outgoing = NULL;
}
