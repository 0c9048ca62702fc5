/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks as threads of one process: what the files of this folder share.
 *
 * An operation is a record (struct threads_op) that its members fill one after the other at begin
 * with pointers into their own memory. Once all have begun, its work, cut into parts, may be done
 * by any member: whoever waits in end takes its own part first and then those that nobody has
 * taken. Therefore an end needs only that all members have begun, never that they wait too, and no
 * order of ends can lock. A part reads and writes the members' buffers directly:
 *
 *     all_reduce, part p         rank 0   rank 1   rank 2
 *       sums in rank order       [..p.] + [..p.] + [..p.]  -> written to all three
 *
 * so that each byte crosses once in each direction, as in a ring.
 *
 *   world.c   ranks, sleeping and waking, failure
 *   blame.c   who did not come
 *   group.c   the part of a group that its members share
 *   op.c      begin, end, test: the life of an operation
 *   work.c    what a part does
 *   table.c   the operations of comm.h on top of op.c
 */
#pragma once

#include "comm/backend.h"

#include <pthread.h>
#include <stdatomic.h>

enum threads_failure { THREADS_NO_FAILURE, THREADS_ABANDONED, THREADS_LOST };

/* Where one rank sleeps. A waker adds to events first and looks at is_sleeping then; the sleeper
   does the opposite, so no wake-up is lost. */
struct threads_sleeper {
    _Alignas(64) atomic_uint events;
    atomic_bool is_sleeping;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct threads_op *waits_for; /* under lock: it stays alive while somebody looks at it */
};

/* What the ranks of one tri_threads_run() share. Order of locks: this, a sleeper's, a group's. */
struct threads_shared {
    int size;
    int num_spins; /* looks at events before going to sleep */
    double time_limit_seconds;
    struct threads_sleeper *sleepers; /* [size] */
    pthread_mutex_t lock;             /* groups, and writing the failure */
    struct threads_shared_group *groups;
    atomic_int failure; /* enum threads_failure; the two below stay as they are once it is set */
    int failed_rank;
    char failure_text[TRI_COMM_TEXT];
};

struct threads_world {
    tri_world base;
    struct threads_shared *shared;
};

/* One member's side of an operation. */
struct threads_member {
    const void *in;
    void *out;
    /* all_to_all: four lists of group size, in the member's request */
    const int64_t *out_counts, *out_first, *in_counts, *in_first;
    bool has_begun;
    bool is_taken; /* the part of this number */
};

/* Under the group's lock but for the atomics, the text once there is a mismatch, and the members'
   pointers once all have begun. */
struct threads_op {
    struct tri_pool_node node;
    struct threads_op *next; /* of the stream */
    struct threads_shared_group *group;
    struct threads_stream *stream;
    uint64_t sequence; /* from 1 */
    struct tri_comm_call call;
    int num_members, num_parts;
    int pair[2]; /* positions of sender and receiver, for messages */
    int num_begun, num_ended, num_taken, num_running, num_done;
    bool is_dead; /* no part may be taken any more */
    char mismatch[TRI_COMM_TEXT];
    atomic_bool has_all;            /* every member has begun */
    atomic_bool is_mismatch;        /* what they began differs; nothing will be done */
    atomic_bool is_finished;        /* every part is done */
    struct threads_member member[]; /* [group size] */
};

/* Operations that are matched by their number: all collectives of a group, or the messages from one
   member to another on one channel. */
struct threads_stream {
    struct threads_op *first, *last;
};

struct threads_shared_group {
    struct threads_shared_group *next;
    struct threads_shared *shared;
    char *name;
    int size;
    int *ranks;     /* [size] */
    bool *has_made; /* [size] members that have created their side */
    int num_destroyed;
    pthread_mutex_t lock;
    struct tri_pool ops;
    struct threads_stream collectives;
    struct threads_stream *messages; /* [from][to][channel] */
};

struct threads_group {
    tri_group base;
    struct threads_shared_group *shared;
    struct tri_pool requests;
    uint64_t num_collectives;
    uint64_t *num_messages; /* [2: sent, received][peer][channel] */
};

struct threads_request {
    struct tri_request base;
    struct threads_op *op;
    int member;          /* index into op->member */
    const void **inputs; /* [group size] scratch for the parts that this rank does */
    int64_t *counts;     /* [4][group size], for all_to_all; made at first use, kept */
};

extern const struct tri_comm_ops tri_threads_ops;

/* world.c */
struct threads_sleeper *tri_threads_sleeper(const tri_world *world);
/* Wakes the rank, or keeps it from going to sleep. */
void tri_threads_notify(struct threads_shared *shared, int rank);
/* Returns true when the sleeper's events are no longer seen, false at the deadline. op, if not
   NULL, is what the rank waits for until tri_threads_wait_over(). */
bool tri_threads_sleep(struct threads_shared *shared, struct threads_sleeper *sleeper,
                       struct threads_op *op, unsigned seen, double deadline);
void tri_threads_wait_over(struct threads_sleeper *sleeper);
/* The status of a failed world with its message in the rank's record; TRI_OK while it runs. */
tri_status tri_threads_failure(tri_world *world);
/* Notes the failure and wakes all; the first one stands. The shared lock is held. */
void tri_threads_fail(struct threads_shared *shared, enum threads_failure failure, int rank,
                      const char *text);

/* blame.c */
/* The rank's deadline has passed while it waits for op: finds who did not come and fails the
   world. */
void tri_threads_lose(tri_world *world, struct threads_op *op);

/* group.c */
tri_status tri_threads_group_create(tri_world *world, const char *name, const int *ranks, int size,
                                    tri_error *err, tri_group **group);
void tri_threads_group_destroy(tri_group *group);
void tri_threads_shared_group_free(struct threads_shared_group *group);

/* op.c */
struct threads_begin {
    struct threads_stream *stream;
    uint64_t *sequence; /* of this member in the stream */
    int member, num_members;
    int pair[2];
    struct threads_member side;
};
/* counts may be NULL, or four lists of group size (out, out first, in, in first) to be copied. */
tri_status tri_threads_begin(tri_group *group, const struct tri_comm_call *call,
                             struct threads_begin *begin, const int64_t *const *counts,
                             tri_request **request);
tri_status tri_threads_end(tri_group *group, tri_request **request);
bool tri_threads_test(tri_group *group, tri_request *request);

/* work.c */
/* In how many parts the work of op is cut. */
int tri_threads_num_parts(const struct threads_op *op);
/* True when one member does the whole work sooner than it could wake another. */
bool tri_threads_is_small(const struct threads_op *op);
void tri_threads_do_part(const struct threads_op *op, int part, tri_reduce_fn *reduce,
                         const void **inputs);
