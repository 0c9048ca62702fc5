/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a tri_bpe_trainer, shared by bpe_train.c (counting and learning) and
   bpe_train_write.c. */
#pragma once

#include "data/bpe_train.h"
#include "data/pretokenize.h"

/* A distinct piece: its tokens at present, in symbols[start, start + num). */
struct train_word {
    size_t text_start;
    int64_t start, num, count;
    int32_t num_bytes;
};

struct train_pair {
    uint64_t key;
    int64_t count;
    struct tri_ids words; /* words that had the pair at some time */
};

struct train_entry {
    int64_t count;
    uint64_t key;
    int32_t pair;
};

struct train_token {
    size_t start, num; /* in text */
};

struct tri_bpe_trainer {
    int64_t vocab_size, min_frequency;
    char *pattern;
    tri_pretokenizer *pretokenizer;
    int32_t num_special;
    struct train_token *tokens; /* [vocab_size] */
    int64_t num_tokens;
    int32_t byte_ids[256];
    struct tri_bytes text; /* of tokens and words */
    struct train_word *words;
    int64_t num_words, room_words;
    int32_t *word_table; /* word number, -1: empty */
    size_t word_mask;
    struct tri_ids symbols;
    struct train_pair *pairs;
    int32_t num_pairs, room_pairs;
    int32_t *pair_table;
    size_t pair_mask;
    struct train_entry *heap;
    int64_t heap_num, heap_room;
    int32_t *token_table; /* token by bytes */
    size_t token_mask;
    struct tri_bpe_merge *merges; /* may outnumber the new tokens: two merges can make one */
    int64_t num_merges, room_merges;
};
