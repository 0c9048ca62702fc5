/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a token file pair PREFIX.bin + PREFIX.idx. Both are written under temporary names beside
 * their place and renamed by tri_indexed_writer_end, so that an unfinished run never leaves files
 * that look complete; tri_indexed_writer_destroy without it removes them.
 */
#pragma once

#include "base/check.h"
#include "data/indexed_format.h"

#include <stdint.h>

typedef struct tri_indexed_writer tri_indexed_writer;

/* The type Megatron chooses for a vocabulary: uint16 below 65500 ids, else int32. */
enum tri_idx_type tri_indexed_writer_type(int64_t vocab_size);

/* type is TRI_IDX_U16 or TRI_IDX_I32. */
tri_status tri_indexed_writer_create(const char *prefix, enum tri_idx_type type,
                                     tri_indexed_writer **writer, tri_error *err);
/* Appends one sequence to the open document. Fails for an id that does not fit the type. */
tri_status tri_indexed_writer_add_sequence(tri_indexed_writer *writer, const int32_t *tokens,
                                           int64_t num, tri_error *err);
/* Closes the document, also one without sequences. */
tri_status tri_indexed_writer_end_document(tri_indexed_writer *writer, tri_error *err);
/* Writes the index and moves both files to their names. The writer can only be destroyed after. */
tri_status tri_indexed_writer_end(tri_indexed_writer *writer, tri_error *err);
void tri_indexed_writer_destroy(tri_indexed_writer **writer);
