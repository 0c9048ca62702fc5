/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c[M, N] = beta * c + op(a) op(b): c is cut into tiles, each tile is one BLAS call over the whole
 * K on one thread. The tiles depend on M, N and K alone, so the team's size never changes a bit.
 * BLAS packs both operands anew for each tile, so tiles are as large as leaves enough of them; rows
 * are cut into an even number of equal parts first.
 */
#include "kernels/cpu_fast/blas.h"
#include "kernels/cpu_fast/cpu_fast.h"
#include "kernels/cpu_fast/cut.h"
#include "kernels/rows.h"

/* Tuning (measured on the shapes of GPT-2 124M, two threads). Multiply-adds below which one tile is
   cheaper than waking the team; rows per tile (large row tiles pack b seldom) and most row tiles;
   columns per tile; rows up to which columns alone are cut, and how: into few tiles, more of them
   when there are many columns, narrower than the others. */
#define ONE_TILE      1000000
#define TILE_ROWS     512
#define MAX_ROW_TILES 16
#define TILE_COLUMNS  12288
#define FEW_ROWS      256
#define FEW_TILES     2
#define MANY_COLUMNS  1024
#define FEW_COLUMNS   3072
#define ROUND_ROWS    8
#define ROUND_COLUMNS 64

struct gemm {
    struct tri_rows a, b, c;
    bool transpose_a, transpose_b;
    float beta;
    int64_t M, N, K, tile_rows, tile_columns, row_tiles;
};

static int64_t round_up(int64_t value, int64_t unit)
{
    return cut_ceil(value, unit) * unit;
}

static void gemm_cut(struct gemm *t)
{
    t->tile_rows = t->M;
    t->tile_columns = t->N;
    if (t->M * t->N * t->K < ONE_TILE)
        return;
    if (t->M <= FEW_ROWS) {
        int64_t tiles = cut_ceil(t->N, FEW_COLUMNS);
        int64_t least = t->N > MANY_COLUMNS ? 2 * FEW_TILES : FEW_TILES;
        tiles = tiles > least ? tiles : least;
        t->tile_columns = round_up(cut_ceil(t->N, tiles), ROUND_COLUMNS);
        return;
    }
    int64_t pairs = (t->M + TILE_ROWS) / (2 * TILE_ROWS); /* to the nearest */
    int64_t tiles = cut_min(pairs > 1 ? 2 * pairs : 2, MAX_ROW_TILES);
    t->tile_rows = round_up(cut_ceil(t->M, tiles), ROUND_ROWS);
    t->tile_columns = round_up(cut_ceil(t->N, cut_ceil(t->N, TILE_COLUMNS)), ROUND_COLUMNS);
}

static void gemm_task(void *arg, int64_t task, int member)
{
    (void)member;
    const struct gemm *t = arg;
    int64_t i = task % t->row_tiles * t->tile_rows, j = task / t->row_tiles * t->tile_columns;
    const struct tri_blas_matrix a = {.data = t->a.data + (t->transpose_a ? i : i * t->a.stride),
                                      .stride = t->a.stride,
                                      .transpose = t->transpose_a};
    const struct tri_blas_matrix b = {.data = t->b.data + (t->transpose_b ? j * t->b.stride : j),
                                      .stride = t->b.stride,
                                      .transpose = t->transpose_b};
    tri_blas_sgemm(t->c.data + i * t->c.stride + j, t->c.stride, a, b,
                   cut_min(t->tile_rows, t->M - i), cut_min(t->tile_columns, t->N - j), t->K, 1,
                   t->beta);
}

void tri_fast_gemm(struct tri_queue *q, struct tri_tensor c, struct tri_tensor a,
                   struct tri_tensor b, bool transpose_a, bool transpose_b, float beta,
                   void *workspace)
{
    (void)workspace;
    struct gemm t = {.a = tri_rows_matrix(a),
                     .b = tri_rows_matrix(b),
                     .c = tri_rows_matrix(c),
                     .transpose_a = transpose_a,
                     .transpose_b = transpose_b,
                     .beta = beta};
    t.M = t.c.num;
    t.N = t.c.columns;
    t.K = transpose_a ? t.a.num : t.a.columns;
    if (t.M == 0 || t.N == 0)
        return;
    gemm_cut(&t);
    t.row_tiles = cut_ceil(t.M, t.tile_rows);
    tri_team_run(q->team, gemm_task, &t, t.row_tiles * cut_ceil(t.N, t.tile_columns));
}

size_t tri_fast_gemm_bytes(int64_t M, int64_t N, int64_t K, int team_size)
{
    (void)M;
    (void)N;
    (void)K;
    (void)team_size;
    return 0;
}
