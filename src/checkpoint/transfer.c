/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles through the staging buffer. A tile goes in pieces of some runs, or of a part of one run
 * when a single run is larger than the buffer. In the buffer the runs of a piece have a pitch of
 * their own.
 */
#include "checkpoint/transfer.h"

#include "checkpoint/io.h"

#include <string.h>

/* Runs at least this long go without the buffer when their elements lie side by side. */
#define DIRECT_BYTES 16384
/* A gap between two runs up to this size is read along with them. */
#define GAP_BYTES 8192
/* Elements of one side of the square blocks in which strided copies go. */
#define COPY_BLOCK 16

/* Runs [first, first + num) of a tile, elements [skip, skip + count) of each. */
struct piece {
    int64_t first, num, skip, count;
};

/* to[a, b] = from[a, b] over a block of num_a x num_b, through a small copy that is transposed
   in the first level cache: rows whose distance is a multiple of a page would evict each other
   there. */
static void copy_block(float *to, int64_t to_a, int64_t to_b, const float *from, int64_t from_a,
                       int64_t from_b, int64_t num_a, int64_t num_b)
{
    float block[COPY_BLOCK][COPY_BLOCK];
    for (int64_t b = 0; b < num_b; b++)
        for (int64_t a = 0; a < num_a; a++)
            block[b][a] = from[b * from_b + a * from_a];
    for (int64_t a = 0; a < num_a; a++)
        for (int64_t b = 0; b < num_b; b++)
            to[a * to_a + b * to_b] = block[b][a];
}

/* Copies runs between memory (local) and buffer in square blocks: the side that is strided then
   touches few lines at a time. to_buffer tells the direction. */
static void piece_copy(const struct tri_tile *tile, const struct piece *piece, float *local,
                       float *buffer, int64_t buffer_pitch, bool to_buffer)
{
    float *base =
        local + tile->local + piece->first * tile->local_pitch + piece->skip * tile->local_step;
    if (tile->local_step == 1) {
        for (int64_t r = 0; r < piece->num; r++) {
            float *mine = base + r * tile->local_pitch, *other = buffer + r * buffer_pitch;
            memcpy(to_buffer ? other : mine, to_buffer ? mine : other,
                   (size_t)piece->count * sizeof(float));
        }
        return;
    }
    for (int64_t i0 = 0; i0 < piece->count; i0 += COPY_BLOCK) {
        int64_t num_i = i0 + COPY_BLOCK < piece->count ? COPY_BLOCK : piece->count - i0;
        for (int64_t r0 = 0; r0 < piece->num; r0 += COPY_BLOCK) {
            int64_t num_r = r0 + COPY_BLOCK < piece->num ? COPY_BLOCK : piece->num - r0;
            float *mine = base + i0 * tile->local_step + r0 * tile->local_pitch;
            float *other = buffer + r0 * buffer_pitch + i0;
            if (to_buffer)
                copy_block(other, buffer_pitch, 1, mine, tile->local_pitch, tile->local_step, num_r,
                           num_i);
            else
                copy_block(mine, tile->local_step, tile->local_pitch, other, 1, buffer_pitch, num_i,
                           num_r);
        }
    }
}

/* The next piece of tile behind *piece of at most room elements, runs taking pitch elements
   each. False at the end. Begin with a piece of zeros. */
static bool piece_next(const struct tri_tile *tile, int64_t room, int64_t pitch,
                       struct piece *piece)
{
    if (piece->skip + piece->count < tile->count && piece->count > 0) {
        piece->skip += piece->count;
    } else {
        piece->first += piece->num;
        piece->skip = 0;
    }
    if (piece->first >= tile->num)
        return false;
    int64_t left = tile->count - piece->skip;
    piece->count = left < room ? left : room;
    piece->num = 1;
    if (piece->count == tile->count) {
        piece->num = (room - tile->count) / pitch + 1;
        if (piece->num > tile->num - piece->first)
            piece->num = tile->num - piece->first;
    }
    return true;
}

static int64_t piece_file(const struct tri_tile *tile, const struct piece *piece)
{
    return tile->file + piece->first * tile->file_pitch + piece->skip;
}

/* Writes num runs of count elements that lie packed at from. */
static tri_status write_runs(const struct tri_transfer *transfer, int fd, const char *path,
                             int64_t begin, const float *from, int64_t from_pitch, int64_t file,
                             int64_t file_pitch, int64_t num, int64_t count, uint64_t *sum)
{
    if (file_pitch == count && from_pitch == count) {
        count *= num;
        num = 1;
    }
    for (int64_t r = 0; r < num; r++) {
        const float *run = from + r * from_pitch;
        int64_t at = file + r * file_pitch;
        TRI_TRY(tri_io_write_at(fd, path, run, 4 * count, begin + 4 * at, transfer->err));
        *sum += tri_checksum_words(transfer->checksum, run, at, count);
    }
    return TRI_OK;
}

static tri_status write_tile(const struct tri_transfer *transfer, int fd, const char *path,
                             const struct tri_tile *tile, int64_t begin, const float *data,
                             uint64_t *sum)
{
    if (tile->local_step == 1)
        return write_runs(transfer, fd, path, begin, data + tile->local, tile->local_pitch,
                          tile->file, tile->file_pitch, tile->num, tile->count, sum);
    float *buffer = transfer->staging;
    int64_t room = (int64_t)(TRI_STAGING_BYTES / sizeof(float));
    struct piece piece = {0};
    while (piece_next(tile, room, tile->count, &piece)) {
        /* only read when copying to the buffer */
        piece_copy(tile, &piece, (float *)(uintptr_t)data, buffer, piece.count, true);
        TRI_TRY(write_runs(transfer, fd, path, begin, buffer, piece.count, piece_file(tile, &piece),
                           tile->file_pitch, piece.num, piece.count, sum));
    }
    return TRI_OK;
}

tri_status tri_transfer_write(const struct tri_transfer *transfer, int fd, const char *path,
                              const struct tri_disk_tensor *disk,
                              const struct tri_local_range *range, const float *data, uint64_t *sum)
{
    for (int64_t p = 0; p < tri_layout_num_pieces(disk); p++) {
        struct tri_disk_tensor piece = tri_layout_piece(disk, p);
        struct tri_tile tiles[TRI_MAX_TILES];
        int num = tri_layout_tiles(range, &piece, tiles);
        for (int i = 0; i < num; i++)
            TRI_TRY(write_tile(transfer, fd, path, &tiles[i], disk->begin, data, sum));
    }
    return TRI_OK;
}

static float f16_value(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31,
             mantissa = half & 1023;
    uint32_t bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | mantissa << 13;
    } else if (exponent != 0) {
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    } else {
        float value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void convert(enum tri_dtype dtype, const void *raw, float *out, int64_t num)
{
    for (int64_t i = 0; i < num; i++) {
        uint16_t word;
        memcpy(&word, (const char *)raw + 2 * i, 2);
        if (dtype == TRI_DTYPE_F16) {
            out[i] = f16_value(word);
        } else {
            uint32_t bits = (uint32_t)word << 16;
            memcpy(&out[i], &bits, sizeof(bits));
        }
    }
}

/* Reads num runs into buffer (floats, pitch *buffer_pitch): in one go with the gaps when those
   are small, else run by run. 16-bit types are read behind the room of the floats and converted. */
static tri_status read_runs(const struct tri_transfer *transfer, int fd, const char *path,
                            enum tri_dtype dtype, int64_t begin, int64_t file, int64_t file_pitch,
                            int64_t buffer_pitch, int64_t num, int64_t count)
{
    int64_t bytes = (int64_t)tri_dtype_bytes(dtype);
    char *buffer = transfer->staging;
    char *raw = dtype == TRI_DTYPE_F32 ? buffer : buffer + TRI_STAGING_BYTES / 2;
    if (buffer_pitch == file_pitch || num == 1) {
        count += (num - 1) * file_pitch;
        num = 1;
    }
    for (int64_t r = 0; r < num; r++) {
        TRI_TRY(tri_io_read_at(fd, path, raw + r * buffer_pitch * bytes, count * bytes,
                               begin + (file + r * file_pitch) * bytes, transfer->err));
    }
    if (dtype != TRI_DTYPE_F32)
        convert(dtype, raw, (float *)(void *)buffer, (num - 1) * buffer_pitch + count);
    return TRI_OK;
}

static tri_status read_tile(const struct tri_transfer *transfer, int fd, const char *path,
                            enum tri_dtype dtype, const struct tri_tile *tile, int64_t begin,
                            float *data, uint64_t *sum)
{
    float *buffer = transfer->staging;
    int64_t bytes = (int64_t)tri_dtype_bytes(dtype);
    bool direct =
        dtype == TRI_DTYPE_F32 && tile->local_step == 1 && 4 * tile->count >= DIRECT_BYTES;
    for (int64_t r = 0; direct && r < tile->num; r++) {
        float *run = data + tile->local + r * tile->local_pitch;
        int64_t file = tile->file + r * tile->file_pitch;
        TRI_TRY(tri_io_read_at(fd, path, run, 4 * tile->count, begin + 4 * file, transfer->err));
        if (sum)
            *sum += tri_checksum_words(transfer->checksum, run, file, tile->count);
    }
    if (direct)
        return TRI_OK;
    /* 16-bit types: a half of floats, then half of it for what is read */
    int64_t room = (int64_t)(TRI_STAGING_BYTES / sizeof(float)) / (dtype == TRI_DTYPE_F32 ? 1 : 2);
    bool gaps = (tile->file_pitch - tile->count) * bytes <= GAP_BYTES && tile->file_pitch <= room;
    int64_t pitch = gaps ? tile->file_pitch : tile->count;
    struct piece piece = {0};
    while (piece_next(tile, room, pitch, &piece)) {
        int64_t file = piece_file(tile, &piece);
        TRI_TRY(read_runs(transfer, fd, path, dtype, begin, file, tile->file_pitch, pitch,
                          piece.num, piece.count));
        for (int64_t r = 0; sum && r < piece.num; r++)
            *sum += tri_checksum_words(transfer->checksum, buffer + r * pitch,
                                       file + r * tile->file_pitch, piece.count);
        piece_copy(tile, &piece, data, buffer, pitch, false);
    }
    return TRI_OK;
}

tri_status tri_transfer_read(const struct tri_transfer *transfer, int fd, const char *path,
                             enum tri_dtype dtype, const struct tri_disk_tensor *disk,
                             const struct tri_local_range *range, float *data, uint64_t *sum)
{
    for (int64_t p = 0; p < tri_layout_num_pieces(disk); p++) {
        struct tri_disk_tensor piece = tri_layout_piece(disk, p);
        struct tri_tile tiles[TRI_MAX_TILES];
        int num = tri_layout_tiles(range, &piece, tiles);
        for (int i = 0; i < num; i++)
            TRI_TRY(read_tile(transfer, fd, path, dtype, &tiles[i], disk->begin, data, sum));
    }
    return TRI_OK;
}
