/* SPDX-License-Identifier: Apache-2.0 */
/* A corpus of 1000 documents; the checksums of its files and of its samples were recorded from Megatron-LM. */
#pragma once

#include "t70-cases.h"

#include "data/indexed_writer.h"

/* Writes it as case_path("big"). */
static inline void case_write_big(tri_error *err)
{
    tri_indexed_writer *writer = NULL;
    int32_t tokens[100];
    case_ok(err, tri_indexed_writer_create(case_path("big"), TRI_IDX_I32, &writer, err));
    for (int i = 0; i < 1000; i++) {
        int length = 7919 * i % 97 + 1;
        for (int j = 0; j < length; j++)
            tokens[j] = (31 * i + 17 * j) % 50000 + 1;
        case_ok(err, tri_indexed_writer_add_sequence(writer, tokens, length, err));
        case_ok(err, tri_indexed_writer_end_document(writer, err));
    }
    case_ok(err, tri_indexed_writer_end(writer, err));
    tri_indexed_writer_destroy(&writer);
}
