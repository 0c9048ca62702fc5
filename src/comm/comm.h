/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between ranks. A world is what a backend gives one rank: its number, the number of ranks
 * and the means to make groups. A group is an ordered list of world ranks; all groups come from the
 * grid (placement/grid.h), nobody makes others. A group of size one is legal and costs nothing.
 *
 * Every operation is a begin/end pair, so that work can go on meanwhile; group.c has the blocking
 * forms. Operations on one group are begun in the same order by all of its members; where members
 * begin different ones, all ranks fail with TRI_COMM, which names both. Every end waits at most the
 * world's time limit; then it fails with TRI_COMM and names the rank, group and operation that did
 * not come, in every rank that is still alive.
 *
 * Floating sums run in rank order with partial sums in the wider of fp32 and the type, the same
 * bits in self, threads and mpi. comm/ reduces through the function handed to it at creation
 * (base/reduce.h; kernels/reduce.h has it) and knows no arithmetic of its own.
 *
 * Tags and request handles never leave this folder. Staging is lent by whoever has planned it.
 */
#pragma once

#include "base/check.h"
#include "base/comm_op.h"
#include "base/dtype.h"
#include "base/reduce.h"
#include "trine/launch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tri_group tri_group;

const char *tri_comm_op_name(enum tri_comm_op op);

/* An operation under way; owned by the group that begun it, dead after its end. */
typedef struct tri_request tri_request;

/* Two streams of point-to-point messages per pair of ranks, so that with two stages, where previous
   and next are the same peer, activations and gradients never mix. */
enum tri_channel { TRI_CHANNEL_FORWARD, TRI_CHANNEL_BACKWARD, TRI_NUM_CHANNELS };

/* What a backend implements. count is in elements of dtype; buffers are contiguous. */
struct tri_comm_ops {
    const char *name;
    tri_status (*group_create)(tri_world *world, const char *name, const int *ranks, int size,
                               tri_error *err, tri_group **group);
    void (*group_destroy)(tri_group *group);

    /* buffer is reduced in place on every member. */
    tri_status (*all_reduce_begin)(tri_group *group, void *buffer, int64_t count,
                                   enum tri_dtype dtype, enum tri_reduce op, tri_request **request);
    /* in: size * count elements; out: the count elements of this member's part, reduced. out may be
       that part of in itself. */
    tri_status (*reduce_scatter_begin)(tri_group *group, void *out, const void *in, int64_t count,
                                       enum tri_dtype dtype, enum tri_reduce op,
                                       tri_request **request);
    /* in: count elements; out: size * count elements in member order. in may be this member's part
       of out. */
    tri_status (*all_gather_begin)(tri_group *group, void *out, const void *in, int64_t count,
                                   enum tri_dtype dtype, tri_request **request);
    /* root is a position in the group. */
    tri_status (*broadcast_begin)(tri_group *group, void *buffer, int64_t count,
                                  enum tri_dtype dtype, int root, tri_request **request);
    /* Counts and displacements in elements, one per member, read before begin returns. out must not
       overlap in. */
    tri_status (*all_to_all_begin)(tri_group *group, void *out, const int64_t *out_counts,
                                   const int64_t *out_first, const void *in,
                                   const int64_t *in_counts, const int64_t *in_first,
                                   enum tri_dtype dtype, tri_request **request);
    /* peer is a position in the group. Messages of one channel between two ranks arrive in order.
       A begun send does not wait for the receiver; the buffer stays untouched until its end. */
    tri_status (*send_begin)(tri_group *group, const void *buffer, int64_t count,
                             enum tri_dtype dtype, int peer, enum tri_channel channel,
                             tri_request **request);
    tri_status (*recv_begin)(tri_group *group, void *buffer, int64_t count, enum tri_dtype dtype,
                             int peer, enum tri_channel channel, tri_request **request);
    /* Ends once every member has begun it. */
    tri_status (*barrier_begin)(tri_group *group, tri_request **request);
    /* Waits, with the time limit, and frees the request whatever the outcome. Sets *request
       NULL. */
    tri_status (*end)(tri_group *group, tri_request **request);
    /* True when end would not wait; moves messages along on backends that need a call to do so. */
    bool (*test)(tri_group *group, tri_request *request);
    /* See tri_group_lend_staging(). */
    void (*lend_staging)(tri_group *group, void *memory, size_t bytes);
};

/* The first member of every backend's own struct. Wrappers (trace, fault) use the same. */
struct tri_world {
    const struct tri_comm_ops *ops;
    int rank;
    int size;
    double time_limit_seconds;
    tri_reduce_fn *reduce;
    tri_error *err; /* this rank's record, borrowed */
    void (*destroy)(tri_world *world);
    /* Tells every other rank that this one ends with a failure, so that they stop waiting at
       once and fail with TRI_PEER naming it. Safe to call twice. */
    void (*abandon)(tri_world *world, const char *why);
    tri_staging_fn *staging_bytes; /* of this backend's operations; counted by the plan */
    size_t own_staging_bytes;      /* allocated so far for operations that found too little lent */
    /* True once a rank has abandoned the world or has not come in time: every operation fails now.
       Local; for whoever waits for something else than a message. */
    bool (*is_failed)(tri_world *world);
};

struct tri_group {
    const struct tri_comm_ops *ops;
    tri_world *world;
    const char *name; /* "tp", "dp_cp", ... owned by the group */
    int size;
    int rank;          /* this rank's position */
    const int *ranks;  /* world ranks in order, owned by the group */
    size_t lent_bytes; /* of staging; the same on all members */
};

/* What a backend needs, by the name of a communicator ("self", "threads", "mpi"; also of one that
   is not in this build); NULL for another name. */
tri_staging_fn *tri_comm_staging(const char *communicator);

/* self: one rank, no messages. */
tri_status tri_world_create_self(tri_reduce_fn *reduce, tri_error *err, tri_world **world);

/*
 * threads: num_ranks ranks as threads of this process. tri_threads_run() starts a thread per rank,
 * calls body(arg, world) in each, waits for all, and returns the first status that is not TRI_OK or
 * PEER (else the first that is not TRI_OK). Each body gets its own world and error record
 * (world->err); when a body fails, its messages and its rank are in errs[rank] (num_ranks records
 * made by the caller), and the world is abandoned for it. The worlds are the run's own: a body may
 * destroy its world (or a wrapper that has taken it over), which then frees the wrapper only.
 */
tri_status tri_threads_run(int num_ranks, double time_limit_seconds, tri_reduce_fn *reduce,
                           tri_rank_fn *body, void *arg, tri_error **errs);

/* mpi: one rank of MPI_COMM_WORLD; starts MPI when nobody has. TRI_UNSUPPORTED without MPI in the
   build, with the way to get it. */
tri_status tri_world_create_mpi(double time_limit_seconds, tri_reduce_fn *reduce, tri_error *err,
                                tri_world **world);

/* Under mpi this is collective, within the time limit; print the messages of a failure before it,
   since the launcher may end this process once another has gone. */
void tri_world_destroy(tri_world **world);

/*
 * A wrapper that plants a fault for tests: the count-th operation (from 1) of kind op by this rank
 * stalls for ever (until abandoned), fails, or flips one bit of the outgoing buffer. Takes over
 * inner.
 */
enum tri_fault { TRI_FAULT_STALL, TRI_FAULT_FAIL, TRI_FAULT_FLIP };
struct tri_fault_plan {
    int rank;
    enum tri_comm_op op;
    int count;
    enum tri_fault fault;
};
tri_status tri_world_wrap_fault(tri_world *inner, const struct tri_fault_plan *plan,
                                tri_world **world);
/* A wrapper that writes one line per operation (rank, group, op, bytes, sequence number) through
   sink. Takes over inner. */
typedef void tri_trace_sink(void *arg, const char *line);
tri_status tri_world_wrap_trace(tri_world *inner, tri_trace_sink *sink, void *arg,
                                tri_world **world);

/* Blocking forms and helpers, written once in group.c. All are collective over group unless
   said. */
tri_status tri_group_create(tri_world *world, const char *name, const int *ranks, int size,
                            tri_group **group);
void tri_group_destroy(tri_group **group);
/*
 * Lends memory to the group, the same number of bytes on all members: the next operation that needs
 * staging takes it, and gives it back at its end unless other memory has been lent meanwhile. The
 * memory must outlive the group. Local.
 */
void tri_group_lend_staging(tri_group *group, void *memory, size_t bytes);
/* In pieces where lent staging is too small for the whole. */
tri_status tri_group_all_reduce(tri_group *group, void *buffer, int64_t count, enum tri_dtype dtype,
                                enum tri_reduce op);
tri_status tri_group_reduce_scatter(tri_group *group, void *out, const void *in, int64_t count,
                                    enum tri_dtype dtype, enum tri_reduce op);
tri_status tri_group_all_gather(tri_group *group, void *out, const void *in, int64_t count,
                                enum tri_dtype dtype);
tri_status tri_group_broadcast(tri_group *group, void *buffer, int64_t count, enum tri_dtype dtype,
                               int root);
tri_status tri_group_all_to_all(tri_group *group, void *out, const int64_t *out_counts,
                                const int64_t *out_first, const void *in, const int64_t *in_counts,
                                const int64_t *in_first, enum tri_dtype dtype);
/* Local to the pair. */
tri_status tri_group_send(tri_group *group, const void *buffer, int64_t count, enum tri_dtype dtype,
                          int peer, enum tri_channel channel);
tri_status tri_group_recv(tri_group *group, void *buffer, int64_t count, enum tri_dtype dtype,
                          int peer, enum tri_channel channel);
tri_status tri_group_barrier(tri_group *group);
tri_status tri_request_end(tri_group *group, tri_request **request);
/*
 * The agreement point: every member gives its status; all return TRI_OK iff all gave TRI_OK. Where
 * some failed, those return their own status and the others TRI_PEER with the lowest failing rank
 * named in their record.
 */
tri_status tri_group_agree(tri_group *group, tri_status mine);
