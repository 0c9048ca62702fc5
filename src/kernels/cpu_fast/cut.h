/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an operation on R rows of C columns is cut into tasks for the team: fixed pieces whose borders
 * depend on R and C alone. And how a sum over rows is cut: fixed blocks of rows, each giving one
 * partial row in the workspace, added in block order.
 */
#pragma once

#include "base/team.h"
#include "kernels/cpu_fast/simd.h"

#include <stddef.h>

/* Tuning:             elements per task, widest piece of a row, rows per block, most blocks */
#define CUT_ELEMENTS   32768
#define CUT_COLUMNS    16384
#define CUT_BLOCK_ROWS 32
#define CUT_MAX_BLOCKS 64

struct fast_cut {
    int64_t R, C, row_step, column_step, column_tasks, num_tasks;
};

/* One task's piece: rows first_row .. end_row - 1, count columns from first_column. */
struct fast_piece {
    int64_t first_row, end_row, first_column, count;
};

static inline int64_t cut_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cut_ceil(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline struct fast_cut fast_cut(int64_t R, int64_t C)
{
    struct fast_cut cut = {.R = R, .C = C};
    if (R <= 0 || C <= 0)
        return cut;
    cut.column_step = cut_min(C, CUT_COLUMNS);
    cut.row_step = CUT_ELEMENTS / cut.column_step;
    cut.column_tasks = cut_ceil(C, cut.column_step);
    cut.num_tasks = cut_ceil(R, cut.row_step) * cut.column_tasks;
    return cut;
}

/* The same with whole rows. */
static inline struct fast_cut fast_cut_rows(int64_t R, int64_t C)
{
    struct fast_cut cut = {.R = R, .C = C, .column_step = C, .column_tasks = 1};
    int64_t rows = C > 0 ? CUT_ELEMENTS / C : 1;
    cut.row_step = rows > 1 ? rows : 1;
    cut.num_tasks = cut_ceil(R, cut.row_step);
    return cut;
}

static inline struct fast_piece fast_cut_piece(const struct fast_cut *cut, int64_t task)
{
    int64_t row = task / cut->column_tasks * cut->row_step;
    int64_t column = task % cut->column_tasks * cut->column_step;
    return (struct fast_piece){.first_row = row,
                               .end_row = cut_min(row + cut->row_step, cut->R),
                               .first_column = column,
                               .count = cut_min(cut->column_step, cut->C - column)};
}

/* Rows per block of a sum over R rows. */
static inline int64_t fast_block_rows(int64_t R)
{
    int64_t rows = cut_ceil(R, CUT_MAX_BLOCKS);
    return rows > CUT_BLOCK_ROWS ? rows : CUT_BLOCK_ROWS;
}

static inline int64_t fast_num_blocks(int64_t R)
{
    return cut_ceil(R, fast_block_rows(R));
}

/* Bytes of num_sums partial rows per block; each starts on a cache line. */
static inline int64_t fast_partial_stride(int64_t C)
{
    return cut_ceil(C, 16) * 16;
}

static inline size_t fast_partial_bytes(int64_t R, int64_t C, int num_sums)
{
    return (size_t)(fast_num_blocks(R) * fast_partial_stride(C) * num_sums) * sizeof(float);
}

/* sum[C] += partial rows 0 .. num - 1 (stride elements apart), in this order. */
void tri_fast_add_partials(tri_team *team, float *sum, const float *partial, int64_t num,
                           int64_t stride, int64_t C);
