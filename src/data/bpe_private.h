/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a tri_bpe, shared by bpe.c (tables) and bpe_merge.c (merging) only. */
#pragma once

#include "data/bpe.h"

enum {
    BPE_CACHE_ROWS = 1 << 14,
    BPE_CACHE_BYTES = 24, /* longest piece remembered */
    BPE_CACHE_IDS = 8     /* most ids remembered for one */
};

struct bpe_token {
    size_t start, num; /* in text */
    bool present;
};

struct bpe_merge_row {
    uint64_t key; /* pair of ids; all ones: empty */
    int32_t rank, id;
};

/* A piece and its ids; the row is chosen by hash, a newer piece takes the place of an older one. */
struct bpe_cache_row {
    unsigned char num_bytes, num_ids;
    char bytes[BPE_CACHE_BYTES];
    int32_t ids[BPE_CACHE_IDS];
};

/* One token of the piece being merged; a list in place. */
struct bpe_symbol {
    int32_t id; /* -1: merged into the one before */
    int32_t previous, next;
};

/* A pair that can be merged. Stale when its symbols have changed since. */
struct bpe_candidate {
    int32_t rank, at; /* at: the left symbol */
    int32_t left, right, id;
};

struct tri_bpe {
    struct bpe_token *tokens; /* [room_ids] */
    int64_t num_ids, room_ids;
    struct tri_bytes text;
    int32_t byte_ids[256];
    struct {
        int32_t *ids; /* [mask + 1], -1: empty */
        size_t mask, num;
    } token_table;
    struct {
        struct bpe_merge_row *rows; /* [mask + 1] */
        size_t mask;
    } merge_table;
    int32_t num_merges;
    bool whole_pieces;
    struct bpe_cache_row *cache; /* [BPE_CACHE_ROWS] */
    struct bpe_symbol *symbols;  /* [room] */
    struct bpe_candidate *heap;  /* [3 room] */
    size_t room, heap_num;
};
