/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The byte layout of Megatron's PREFIX.idx, and the check that makes one safe to read. All integers
 * are little-endian; no array is aligned, so every access copies.
 *
 *   offset      bytes  content
 *   0           9      "MMIDIDX\0\0"
 *   9           8      u64 version, 1
 *   17          1      u8 element type of PREFIX.bin (enum below)
 *   18          8      u64 S, number of sequences
 *   26          8      u64 D, number of document boundaries = documents + 1
 *   34          4 S    i32 length of each sequence in tokens
 *   34 + 4 S    8 S    i64 byte offset of each sequence in PREFIX.bin
 *   34 + 12 S   8 D    i64 boundaries: document k is sequences [b[k], b[k + 1]); first 0, last S
 *   34+12S+8D   S      optional: i8 mode of each sequence (multimodal data; ignored here)
 *
 * PREFIX.bin is the tokens of all sequences in order, nothing else.
 */
#pragma once

#include "base/check.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TRI_IDX_HEADER_BYTES = 34 };

enum tri_idx_type {
    TRI_IDX_U8 = 1,
    TRI_IDX_I8 = 2,
    TRI_IDX_I16 = 3,
    TRI_IDX_I32 = 4,
    TRI_IDX_I64 = 5,
    TRI_IDX_F64 = 6,
    TRI_IDX_F32 = 7,
    TRI_IDX_U16 = 8
};

extern const char tri_idx_magic[9];

/* A checked index; the pointers borrow from the bytes given to tri_idx_read. */
struct tri_idx {
    enum tri_idx_type type;
    int64_t token_bytes;    /* of one token in PREFIX.bin */
    int64_t num_sequences;  /* S */
    int64_t num_boundaries; /* D */
    int64_t num_tokens;     /* in all sequences */
    const unsigned char *lengths, *offsets, *boundaries;
};

/* Checks the bytes of an index against themselves and against the size of its .bin file. path and
   bin_path are for messages, which give what was found and what was expected in bytes. */
tri_status tri_idx_read(const unsigned char *bytes, size_t size, const char *path, int64_t bin_size,
                        const char *bin_path, struct tri_idx *idx, tri_error *err);

static inline int64_t tri_idx_length(const struct tri_idx *idx, int64_t sequence)
{
    int32_t length;
    memcpy(&length, idx->lengths + 4 * sequence, sizeof(length));
    return length;
}

static inline int64_t tri_idx_offset(const struct tri_idx *idx, int64_t sequence)
{
    int64_t offset;
    memcpy(&offset, idx->offsets + 8 * sequence, sizeof(offset));
    return offset;
}

static inline int64_t tri_idx_boundary(const struct tri_idx *idx, int64_t index)
{
    int64_t boundary;
    memcpy(&boundary, idx->boundaries + 8 * index, sizeof(boundary));
    return boundary;
}

/* Bytes of one token, 0 for a code that is not in the table. */
int64_t tri_idx_type_bytes(int type);
const char *tri_idx_type_name(int type);
