/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one rank works with: its world, the groups of the grid, its queue and team, the operation
 * table of each implementation, its plan and the arenas the plan asks for. Everything to the right
 * takes its group, table or pointer from here. Owns groups and arenas; borrows the rest.
 */
#pragma once

#include "comm/comm.h"
#include "nn/build.h"
#include "placement/plan.h"
#include "tensor/storage.h"

enum { TRI_MAX_SHARED_HEADS = 32 };

struct tri_context {
    tri_error *err;
    tri_world *world;
    struct tri_queue queue;
    const struct tri_placement *placement;
    const struct tri_rank_plan *plan;
    const struct tri_extension *extensions;
    int num_extensions;
    uint64_t seed;
    struct tri_kernel_binding kernels[4]; /* by implementation */
    int num_kernels;
    const struct tri_kernels *update; /* for gradients and the optimizer: the fastest of them */
    tri_group *tp, *pp, *dp, *all;
    /* tp ranks that hold the same key/value heads, one group per number of them that a layer has. */
    tri_group *shared_heads[TRI_MAX_SHARED_HEADS];
    int num_shared_heads;
    tri_group *embd; /* NULL unless this rank holds a copy of an exchanged table */
    tri_storage *arena[TRI_NUM_ARENAS];
    struct tri_gap *gaps; /* of all arenas, where they are painted */
    int num_gaps;
};

/* Bytes between rows. */
struct tri_gap {
    enum tri_arena_kind arena;
    size_t first, bytes;
};

struct tri_context_request {
    tri_world *world;
    tri_team *team;
    const struct tri_placement *placement;
    const struct tri_rank_plan *plan;
    const struct tri_kernel_binding *kernels;
    int num_kernels;
    const struct tri_extension *extensions;
    int num_extensions;
    uint64_t seed;
};

/* Makes the groups and maps the arenas. Collective over the world. */
tri_status tri_context_create(const struct tri_context_request *request,
                              struct tri_context **context);
/* Collective over the world only in that all ranks do it. */
void tri_context_destroy(struct tri_context **context);

/* The group of those tp ranks, copies of them, that hold the same key/value heads; NULL: no such. */
tri_group *tri_context_shared_heads(const struct tri_context *context, int64_t copies);
/* Address of copy number copy of plan row number row. */
void *tri_context_row(const struct tri_context *context, int row, int copy);
/* Address of the row of owner and name, which the plan must have. */
void *tri_context_row_named(const struct tri_context *context, const char *owner, const char *name);
/* Lends group the staging that the plan has for owner, if any. */
void tri_context_lend_staging(const struct tri_context *context, tri_group *group,
                              const char *owner);
/* Closes every byte of the arenas that belongs to no row of the plan (tensor/storage.h says
   where). */
tri_status tri_context_close_gaps(struct tri_context *context);
/* That no such byte has been written; TRI_BUG names the arena, the byte and the row before it. Where
   gaps are not painted there is nothing to check. Local. */
tri_status tri_context_check_gaps(const struct tri_context *context);
