/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Index arithmetic between a tensor in a file and the elements of a logical parameter that a rank
 * holds. Pure; allocates nothing.
 *
 *   logical parameter [R, C] (C is 1 for a vector), unpadded
 *     file side   rows [row_first, row_first + rows), stored [rows, C], or [C, rows] when transposed
 *     local side  tensor-parallel rank r of t: its share of every part's rows, shares joined in part
 *                 order (cut_dim 0; several ranks may hold one share, see spec/sizing.h); columns [r C/t, (r+1) C/t) (cut_dim 1); everything (-1).
 *                 Of it the flat elements [first, first + count). Rows past R are padding: in
 *                 no file, zero in memory.
 *
 * What both sides share is a handful of tiles: rectangles whose runs are contiguous in the file.
 */
#pragma once

#include "spec/sizing.h"

#include <stdbool.h>
#include <stdint.h>

/* A tensor of a file. */
struct tri_disk_tensor {
    const char *name;
    int param;               /* index of the logical parameter in the model's list */
    int64_t row_first, rows; /* of the logical parameter */
    int64_t cols;            /* C */
    bool transposed;
    /* Not NULL: the rows of this parameter's parts alternate in the file, group by group; what else is here
       speaks of single pieces, which tri_layout_piece() gives. */
    const struct tri_param_spec *interleaved;
    int64_t file_first; /* of a piece: elements in front of it */
    int num_dims;
    int64_t dims[2]; /* as stored */
    int64_t elements;
    int file;      /* index of the file that holds it */
    int64_t begin; /* bytes in that file */
};

/* Elements that a rank holds. */
struct tri_local_range {
    const struct tri_param_spec *spec;
    int tp_rank, tp_size;
    int64_t first, count; /* of the flat tp-local tensor */
};

/* num runs of count elements. Numbers are in elements; local ones count from the range's first. */
struct tri_tile {
    int64_t num, count;
    int64_t file;        /* first element of run 0 within the file tensor */
    int64_t file_pitch;  /* from run to run in the file, >= count */
    int64_t local;       /* first element of run 0 */
    int64_t local_pitch; /* from run to run in memory */
    int64_t local_step;  /* from element to element of a run in memory */
};

#define TRI_MAX_TILES (3 * TRI_MAX_PARTS)

/* A tensor that is interleaved is made of num pieces, rows that lie together on both sides; others of 1. */
int64_t tri_layout_num_pieces(const struct tri_disk_tensor *disk);
struct tri_disk_tensor tri_layout_piece(const struct tri_disk_tensor *disk, int64_t i);
/* The tiles that disk, a piece, and range share, in file order within each part; returns their number. */
int tri_layout_tiles(const struct tri_local_range *range, const struct tri_disk_tensor *disk,
                     struct tri_tile tiles[TRI_MAX_TILES]);
/* Number of elements that they share. */
int64_t tri_layout_shared(const struct tri_local_range *range, const struct tri_disk_tensor *disk);
/* The part of the range that is vocabulary padding: elements [*first, *first + *count), counted
   from the range's first; *count is 0 when there is none. */
void tri_layout_padding(const struct tri_local_range *range, int64_t *first, int64_t *count);
/* Rows and columns of the tp-local tensor. */
void tri_layout_local_dims(const struct tri_param_spec *spec, int tp_size, int64_t *rows,
                           int64_t *cols);
/* True when spec can be cut by tp_size and the range lies within its local tensor. */
bool tri_layout_is_valid(const struct tri_local_range *range);
