/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: their messages and staging, moving them along, and waiting with the time limit.
 * Staging is what the group was lent; an operation that finds none or too little has its own.
 * Requests belong to the world and keep what they have allocated; such an operation takes the free
 * one whose own staging fits best, so that it grows to what operations under way at once need, and
 * stays.
 */
#include "comm/mpi/engine.h"

#include "base/cancel.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A rank that has waited this long asks whether the others began the same, and again whenever it
   has waited twice as long. */
#define COMPARE_SECONDS 1.0

static struct mpi_world *world_of(const tri_group *group)
{
    return (struct mpi_world *)group->world;
}

tri_status tri_mpi_check(int rc, const tri_group *group, const char *call)
{
    if (rc == MPI_SUCCESS)
        return TRI_OK;
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(rc, text, &length);
    return tri_error_set(group->world->err, TRI_COMM,
                         "%s failed on group '%s': %s; a rank may have died, or members began "
                         "operations of different sizes",
                         call, group->name, text);
}

/* The free request with the least staging of its own that is enough, else the one with the most. */
static struct mpi_request *unused_best(struct mpi_world *world, size_t bytes)
{
    struct mpi_request **best = &world->unused;
    for (struct mpi_request **at = &world->unused; *at; at = &(*at)->next) {
        bool is_enough = (*at)->own_bytes >= bytes;
        bool best_is_enough = (*best)->own_bytes >= bytes;
        bool is_less = (*at)->own_bytes < (*best)->own_bytes;
        if (is_enough != best_is_enough ? is_enough : is_enough == is_less)
            best = at;
    }
    struct mpi_request *found = *best;
    if (found)
        *best = found->next;
    return found ? found : calloc(1, sizeof *found);
}

static void request_give(struct mpi_world *world, struct mpi_request *request)
{
    request->next = world->unused;
    world->unused = request;
}

/* Makes room for size members and bytes of staging of its own. False when out of memory. */
static bool request_grow(struct mpi_world *world, struct mpi_request *request, int size,
                         size_t bytes)
{
    if (request->most_members < size) {
        free(request->inputs);
        free(request->counts);
        request->inputs = malloc((size_t)size * sizeof *request->inputs);
        request->counts = malloc(4 * (size_t)size * sizeof *request->counts);
        request->most_members = request->inputs && request->counts ? size : 0;
    }
    if (request->own_bytes < bytes) {
        world->base.own_staging_bytes += bytes - request->own_bytes;
        free(request->own_staging);
        request->own_staging = aligned_alloc(64, (bytes + 63) / 64 * 64);
        request->own_bytes = request->own_staging ? bytes : 0;
    }
    return request->most_members >= size && request->own_bytes >= bytes;
}

/* Lent staging goes to one operation at a time. */
static bool can_borrow(const struct mpi_group *group, size_t bytes)
{
    return bytes == 0 || (group->lent && group->lent_bytes >= bytes);
}

static void request_borrow(struct mpi_request *request, struct mpi_group *group, size_t bytes)
{
    request->staging = request->own_staging;
    request->lent_bytes = 0;
    if (bytes == 0 || !can_borrow(group, bytes))
        return;
    request->staging = group->lent;
    request->lent_bytes = group->lent_bytes;
    group->lent = NULL;
}

static void request_give_back(struct mpi_request *request)
{
    struct mpi_group *group = request->group;
    if (request->lent_bytes == 0 || group->lent)
        return;
    group->lent = request->staging;
    group->lent_bytes = request->lent_bytes;
}

tri_status tri_mpi_request_take(struct mpi_group *group, const struct tri_comm_call *call,
                                const void *in, void *out, struct mpi_request **request)
{
    struct mpi_world *world = world_of(&group->base);
    TRI_TRY(tri_comm_check(&group->base, call));
    TRI_TRY(tri_mpi_failure(world));
    size_t bytes = world->base.staging_bytes(call->op, group->base.size, call->count, call->dtype);
    size_t own_bytes = can_borrow(group, bytes) ? 0 : bytes;
    struct mpi_request *taken = unused_best(world, own_bytes);
    if (!taken || !request_grow(world, taken, group->base.size, own_bytes)) {
        if (taken)
            request_give(world, taken);
        return tri_error_set(world->base.err, TRI_NOMEM,
                             "out of memory for %s on group '%s': %zu bytes of staging",
                             tri_comm_op_name(call->op), group->base.name, bytes);
    }
    request_borrow(taken, group, bytes);
    taken->group = group;
    taken->call = *call;
    taken->phase = -1;
    taken->is_done = false;
    taken->status = TRI_OK;
    taken->num_waits = 0;
    taken->in = in;
    taken->out = out;
    *request = taken;
    return TRI_OK;
}

/* A place for one more message of the phase. */
static tri_status wait_add(struct mpi_request *request, int peer, MPI_Request **wait)
{
    if (request->num_waits == request->most_waits) {
        int most = request->most_waits ? 2 * request->most_waits : 16;
        MPI_Request *waits = realloc(request->waits, (size_t)most * sizeof *waits);
        request->waits = waits ? waits : request->waits;
        int *peers = realloc(request->peers, (size_t)most * sizeof *peers);
        request->peers = peers ? peers : request->peers;
        TRI_CHECK(waits && peers, request->group->base.world->err, TRI_NOMEM,
                  "out of memory for %d messages of %s on group '%s'", most,
                  tri_comm_op_name(request->call.op), request->group->base.name);
        request->most_waits = most;
    }
    request->peers[request->num_waits] = peer;
    *wait = &request->waits[request->num_waits++];
    **wait = MPI_REQUEST_NULL;
    return TRI_OK;
}

/* Of a message of bytes: collectives under way are told apart by their number and phase. */
static int tag_of(const struct mpi_request *request, size_t bytes)
{
    const struct mpi_group *group = request->group;
    int first = tri_mpi_kind(world_of(&group->base), request, bytes) * TRI_MPI_NUM_TAGS;
    if (request->call.op == TRI_COMM_SEND || request->call.op == TRI_COMM_RECV)
        return first + request->channel;
    return first + group->first_tag +
           (int)(request->sequence % TRI_MPI_NUM_SEQUENCES) * TRI_MPI_NUM_PHASES + request->phase;
}

static int rank_of(const struct mpi_request *request, int peer)
{
    return request->group->is_arriving ? request->group->base.ranks[peer] : peer;
}

tri_status tri_mpi_post_send(struct mpi_request *request, const void *from, size_t bytes, int peer)
{
    const char *at = from;
    int tag = tag_of(request, bytes);
    while (bytes > 0) {
        size_t num = bytes < TRI_MPI_CHUNK_BYTES ? bytes : TRI_MPI_CHUNK_BYTES;
        MPI_Request *wait;
        TRI_TRY(wait_add(request, peer, &wait));
        TRI_TRY(tri_mpi_check(MPI_Isend(at, (int)num, MPI_BYTE, rank_of(request, peer), tag,
                                        request->group->comm, wait),
                              &request->group->base, "MPI_Isend"));
        at += num;
        bytes -= num;
    }
    return TRI_OK;
}

tri_status tri_mpi_post_recv(struct mpi_request *request, void *to, size_t bytes, int peer)
{
    char *at = to;
    int tag = tag_of(request, bytes);
    while (bytes > 0) {
        size_t num = bytes < TRI_MPI_CHUNK_BYTES ? bytes : TRI_MPI_CHUNK_BYTES;
        MPI_Request *wait;
        TRI_TRY(wait_add(request, peer, &wait));
        TRI_TRY(tri_mpi_check(MPI_Irecv(at, (int)num, MPI_BYTE, rank_of(request, peer), tag,
                                        request->group->comm, wait),
                              &request->group->base, "MPI_Irecv"));
        at += num;
        bytes -= num;
    }
    return TRI_OK;
}

/* Starts phases as long as the one under way has no open message. */
static void request_move(struct mpi_request *request)
{
    while (!request->is_done && request->status == TRI_OK) {
        int is_done = 1;
        if (request->num_waits > 0)
            request->status = tri_mpi_check(
                MPI_Testall(request->num_waits, request->waits, &is_done, MPI_STATUSES_IGNORE),
                &request->group->base, "MPI_Testall");
        if (!is_done || request->status != TRI_OK)
            return;
        request->num_waits = 0;
        request->phase++;
        request->status = tri_mpi_phase(request);
    }
}

/* Counts collectives of the group, or messages of its direction, channel and peer. */
static uint64_t *counter_of(const struct mpi_request *request)
{
    struct mpi_group *group = request->group;
    if (request->call.op != TRI_COMM_SEND && request->call.op != TRI_COMM_RECV)
        return &group->num_collectives;
    int received = request->call.op == TRI_COMM_RECV;
    return &group->num_messages[(request->call.root * 2 + received) * TRI_NUM_CHANNELS +
                                request->channel];
}

tri_status tri_mpi_begin(struct mpi_request *taken, tri_request **request)
{
    struct mpi_world *world = world_of(&taken->group->base);
    taken->sequence = ++*counter_of(taken);
    tri_mpi_history_add(world, taken);
    taken->next = world->active;
    world->active = taken;
    request_move(taken);
    *request = &taken->base;
    return TRI_OK;
}

/* Leaves the list of active requests; messages that are still open are dropped. */
static void request_retire(struct mpi_world *world, struct mpi_request *request)
{
    struct mpi_request **at = &world->active;
    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
    for (int i = 0; !request->is_done && i < request->num_waits; i++)
        if (request->waits[i] != MPI_REQUEST_NULL) {
            MPI_Cancel(&request->waits[i]);
            MPI_Request_free(&request->waits[i]);
        }
    request->num_waits = 0;
    request_give_back(request);
    request_give(world, request);
}

/* Gives way to others at once, sleeps when nothing has come for a while. */
void tri_mpi_nap(double waited_seconds)
{
    struct timespec nap = {.tv_nsec = waited_seconds < 0.02 ? 20000 : 200000};
    if (waited_seconds < 0.001)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

static void move_all(struct mpi_world *world)
{
    for (struct mpi_request *at = world->active; at; at = at->next)
        request_move(at);
}

/* Waits until request is done, has failed, or the world has. */
static tri_status request_wait(struct mpi_world *world, struct mpi_request *request)
{
    double limit = world->base.time_limit_seconds, start = tri_clock_seconds();
    /* Those who are asked get this long to answer, also when this process itself was stopped. */
    double patience = limit < 8.0 ? 0.25 * limit : 2.0, asked_at = -1.0;
    double compare_at = COMPARE_SECONDS;
    for (unsigned round = 0;; round++) {
        move_all(world);
        if (request->is_done || request->status != TRI_OK)
            return request->status;
        double waited = tri_clock_seconds() - start;
        if (round % 16 == 15 || waited > 0.001)
            tri_mpi_control_poll(world);
        TRI_TRY(tri_mpi_failure(world));
        if (waited > compare_at) {
            tri_mpi_compare_begin(world, request);
            compare_at *= 2.0;
        }
        if (asked_at < 0.0 && waited > limit - patience) {
            tri_mpi_search_begin(world, request);
            asked_at = waited;
        } else if (asked_at >= 0.0 && waited > asked_at + patience) {
            tri_mpi_search_end(world, request);
        }
        tri_mpi_nap(waited);
    }
}

tri_status tri_mpi_end(tri_group *group, tri_request **request)
{
    struct mpi_world *world = world_of(group);
    struct mpi_request *ended = (struct mpi_request *)*request;
    world->waits_for = ended;
    tri_status status = request_wait(world, ended);
    world->waits_for = NULL;
    world->search.is_running = false;
    request_retire(world, ended);
    *request = NULL;
    return status;
}

bool tri_mpi_test(tri_group *group, tri_request *request)
{
    struct mpi_world *world = world_of(group);
    struct mpi_request *tested = (struct mpi_request *)request;
    move_all(world);
    tri_mpi_control_poll(world);
    return tested->is_done || tested->status != TRI_OK || world->failure != MPI_NO_FAILURE;
}

void tri_mpi_requests_free(struct mpi_world *world)
{
    while (world->unused) {
        struct mpi_request *request = world->unused;
        world->unused = request->next;
        free(request->waits);
        free(request->peers);
        free(request->own_staging);
        free(request->inputs);
        free(request->counts);
        free(request);
    }
}
