/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The axes of the process grid, and sets of them. An axis is never a tensor dimension. A set names
 * the group of ranks that differ only along its axes; placement/ turns it into ranks. TRI_AXIS_ETP
 * and TRI_AXIS_EDP are the tensor- and data-parallel axes of the expert grid.
 */
#pragma once

#include <stdint.h>

enum tri_axis {
    TRI_AXIS_TP,
    TRI_AXIS_CP,
    TRI_AXIS_EP,
    TRI_AXIS_DP,
    TRI_AXIS_PP,
    TRI_AXIS_ETP,
    TRI_AXIS_EDP,
    TRI_NUM_AXES
};

typedef uint32_t tri_axis_set;
#define TRI_AXES(axis) ((tri_axis_set)1u << (axis))
#define TRI_AXES_NONE  ((tri_axis_set)0)

/* "tp", "cp", ... */
const char *tri_axis_name(enum tri_axis axis);
