/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world round another world: forwards every operation and calls a hook before each begin. fault.c
 * and trace.c are hooks and nothing else.
 */
#pragma once

#include "comm/backend.h"

/* An operation that is about to begin. The hook may point outgoing elsewhere, at as many bytes that
   stay as they are until the end of the world. */
struct tri_wrap_event {
    const tri_group *group;
    struct tri_comm_call call;
    uint64_t sequence;     /* on the group, by this rank, from 1; messages count too */
    size_t bytes;          /* of this rank's side */
    const void *outgoing;  /* NULL if this rank gives nothing */
    size_t outgoing_bytes; /* up to the last byte given */
    bool is_in_place;      /* outgoing may be written and must not be replaced */
};

/* What is not TRI_OK is returned by begin, and the operation does not begin. */
typedef tri_status tri_wrap_hook(void *state, tri_world *inner, struct tri_wrap_event *event);

/* Takes over inner and state (given to release at the end); on failure both stay the caller's. */
tri_status tri_world_wrap(tri_world *inner, tri_wrap_hook *hook, void *state,
                          void (*release)(void *state), tri_world **world);
