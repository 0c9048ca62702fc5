/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Safetensors files. The reader trusts nothing: every length, offset, shape and name is checked
 * before use, and each fault is added to the record with file, byte, what was expected and what was
 * found.
 *
 *   byte 0        u64 N, little-endian: bytes of the header, at most 100,000,000
 *   byte 8        JSON object, first byte '{', may end in blanks:
 *                 name -> {"dtype": text, "shape": [integers], "data_offsets": [begin, end]};
 *                 "__metadata__" -> {text: text}
 *   byte 8 + N    tensors, row-major, little-endian, offsets counted from here, without holes,
 *                 overlaps or tail; a dim of 0 holds no bytes, shape [] is one element
 *
 * The writer lays the whole file out before any data exists: tensors sorted by name, compact JSON,
 * the header filled up with blanks to a multiple of 8.
 */
#pragma once

#include "base/arena.h"
#include "base/check.h"
#include "base/dtype.h"

#include <stdbool.h>
#include <stdint.h>

#define TRI_SAFETENSORS_MAX_HEADER 100000000
#define TRI_SAFETENSORS_MAX_DIMS   16

struct tri_safetensors_dtype {
    const char *name; /* as in files: "F32" */
    int bits;
    bool readable;        /* its values can be read into fp32 */
    enum tri_dtype dtype; /* when readable */
};

struct tri_safetensors_tensor {
    const char *name;
    const struct tri_safetensors_dtype *dtype;
    int num_dims;
    const int64_t *dims;
    int64_t elements;
    int64_t begin, end; /* bytes in the file */
};

struct tri_safetensors {
    const char *path;
    const char *name; /* the part of path behind the last '/' */
    int fd;
    int64_t bytes;        /* of the file */
    int64_t header_bytes; /* 8 + N */
    int num_tensors;
    const struct tri_safetensors_tensor *tensors; /* by name */
    int num_metadata;
    const char *const *metadata; /* key, value, key, value, ... */
};

/* Opens and checks path; all faults of the file are added to err. What the result points to
   lives in arena; close it with tri_safetensors_close(). Local. */
tri_status tri_safetensors_open(const char *path, tri_arena *arena, tri_error *err,
                                struct tri_safetensors *file);
/* The check alone, on bytes already in memory (the fuzzer's door); fd of the result is -1. */
tri_status tri_safetensors_parse(const char *path, const void *head, int64_t head_bytes,
                                 int64_t file_bytes, tri_arena *arena, tri_error *err,
                                 struct tri_safetensors *file);
void tri_safetensors_close(struct tri_safetensors *file);
/* NULL if there is none. */
const struct tri_safetensors_tensor *tri_safetensors_find(const struct tri_safetensors *file,
                                                          const char *name);
/* "[3, 4]" in the arena ("[...]" when memory is out). */
const char *tri_safetensors_shape_text(tri_arena *arena, int num_dims, const int64_t *dims);

/* A tensor to be written, always F32. */
struct tri_safetensors_entry {
    const char *name;
    int num_dims;
    const int64_t *dims;
    int64_t begin; /* out: bytes in the file */
};
/* Computes header and offsets of a file with the entries, which must be sorted by name. */
tri_status tri_safetensors_layout(struct tri_safetensors_entry *entries, int num, tri_arena *arena,
                                  tri_error *err, const char **header, int64_t *header_bytes,
                                  int64_t *file_bytes);
