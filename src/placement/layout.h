/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer layout: which slice holds which units. A slice is numbered in model order as
 * index * num_stages + stage: the first slice of every stage, then the second of every stage, and
 * so on. Slice 0 has the embedding, the last one the head, and every layer lies in exactly one
 * slice.
 *
 *   even     layers per slice and per stage differ by at most one; the stages in the middle get the
 *            larger shares, since the first and the last hold the embedding and the head besides
 *   uneven   decoder_first_ / decoder_last_pipeline_num_layers fix a stage, the others share
 *            the rest
 *   layout   a string of E t L and |, or layer counts, says it all
 *
 * Pure.
 */
#pragma once

#include "placement/plan.h"

struct tri_layout {
    int num_stages, num_slices;          /* slices per stage */
    const struct tri_slice_plan *slices; /* [stage * num_slices + index] */
};

/* Adds every problem to err, with values that would work. The slices live in arena. */
tri_status tri_layout_plan(const struct tri_placement_config *config, int64_t num_layers,
                           tri_arena *arena, tri_error *err, struct tri_layout *layout);

/* Reads text, a layout string or counts: *counts gets the layers of each of *num slices in model
   order. Checks everything but the number of slices. */
tri_status tri_layout_read(const char *text, int64_t num_layers, tri_arena *arena, tri_error *err,
                           int *num, int64_t **counts);
