/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of an operation: members begin it one after the other and are compared with the first;
 * once all have, whoever waits does parts of the work until none is left; the last member to end it
 * gives it back to the pool. On a failure the rank that leaves forbids further parts and waits for
 * those that run, since they may touch its memory.
 */
#include "comm/threads/threads.h"

#include "base/cancel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATE_SECONDS 1.0

static int member_rank(const struct threads_op *op, int member)
{
    return op->group
        ->ranks[op->num_members == 2 && op->stream != &op->group->collectives ? op->pair[member]
                                                                              : member];
}

static void notify_others(const struct threads_op *op, const tri_world *world)
{
    for (int i = 0; i < op->num_members; i++)
        if (member_rank(op, i) != world->rank)
            tri_threads_notify(op->group->shared, member_rank(op, i));
}

/* The operation of this number, new when this member is the first to come. */
static struct threads_op *op_find(struct threads_shared_group *group,
                                  const struct tri_comm_call *call,
                                  const struct threads_begin *begin)
{
    uint64_t sequence = *begin->sequence + 1;
    for (struct threads_op *op = begin->stream->first; op; op = op->next)
        if (op->sequence == sequence)
            return op;
    struct threads_op *op = tri_pool_take(&group->ops);
    if (!op)
        return NULL;
    memset(op, 0, sizeof *op + (size_t)group->size * sizeof op->member[0]);
    op->group = group;
    op->stream = begin->stream;
    op->sequence = sequence;
    op->call = *call;
    op->num_members = begin->num_members;
    op->pair[0] = begin->pair[0];
    op->pair[1] = begin->pair[1];
    op->num_parts = tri_threads_num_parts(op);
    if (begin->stream->last)
        begin->stream->last->next = op;
    else
        begin->stream->first = op;
    begin->stream->last = op;
    return op;
}

static void op_unlink(struct threads_op *op)
{
    struct threads_stream *stream = op->stream;
    struct threads_op *before = NULL;
    for (struct threads_op *at = stream->first; at != op; at = at->next)
        before = at;
    if (before)
        before->next = op->next;
    else
        stream->first = op->next;
    if (stream->last == op)
        stream->last = before;
    tri_pool_give(&op->group->ops, op);
}

/* Notes the mismatch between a member that begins and the first one that did. */
static void op_set_mismatch(struct threads_op *op, const struct tri_comm_call *call, int rank)
{
    int first_rank = rank;
    for (int i = 0; i < op->num_members; i++)
        if (op->member[i].has_begun) {
            first_rank = member_rank(op, i);
            break;
        }
    tri_comm_differs_format(op->group->name, op->sequence, first_rank, &op->call, rank, call,
                            op->mismatch, sizeof op->mismatch);
}

/* In an all_to_all what one side gives must be what the other expects. */
static void op_check_counts(struct threads_op *op)
{
    for (int to = 0; to < op->num_members && !op->mismatch[0]; to++)
        for (int from = 0; from < op->num_members; from++) {
            int64_t expects = op->member[to].out_counts[from];
            int64_t gives = op->member[from].in_counts[to];
            if (expects == gives)
                continue;
            snprintf(op->mismatch, sizeof op->mismatch,
                     "all_to_all number %" PRIu64 " on group '%s': rank %d expects %" PRId64
                     " elements from rank %d, which gives %" PRId64
                     "; both sides must have one count",
                     op->sequence, op->group->name, member_rank(op, to), expects,
                     member_rank(op, from), gives);
            break;
        }
}

/* A part that nobody has taken, this member's own first; -1 if there is none. */
static int op_take_part(struct threads_op *op, int member)
{
    int taken = -1;
    pthread_mutex_lock(&op->group->lock);
    if (!op->is_dead && op->num_begun == op->num_members && op->num_taken < op->num_parts) {
        taken = member % op->num_parts;
        while (op->member[taken].is_taken)
            taken = (taken + 1) % op->num_parts;
        op->member[taken].is_taken = true;
        op->num_taken++;
        op->num_running++;
    }
    pthread_mutex_unlock(&op->group->lock);
    return taken;
}

/* Does one part if there is one to do. */
static bool op_work(struct threads_op *op, tri_group *group, const struct threads_request *request)
{
    int part = op_take_part(op, request->member);
    if (part < 0)
        return false;
    tri_threads_do_part(op, part, group->world->reduce, request->inputs);
    pthread_mutex_lock(&op->group->lock);
    op->num_running--;
    op->num_done++;
    bool is_last = op->num_done == op->num_parts;
    if (is_last)
        atomic_store(&op->is_finished, true);
    bool is_dead = op->is_dead;
    pthread_mutex_unlock(&op->group->lock);
    if (is_last || is_dead)
        notify_others(op, group->world);
    return true;
}

/* Room for this member's side; kept by the request for the next time. */
static tri_status request_prepare(tri_group *group, struct threads_request *request,
                                  const int64_t *const *counts)
{
    size_t size = (size_t)group->size;
    if (!request->inputs)
        request->inputs = malloc(size * sizeof *request->inputs);
    if (counts && !request->counts)
        request->counts = malloc(4 * size * sizeof *request->counts);
    if (!request->inputs || (counts && !request->counts)) {
        tri_pool_give(&((struct threads_group *)group)->requests, request);
        return tri_error_set(group->world->err, TRI_NOMEM,
                             "out of memory for an operation on group '%s'", group->name);
    }
    for (size_t i = 0; counts && i < 4; i++)
        memcpy(request->counts + i * size, counts[i], size * sizeof *request->counts);
    return TRI_OK;
}

/* Enters this member's side. Returns false when out of memory. */
static bool op_enter(struct threads_shared_group *group, const struct tri_comm_call *call,
                     const struct threads_begin *begin, int rank, struct threads_op **entered)
{
    pthread_mutex_lock(&group->lock);
    struct threads_op *op = op_find(group, call, begin);
    if (op) {
        if (op->num_begun > 0 && !op->mismatch[0] && !tri_comm_is_same_call(&op->call, call))
            op_set_mismatch(op, call, rank);
        op->member[begin->member] = begin->side;
        op->member[begin->member].has_begun = true;
        op->num_begun++;
        if (op->num_begun == op->num_members && op->call.op == TRI_COMM_ALL_TO_ALL)
            op_check_counts(op);
        if (op->mismatch[0]) {
            op->is_dead = true;
            atomic_store(&op->is_mismatch, true);
        } else if (op->num_begun == op->num_members && op->num_parts == 0) {
            atomic_store(&op->is_finished, true);
        }
        if (op->num_begun == op->num_members)
            atomic_store(&op->has_all, true);
        (*begin->sequence)++;
        *entered = op;
    }
    pthread_mutex_unlock(&group->lock);
    return op != NULL;
}

tri_status tri_threads_begin(tri_group *base, const struct tri_comm_call *call,
                             struct threads_begin *begin, const int64_t *const *counts,
                             tri_request **request)
{
    struct threads_group *group = (struct threads_group *)base;
    TRI_TRY(tri_comm_check(base, call));
    TRI_TRY(tri_threads_failure(base->world));
    struct threads_request *taken = tri_pool_take(&group->requests);
    TRI_CHECK(taken, base->world->err, TRI_NOMEM, "out of memory for %s on group '%s'",
              tri_comm_op_name(call->op), base->name);
    TRI_TRY(request_prepare(base, taken, counts));
    if (counts) {
        begin->side.out_counts = taken->counts;
        begin->side.out_first = taken->counts + base->size;
        begin->side.in_counts = taken->counts + 2 * base->size;
        begin->side.in_first = taken->counts + 3 * base->size;
    }
    struct threads_op *op;
    if (!op_enter(group->shared, call, begin, base->world->rank, &op)) {
        tri_pool_give(&group->requests, taken);
        return tri_error_set(base->world->err, TRI_NOMEM, "out of memory for %s on group '%s'",
                             tri_comm_op_name(call->op), base->name);
    }
    taken->op = op;
    taken->member = begin->member;
    *request = &taken->base;
    bool is_told = false;
    while (atomic_load(&op->has_all) && tri_threads_is_small(op) && op_work(op, base, taken))
        is_told = true;
    if (!is_told && (atomic_load(&op->has_all) || atomic_load(&op->is_mismatch)))
        notify_others(op, base->world);
    return TRI_OK;
}

/* Ends this rank's part in op: no part may start that would touch its memory, none may run. */
static void op_leave(struct threads_op *op, tri_world *world, bool is_failed)
{
    struct threads_sleeper *sleeper = tri_threads_sleeper(world);
    for (bool is_left = false; !is_left;) {
        unsigned seen = atomic_load(&sleeper->events);
        pthread_mutex_lock(&op->group->lock);
        op->is_dead = op->is_dead || is_failed;
        is_left = op->num_running == 0 || !is_failed;
        if (is_left && ++op->num_ended == op->num_members)
            op_unlink(op);
        pthread_mutex_unlock(&op->group->lock);
        if (!is_left)
            tri_threads_sleep(op->group->shared, sleeper, NULL, seen, tri_clock_seconds() + 1.0);
    }
}

/* One look at op: done, failed, or worth waiting (TRI_OK with *is_done false). */
static tri_status op_look(struct threads_op *op, tri_group *group, bool *is_done)
{
    *is_done = atomic_load(&op->is_finished);
    if (*is_done)
        return TRI_OK;
    if (atomic_load(&op->is_mismatch))
        return tri_error_set(group->world->err, TRI_COMM, "%s", op->mismatch);
    return tri_threads_failure(group->world);
}

tri_status tri_threads_end(tri_group *group, tri_request **request)
{
    struct threads_request *ended = (struct threads_request *)*request;
    struct threads_op *op = ended->op;
    struct threads_shared *shared = ((struct threads_world *)group->world)->shared;
    struct threads_sleeper *sleeper = tri_threads_sleeper(group->world);
    double deadline = -1.0;
    tri_status status;
    for (bool is_done;;) {
        unsigned seen = atomic_load(&sleeper->events);
        status = op_look(op, group, &is_done);
        if (is_done || status != TRI_OK)
            break;
        if (atomic_load(&op->has_all) && op_work(op, group, ended))
            continue;
        if (deadline < 0.0)
            deadline = tri_clock_seconds() + shared->time_limit_seconds;
        bool is_awake = tri_threads_sleep(shared, sleeper, op, seen, deadline);
        if (is_awake)
            continue;
        /* Once all have begun the work runs and ends by itself: only absence is a failure. Who
           wakes long after its deadline was stopped itself, with all others, and gives them time
           again. */
        if (atomic_load(&op->has_all) || tri_clock_seconds() > deadline + LATE_SECONDS)
            deadline = tri_clock_seconds() + shared->time_limit_seconds;
        else
            tri_threads_lose(group->world, op);
    }
    if (deadline >= 0.0)
        tri_threads_wait_over(sleeper);
    op_leave(op, group->world, status != TRI_OK);
    tri_pool_give(&((struct threads_group *)group)->requests, ended);
    *request = NULL;
    return status;
}

bool tri_threads_test(tri_group *group, tri_request *request)
{
    struct threads_request *tested = (struct threads_request *)request;
    bool is_done;
    while (op_look(tested->op, group, &is_done) == TRI_OK && !is_done)
        if (!atomic_load(&tested->op->has_all) || !op_work(tested->op, group, tested))
            return false;
    return true;
}
