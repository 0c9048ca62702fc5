/* SPDX-License-Identifier: Apache-2.0 */
/* What memory.c and memory_comm.c share while they fill a rank's rows. */
#pragma once

#include "placement/memory.h"

struct tri_memory {
    struct tri_rank_plan *plan;
    const struct tri_placement *placement;
    tri_arena *arena;
    struct tri_plan_row *rows;
    int num, room;
    size_t hidden_bytes; /* one activation between units: [S, B, h] fp32 */
    tri_status status;   /* of the first failure; later calls do nothing */
};

/* Appends a row that lives the whole run, behind all others of its arena. */
void tri_memory_append(struct tri_memory *memory, enum tri_arena_kind arena, const char *owner,
                       const char *name, size_t bytes, int num_copies);

/* memory_comm.c: all rows of the arena COMM. */
void tri_memory_comm(struct tri_memory *memory);
