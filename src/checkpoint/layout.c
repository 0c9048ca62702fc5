/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles between file tensors and local ranges; the picture is in layout.h. */
#include "checkpoint/layout.h"

#include "base/check.h"

/* Consecutive local rows that are consecutive rows of the logical parameter. */
struct strip {
    int64_t local, global, rows;
};

static int64_t param_rows(const struct tri_param_spec *spec)
{
    return spec->padded_rows > spec->dims[0] ? spec->padded_rows : spec->dims[0];
}

static int64_t param_cols(const struct tri_param_spec *spec)
{
    return spec->num_dims > 1 ? spec->dims[1] : 1;
}

/* Whole parts, or the one part that a tensor without named parts is. */
static int param_parts(const struct tri_param_spec *spec,
                       struct tri_param_part parts[TRI_MAX_PARTS])
{
    if (spec->num_parts <= 1) {
        parts[0] = (struct tri_param_part){.rows = param_rows(spec)};
        return 1;
    }
    for (int i = 0; i < spec->num_parts; i++)
        parts[i] = spec->parts[i];
    return spec->num_parts;
}

void tri_layout_local_dims(const struct tri_param_spec *spec, int tp_size, int64_t *rows,
                           int64_t *cols)
{
    struct tri_param_part parts[TRI_MAX_PARTS];
    int num = spec->cut_dim == 0 ? param_parts(spec, parts) : 0;
    *rows = spec->cut_dim == 0 ? 0 : param_rows(spec);
    for (int i = 0; i < num; i++)
        *rows += tri_part_share(&parts[i], tp_size);
    *cols = param_cols(spec) / (spec->cut_dim == 1 ? tp_size : 1);
}

bool tri_layout_is_valid(const struct tri_local_range *range)
{
    const struct tri_param_spec *spec = range->spec;
    if (range->tp_size < 1 || range->tp_rank < 0 || range->tp_rank >= range->tp_size ||
        spec->num_dims < 1 || spec->num_dims > 2 || spec->num_parts > TRI_MAX_PARTS)
        return false;
    struct tri_param_part parts[TRI_MAX_PARTS];
    int num = param_parts(spec, parts);
    for (int i = 0; i < num && spec->cut_dim == 0; i++)
        if (parts[i].rows * tri_part_copies(&parts[i]) % range->tp_size != 0)
            return false;
    if (spec->cut_dim == 1 && param_cols(spec) % range->tp_size != 0)
        return false;
    int64_t rows, cols;
    tri_layout_local_dims(spec, range->tp_size, &rows, &cols);
    return range->first >= 0 && range->count >= 0 && range->first + range->count <= rows * cols;
}

static int range_strips(const struct tri_local_range *range, struct strip strips[TRI_MAX_PARTS])
{
    const struct tri_param_spec *spec = range->spec;
    if (spec->cut_dim != 0) {
        strips[0] = (struct strip){.rows = param_rows(spec)};
        return 1;
    }
    struct tri_param_part parts[TRI_MAX_PARTS];
    int num_parts = param_parts(spec, parts), num = 0;
    int64_t local = 0;
    for (int i = 0; i < num_parts; i++) {
        int64_t share = tri_part_share(&parts[i], range->tp_size);
        int64_t global = tri_part_first(&parts[i], range->tp_size, range->tp_rank);
        if (num > 0 && strips[num - 1].global + strips[num - 1].rows == global)
            strips[num - 1].rows += share;
        else
            strips[num++] = (struct strip){.local = local, .global = global, .rows = share};
        local += share;
    }
    return num;
}

/* The range as rows [top, bottom] of the local tensor, the top row from column head on, the
   bottom row up to column tail (exclusive). */
struct window {
    int64_t top, bottom, head, tail;
    int64_t cols;      /* local */
    int64_t col_first; /* global column of local column 0 */
    int64_t first;     /* of the range */
};

static void add_tile(struct tri_tile *tiles, int *num, struct tri_tile tile)
{
    if (tile.num <= 0 || tile.count <= 0)
        return;
    if (tile.local_step == 1 && tile.file_pitch == tile.count && tile.local_pitch == tile.count) {
        tile.count *= tile.num;
        tile.num = 1;
    }
    if (tile.num == 1)
        tile.file_pitch = tile.local_pitch = tile.count;
    struct tri_tile *last = *num > 0 ? &tiles[*num - 1] : NULL;
    if (last && last->num == 1 && tile.num == 1 && last->local_step == 1 && tile.local_step == 1 &&
        last->file + last->count == tile.file && last->local + last->count == tile.local) {
        last->count += tile.count;
        last->file_pitch = last->local_pitch = last->count;
        return;
    }
    tiles[(*num)++] = tile;
}

/* Local rows [lo, hi] and columns [c0, c1) of the window, all of them within the range. shift is
   the file row (counted in disk's rows) of local row 0. */
static void add_block(struct tri_tile *tiles, int *num, const struct window *w,
                      const struct tri_disk_tensor *disk, int64_t shift, int64_t lo, int64_t hi,
                      int64_t c0, int64_t c1)
{
    if (lo > hi || c0 >= c1)
        return;
    int64_t row = lo + shift, col = c0 + w->col_first;
    int64_t local = lo * w->cols + c0 - w->first;
    if (disk->transposed)
        add_tile(tiles, num,
                 (struct tri_tile){.num = c1 - c0,
                                   .count = hi - lo + 1,
                                   .file = disk->file_first + col * disk->rows + row,
                                   .file_pitch = disk->rows,
                                   .local = local,
                                   .local_pitch = 1,
                                   .local_step = w->cols});
    else
        add_tile(tiles, num,
                 (struct tri_tile){.num = hi - lo + 1,
                                   .count = c1 - c0,
                                   .file = disk->file_first + row * disk->cols + col,
                                   .file_pitch = disk->cols,
                                   .local = local,
                                   .local_pitch = w->cols,
                                   .local_step = 1});
}

/* Untransposed: the top row, the rows between, the bottom row. */
static void add_rows(struct tri_tile *tiles, int *num, const struct window *w,
                     const struct tri_disk_tensor *disk, int64_t shift, int64_t lo, int64_t hi)
{
    bool cut_top = lo == w->top && w->head > 0;
    bool cut_bottom = hi == w->bottom && w->tail < w->cols;
    if (lo == hi && (cut_top || cut_bottom)) {
        add_block(tiles, num, w, disk, shift, lo, hi, cut_top ? w->head : 0,
                  cut_bottom ? w->tail : w->cols);
        return;
    }
    if (cut_top)
        add_block(tiles, num, w, disk, shift, lo, lo, w->head, w->cols);
    add_block(tiles, num, w, disk, shift, lo + cut_top, hi - cut_bottom, 0, w->cols);
    if (cut_bottom)
        add_block(tiles, num, w, disk, shift, hi, hi, 0, w->tail);
}

/* Transposed: the columns fall into three intervals in which every column has the same rows. */
static void add_columns(struct tri_tile *tiles, int *num, const struct window *w,
                        const struct tri_disk_tensor *disk, int64_t shift, int64_t lo, int64_t hi)
{
    int64_t head = lo == w->top ? w->head : 0;
    int64_t tail = hi == w->bottom ? w->tail : w->cols;
    int64_t a = head < tail ? head : tail, b = head < tail ? tail : head;
    const int64_t edge[4] = {0, a, b, w->cols};
    for (int i = 0; i < 3; i++) {
        int64_t c = edge[i];
        add_block(tiles, num, w, disk, shift, lo + (c < head), hi - (c >= tail), c, edge[i + 1]);
    }
}

static int64_t interleaved_groups(const struct tri_param_spec *spec)
{
    const struct tri_param_part *last = &spec->parts[spec->num_parts - 1];
    return last->rows / (last->unit > 0 ? last->unit : 1);
}

int64_t tri_layout_num_pieces(const struct tri_disk_tensor *disk)
{
    const struct tri_param_spec *spec = disk->interleaved;
    return spec ? spec->num_parts * interleaved_groups(spec) : 1;
}

struct tri_disk_tensor tri_layout_piece(const struct tri_disk_tensor *disk, int64_t i)
{
    struct tri_disk_tensor piece = *disk;
    const struct tri_param_spec *spec = disk->interleaved;
    if (!spec)
        return piece;
    int64_t groups = interleaved_groups(spec), group = i / spec->num_parts;
    int part = (int)(i % spec->num_parts);
    int64_t file_row = group * (spec->dims[0] / groups);
    for (int p = 0; p < part; p++)
        file_row += spec->parts[p].rows / groups;
    piece.interleaved = NULL;
    piece.rows = spec->parts[part].rows / groups;
    piece.row_first = spec->parts[part].first + group * piece.rows;
    piece.file_first = file_row * disk->cols;
    return piece;
}

int tri_layout_tiles(const struct tri_local_range *range, const struct tri_disk_tensor *disk,
                     struct tri_tile tiles[TRI_MAX_TILES])
{
    TRI_ASSERT(!disk->interleaved);
    if (range->count == 0)
        return 0;
    int64_t local_rows, cols, last = range->first + range->count - 1;
    tri_layout_local_dims(range->spec, range->tp_size, &local_rows, &cols);
    const struct window w = {.top = range->first / cols,
                             .bottom = last / cols,
                             .head = range->first % cols,
                             .tail = last % cols + 1,
                             .cols = cols,
                             .col_first = range->spec->cut_dim == 1 ? range->tp_rank * cols : 0,
                             .first = range->first};
    struct strip strips[TRI_MAX_PARTS];
    int num_strips = range_strips(range, strips), num = 0;
    for (int i = 0; i < num_strips; i++) {
        const struct strip *s = &strips[i];
        /* Local rows of the strip that lie in the window and in the file tensor. */
        int64_t shift = s->global - s->local - disk->row_first;
        int64_t lo = s->local > w.top ? s->local : w.top;
        int64_t hi = s->local + s->rows - 1 < w.bottom ? s->local + s->rows - 1 : w.bottom;
        if (lo + shift < 0)
            lo = -shift;
        if (hi + shift > disk->rows - 1)
            hi = disk->rows - 1 - shift;
        if (lo > hi)
            continue;
        if (disk->transposed)
            add_columns(tiles, &num, &w, disk, shift, lo, hi);
        else
            add_rows(tiles, &num, &w, disk, shift, lo, hi);
    }
    return num;
}

int64_t tri_layout_shared(const struct tri_local_range *range, const struct tri_disk_tensor *disk)
{
    int64_t elements = 0;
    for (int64_t p = 0; p < tri_layout_num_pieces(disk); p++) {
        struct tri_disk_tensor piece = tri_layout_piece(disk, p);
        struct tri_tile tiles[TRI_MAX_TILES];
        int num = tri_layout_tiles(range, &piece, tiles);
        for (int i = 0; i < num; i++)
            elements += tiles[i].num * tiles[i].count;
    }
    return elements;
}

void tri_layout_padding(const struct tri_local_range *range, int64_t *first, int64_t *count)
{
    const struct tri_param_spec *spec = range->spec;
    int64_t rows, cols, real = spec->dims[0];
    tri_layout_local_dims(spec, range->tp_size, &rows, &cols);
    if (spec->cut_dim == 0)
        real -= range->tp_rank * rows;
    if (real < 0)
        real = 0;
    if (real > rows)
        real = rows;
    if (spec->num_parts > 1)
        real = rows;
    int64_t begin = real * cols - range->first;
    *first = begin < 0 ? 0 : begin;
    *count = range->count > *first ? range->count - *first : 0;
}
