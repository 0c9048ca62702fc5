/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a rank's arenas. memory.c fills them from the buckets, the unit records and the
 * schedule:
 *
 *   PARAMS GRADS   one row per bucket
 *   OPTIM          moment 0 of every bucket's shard, moment 1 of every bucket's shard, ...
 *   SAVED          slice 0: slot 0, slot 1, ... ; slice 1: ...
 *                  a slot: | unit 0's rows | unit 1's rows | ... | input | hidden of unit 0 | ...
 *   WORK           rows of the units, all from the first byte on, and above the highest of
 *                  them the two gradients between units
 *   COMM           gradients between stages, staging of collectives and of checkpoints
 *   RUN            unit after unit
 */
#pragma once

#include "placement/plan.h"

#define TRI_PLAN_ALIGN 64

static inline size_t tri_plan_round(size_t bytes)
{
    return (bytes + TRI_PLAN_ALIGN - 1) / TRI_PLAN_ALIGN * TRI_PLAN_ALIGN;
}

/* Fills num_slots and slot_bytes, the rows, and the bytes of every arena; buckets are there
   already. */
tri_status tri_memory_plan(struct tri_rank_plan *plan, tri_arena *arena, tri_error *err);
