/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One planted fault, for tests that ask whether a failure is noticed: by the stalled rank's peers
 * within the time limit, by the failed rank's peers at once, and a flipped bit by whatever
 * compares.
 */
#include "comm/wrap.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fault {
    struct tri_fault_plan plan;
    int num_seen;
    unsigned char *flipped; /* what is sent instead */
};

static void fault_release(void *state)
{
    struct fault *fault = state;
    free(fault->flipped);
    free(fault);
}

static tri_status fault_stall(tri_world *inner, const struct tri_wrap_event *event)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    while (!inner->is_failed(inner))
        nanosleep(&nap, NULL);
    return tri_error_set(inner->err, TRI_COMM, "planted fault: rank %d stalled in %s on group '%s'",
                         inner->rank, tri_comm_op_name(event->call.op), event->group->name);
}

/* Flips the lowest bit of the middle byte: in place where the operation is, else in a copy. */
static tri_status fault_flip(struct fault *fault, tri_world *inner, struct tri_wrap_event *event)
{
    size_t middle = event->outgoing_bytes / 2;
    TRI_CHECK(event->outgoing && event->outgoing_bytes > 0, inner->err, TRI_INVALID,
              "planted fault: rank %d gives nothing in %s number %d, so no bit can be flipped; "
              "plan it for an operation that sends",
              inner->rank, tri_comm_op_name(event->call.op), fault->num_seen);
    if (event->is_in_place) {
        ((unsigned char *)event->outgoing)[middle] ^= 1u;
        return TRI_OK;
    }
    fault->flipped = malloc(event->outgoing_bytes);
    TRI_CHECK(fault->flipped, inner->err, TRI_NOMEM, "out of memory for a planted fault");
    memcpy(fault->flipped, event->outgoing, event->outgoing_bytes);
    fault->flipped[middle] ^= 1u;
    event->outgoing = fault->flipped;
    return TRI_OK;
}

static tri_status fault_hook(void *state, tri_world *inner, struct tri_wrap_event *event)
{
    struct fault *fault = state;
    if (inner->rank != fault->plan.rank || event->call.op != fault->plan.op ||
        ++fault->num_seen != fault->plan.count)
        return TRI_OK;
    switch (fault->plan.fault) {
    case TRI_FAULT_STALL:
        return fault_stall(inner, event);
    case TRI_FAULT_FLIP:
        return fault_flip(fault, inner, event);
    case TRI_FAULT_FAIL:
        break;
    }
    return tri_error_set(inner->err, TRI_COMM, "planted fault: rank %d failed in %s on group '%s'",
                         inner->rank, tri_comm_op_name(event->call.op), event->group->name);
}

tri_status tri_world_wrap_fault(tri_world *inner, const struct tri_fault_plan *plan,
                                tri_world **world)
{
    TRI_CHECK(plan->fault != TRI_FAULT_FLIP ||
                  (plan->op != TRI_COMM_RECV && plan->op != TRI_COMM_BARRIER),
              inner->err, TRI_INVALID,
              "planted fault: %s sends no buffer, so no bit can be flipped; choose an operation "
              "that sends",
              tri_comm_op_name(plan->op));
    struct fault *fault = calloc(1, sizeof *fault);
    TRI_CHECK(fault, inner->err, TRI_NOMEM, "out of memory for a planted fault");
    fault->plan = *plan;
    tri_status status = tri_world_wrap(inner, fault_hook, fault, fault_release, world);
    if (status != TRI_OK)
        free(fault);
    return status;
}
