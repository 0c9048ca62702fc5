/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process grid: rank to coordinates and back, and the groups. The order of axes is
 * Megatron-LM's: tp-cp-ep-dp-pp, the leftmost axis varies fastest (use_tp_pp_dp_mapping:
 * tp-cp-ep-pp-dp). Groups:
 *
 *   name    members differ along   exists       used for
 *   tp      tp                     always       tensor-parallel collectives
 *   pp      pp                     always       neighbours of the pipeline
 *   dp_cp   dp, cp                 always       gradient reduction, optimizer shards, loss
 *   mp      tp, pp                 always       (reports)
 *   embd    first and last of pp   tied, pp > 1 gradients and start values of the tied table
 *   world   all                    always       norm, agreement
 *
 * Pure: nothing here communicates; model/ hands the rank lists to comm/.
 */
#pragma once

#include "base/axis.h"
#include "base/check.h"

struct tri_grid {
    int world_size;
    int size[TRI_NUM_AXES]; /* ETP and EDP belong to the expert grid */
    int order[5];           /* enum tri_axis, fastest first, of the dense grid */
    int expert_order[5];
};

/* Sizes from the options; world_size must be a multiple of tp * cp * pp, dp follows. All problems
   are added to err with the sizes that would work. */
tri_status tri_grid_plan(int world_size, int tp, int cp, int ep, int etp, int pp,
                         bool tp_pp_dp_mapping, tri_error *err, struct tri_grid *grid);
/* Coordinate of rank along axis (ETP, EP, EDP: of the expert grid). */
int tri_grid_coordinate(const struct tri_grid *grid, int rank, enum tri_axis axis);
/* The rank with rank's coordinates but value along axis. */
int tri_grid_move(const struct tri_grid *grid, int rank, enum tri_axis axis, int value);
/* Size of the group over axes; the members of rank's group in order (ranks has that size); the
   position of rank among them. axes all dense (TP CP DP PP) or all expert (ETP EP EDP PP). */
int tri_grid_group_size(const struct tri_grid *grid, tri_axis_set axes);
int tri_grid_group(const struct tri_grid *grid, int rank, tri_axis_set axes, int *ranks);
/* First and last stage of rank's pipeline; returns the number of members (1 when pp is 1) and
   fills ranks (room for 2); *member tells whether rank is one. */
int tri_grid_embedding_group(const struct tri_grid *grid, int rank, int *ranks, bool *member);
