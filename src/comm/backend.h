/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the backends of this folder share and nobody else sees: the common part of a group and of a
 * request, the checks of arguments at begin, the words for an operation, and the group of one that
 * every backend hands out when a group has a single member.
 */
#pragma once

#include "comm/comm.h"
#include "comm/pool.h"

/* The first member of every backend's own request. */
struct tri_request {
    struct tri_pool_node node;
};

/* What all members of a group must agree on when they begin an operation. root is a position, count
   is per member; fields that an operation has no use for are 0. */
struct tri_comm_call {
    enum tri_comm_op op;
    enum tri_dtype dtype;
    enum tri_reduce reduce;
    int root;
    int64_t count;
};

#define TRI_COMM_TEXT 512

/* Fills the base of a group; name and ranks are copied. */
tri_status tri_group_init(tri_group *group, const struct tri_comm_ops *ops, tri_world *world,
                          const char *name, const int *ranks, int size, tri_error *err);
void tri_group_fini(tri_group *group);

/* A group of one: every operation is a copy, or nothing, done at begin. Any world may own it. */
tri_status tri_self_group_create(tri_world *world, const char *name, const int *ranks, int size,
                                 tri_error *err, tri_group **group);

/* Of a backend that needs no staging. */
void tri_lend_staging_none(tri_group *group, void *memory, size_t bytes);

/* The checks of begin. The message names group and operation. Local. */
tri_status tri_comm_check(const tri_group *group, const struct tri_comm_call *call);
tri_status tri_comm_check_counts(const tri_group *group, const int64_t *out_counts,
                                 const int64_t *in_counts);
/* That the member 'to' expects as much as the member 'from' gives. */
tri_status tri_comm_check_pair(const tri_group *group, int64_t out_count, int64_t in_count, int to,
                               int from);
tri_status tri_comm_check_channel(const tri_group *group, enum tri_comm_op op,
                                  enum tri_channel channel);

/* Whether members that began a and b began the same; of two messages, sides of one. */
bool tri_comm_is_same_call(const struct tri_comm_call *a, const struct tri_comm_call *b);
/* Names the failure "these two began different operations in one place". */
void tri_comm_differs_format(const char *group_name, uint64_t sequence, int rank,
                             const struct tri_comm_call *call, int other_rank,
                             const struct tri_comm_call *other, char *text, size_t bytes);

/* "all_reduce (sum) of 12 fp32" and the like. */
void tri_comm_call_format(const struct tri_comm_call *call, char *text, size_t bytes);
/* "rank 3", "ranks 1 and 3", "ranks 1, 3, 5 and 9 more". */
void tri_comm_ranks_format(const int *ranks, int num, char *text, size_t bytes);

/* Names the failure "the rank(s) in missing did not come to op number sequence of the group". */
void tri_comm_missing_format(const char *group_name, enum tri_comm_op op, uint64_t sequence,
                             const int *missing, int num_missing, double seconds, char *text,
                             size_t bytes);
