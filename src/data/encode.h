/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to token files. JSONL gives one document per line (a list of texts gives one sequence each);
 * plain text gives one document per file, or per part between separators. Sequences without tokens
 * are left out; a document without any stays as an empty document. Nothing is published unless
 * everything succeeded.
 */
#pragma once

#include "base/check.h"
#include "data/indexed_format.h"
#include "data/tokenizer.h"

#include <stdbool.h>
#include <stdint.h>

enum tri_encode_format {
    TRI_ENCODE_AUTO, /* JSONL when the name, without .gz or .zst, ends in .jsonl or .json */
    TRI_ENCODE_JSONL,
    TRI_ENCODE_TEXT
};

struct tri_encode_config {
    const char *const *inputs; /* [num_inputs] files, plain, gzip or zstd */
    int num_inputs;
    const char *output_prefix;
    enum tri_encode_format format;
    const char *json_key;  /* NULL: "text" */
    const char *separator; /* text: what ends a document; NULL: the end of the file */
    bool keep_separator;   /* it stays at the end of its document */
    bool append_eod;       /* after the last sequence of each document that has one */
    int32_t eod;           /* -1: the tokenizer's */
    bool skip_bad_lines;   /* leave out lines that cannot be read, with a note each */
    int64_t dtype;         /* enum tri_idx_type: TRI_IDX_U16, TRI_IDX_I32; 0: by the vocabulary */
    int flags;             /* enum tri_encode_flags */
};

struct tri_encode_counts {
    int64_t documents, empty_documents, sequences, tokens;
    int64_t text_bytes;  /* of the texts that were encoded */
    int64_t blank_lines; /* lines, or parts between separators, with nothing in them */
    int64_t bad_lines;   /* left out */
    enum tri_idx_type dtype;
};

/* Writes output_prefix.bin and .idx. A bad line is an error with file, line and reason unless
   skip_bad_lines is set. */
tri_status tri_encode_files(const struct tri_encode_config *config, tri_tokenizer *tokenizer,
                            struct tri_encode_counts *counts, tri_error *err);
