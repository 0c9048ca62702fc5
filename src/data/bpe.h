/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte-pair merging over a fixed vocabulary. Tokens are byte strings with ids; a merge is a pair of
 * ids with a rank. A piece starts as one token per byte; the adjacent pair of lowest rank (leftmost
 * among equals) is merged until none is left, in O(n log n). Short pieces are remembered, so one
 * object is used from one thread at a time.
 */
#pragma once

#include "data/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tri_bpe tri_bpe;

/* An empty vocabulary for about num_tokens tokens and num_merges merges. */
tri_status tri_bpe_create(int64_t num_tokens, int64_t num_merges, tri_bpe **bpe, tri_error *err);
void tri_bpe_destroy(tri_bpe **bpe);

/* Adds a token; is_bytes says that bytes is what it encodes, so that pieces can become it. Ids may
   come in any order and leave gaps. Fails for an id or a byte string given twice. */
tri_status tri_bpe_add_token(tri_bpe *bpe, int64_t id, const char *bytes, size_t num, bool is_bytes,
                             tri_error *err);
/* Adds the merge of left and right, of a rank after all before; their joined bytes must be a
   token. */
tri_status tri_bpe_add_merge(tri_bpe *bpe, int32_t left, int32_t right, tri_error *err);
/* A piece that is a token as a whole is not merged. */
void tri_bpe_set_whole_pieces(tri_bpe *bpe, bool whole_pieces);

/* Bytes without a token of their own become id instead of an error; after all tokens are added. */
void tri_bpe_set_unknown(tri_bpe *bpe, int32_t id);

/* Highest id + 1. */
int64_t tri_bpe_num_ids(const tri_bpe *bpe);
/* Whether each single byte has a token. */
bool tri_bpe_has_all_bytes(const tri_bpe *bpe);
/* The id of a byte string, -1 if there is none. */
int32_t tri_bpe_find(const tri_bpe *bpe, const char *bytes, size_t num);
/* The bytes of id; borrowed until the next token is added. NULL and 0 for an id without token. */
const char *tri_bpe_token(const tri_bpe *bpe, int64_t id, size_t *num);

/* Appends the ids of one piece. Fails when a byte has no token. */
tri_status tri_bpe_encode(tri_bpe *bpe, const char *piece, size_t num, struct tri_ids *ids,
                          tri_error *err);
