/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts text into the pieces within which byte pairs are merged: a list of regular-expression
 * splits, each working inside the pieces of the one before, as the pre_tokenizer of a
 * tokenizer.json says. One object is used from one thread at a time (it owns the matcher's memory).
 */
#pragma once

#include "base/check.h"

#include <stddef.h>

/* The splits of GPT-2's ByteLevel. */
extern const char tri_pretokenizer_gpt2_pattern[];

enum tri_split_behavior {
    TRI_SPLIT_ISOLATED,       /* matches and the text between them are pieces */
    TRI_SPLIT_REMOVE_MATCHES, /* the text between them */
    TRI_SPLIT_KEEP_MATCHES    /* the matches */
};

typedef struct tri_pretokenizer tri_pretokenizer;

tri_status tri_pretokenizer_create(tri_pretokenizer **pretokenizer, tri_error *err);
void tri_pretokenizer_destroy(tri_pretokenizer **pretokenizer);
/* Adds a split after those already there; pattern as in tokenizer.json. */
tri_status tri_pretokenizer_add(tri_pretokenizer *pretokenizer, const char *pattern,
                                enum tri_split_behavior behavior, tri_error *err);

typedef tri_status (*tri_piece_function)(void *context, const char *piece, size_t bytes,
                                         tri_error *err);
/* Calls take for each piece of text (valid UTF-8) in order. */
tri_status tri_pretokenizer_split(tri_pretokenizer *pretokenizer, const char *text, size_t bytes,
                                  tri_piece_function take, void *context, tri_error *err);
