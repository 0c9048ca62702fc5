/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: their messages and staging, moving them along, and waiting with the time limit.
 * Requests belong to the world and keep what they have allocated; an operation takes the free one
 * whose staging fits best, so that staging grows to what operations under way at once need, and
 * stays.
 */
#include "comm/mpi/engine.h"

#include "base/cancel.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Tags of the collectives under way: their number modulo NUM_SEQUENCES, and the phase. The standard
   promises 32,767 tags. */
#define NUM_SEQUENCES 512
#define NUM_PHASES    32

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

/* The free request with the least staging that is enough, else the one with the most. */
static struct mpi_request *unused_best(struct mpi_world *world, size_t bytes)
{
    struct mpi_request **best = &world->unused;
    for (struct mpi_request **at = &world->unused; *at; at = &(*at)->next) {
        bool is_enough = (*at)->staging_bytes >= bytes;
        bool best_is_enough = (*best)->staging_bytes >= bytes;
        bool is_less = (*at)->staging_bytes < (*best)->staging_bytes;
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

/* Makes room for size members and bytes of staging. False when out of memory. */
static bool request_grow(struct mpi_request *request, int size, size_t bytes)
{
    if (request->most_members < size) {
        free(request->inputs);
        free(request->counts);
        request->inputs = malloc((size_t)size * sizeof *request->inputs);
        request->counts = malloc(4 * (size_t)size * sizeof *request->counts);
        request->most_members = request->inputs && request->counts ? size : 0;
    }
    if (request->staging_bytes < bytes) {
        free(request->staging);
        request->staging = aligned_alloc(64, (bytes + 63) / 64 * 64);
        request->staging_bytes = request->staging ? bytes : 0;
    }
    return request->most_members >= size && request->staging_bytes >= bytes;
}

tri_status tri_mpi_request_take(struct mpi_group *group, const struct tri_comm_call *call,
                                const void *in, void *out, struct mpi_request **request)
{
    struct mpi_world *world = world_of(&group->base);
    TRI_TRY(tri_comm_check(&group->base, call));
    TRI_TRY(tri_mpi_failure(world));
    size_t bytes = tri_mpi_staging_bytes(call->op, group->base.size, call->count, call->dtype);
    struct mpi_request *taken = unused_best(world, bytes);
    if (!taken || !request_grow(taken, group->base.size, bytes)) {
        if (taken)
            request_give(world, taken);
        return tri_error_set(world->base.err, TRI_NOMEM,
                             "out of memory for %s on group '%s': %zu bytes of staging",
                             tri_comm_op_name(call->op), group->base.name, bytes);
    }
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

static int tag_of(const struct mpi_request *request)
{
    if (request->call.op == TRI_COMM_SEND || request->call.op == TRI_COMM_RECV)
        return request->channel;
    return request->group->first_tag + (int)(request->sequence % NUM_SEQUENCES) * NUM_PHASES +
           request->phase;
}

static int rank_of(const struct mpi_request *request, int peer)
{
    return request->group->is_arriving ? request->group->base.ranks[peer] : peer;
}

tri_status tri_mpi_post_send(struct mpi_request *request, const void *from, size_t bytes, int peer)
{
    const char *at = from;
    while (bytes > 0) {
        size_t num = bytes < TRI_MPI_CHUNK_BYTES ? bytes : TRI_MPI_CHUNK_BYTES;
        MPI_Request *wait;
        TRI_TRY(wait_add(request, peer, &wait));
        TRI_TRY(tri_mpi_check(MPI_Isend(at, (int)num, MPI_BYTE, rank_of(request, peer),
                                        tag_of(request), request->group->comm, wait),
                              &request->group->base, "MPI_Isend"));
        at += num;
        bytes -= num;
    }
    return TRI_OK;
}

tri_status tri_mpi_post_recv(struct mpi_request *request, void *to, size_t bytes, int peer)
{
    char *at = to;
    while (bytes > 0) {
        size_t num = bytes < TRI_MPI_CHUNK_BYTES ? bytes : TRI_MPI_CHUNK_BYTES;
        MPI_Request *wait;
        TRI_TRY(wait_add(request, peer, &wait));
        TRI_TRY(tri_mpi_check(MPI_Irecv(at, (int)num, MPI_BYTE, rank_of(request, peer),
                                        tag_of(request), request->group->comm, wait),
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

tri_status tri_mpi_begin(struct mpi_request *taken, tri_request **request)
{
    struct mpi_world *world = world_of(&taken->group->base);
    bool is_message = taken->call.op == TRI_COMM_SEND || taken->call.op == TRI_COMM_RECV;
    taken->sequence =
        is_message ? ++taken->group->num_messages[taken->call.op == TRI_COMM_RECV][taken->channel]
                   : ++taken->group->num_collectives;
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
    for (unsigned round = 0;; round++) {
        move_all(world);
        if (request->is_done || request->status != TRI_OK)
            return request->status;
        double waited = tri_clock_seconds() - start;
        if (round % 16 == 15 || waited > 0.001)
            tri_mpi_control_poll(world);
        TRI_TRY(tri_mpi_failure(world));
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
        free(request->staging);
        free(request->inputs);
        free(request->counts);
        free(request);
    }
}
