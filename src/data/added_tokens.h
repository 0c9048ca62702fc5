/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Added tokens: whole strings that become one id wherever they stand in the text, found by the
 * longest match from the left. Two passes as in the tokenizers library: tokens that are not
 * normalised in the raw text, then the normalised ones in what is left.
 */
#pragma once

#include "data/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tri_added_token {
    int32_t id;
    const char *content; /* UTF-8; borrowed */
    size_t num;          /* bytes of content */
    bool special;        /* left out when decoding without special tokens */
    bool normalized;     /* searched in normalised text */
    bool single_word;    /* only where no word character touches it */
    bool lstrip, rstrip; /* takes the white space on that side with it */
};

/* A set of tokens to search for at once. A zeroed struct is an empty set. */
struct tri_added_tokens {
    struct tri_added_token *tokens;
    int32_t num, room;
    struct tri_added_node *nodes; /* a trie of the contents; node 0 is the root */
    int32_t num_nodes, room_nodes;
};

/* content stays borrowed; empty contents are ignored. */
tri_status tri_added_tokens_add(struct tri_added_tokens *set, const struct tri_added_token *token,
                                tri_error *err);
void tri_added_tokens_fini(struct tri_added_tokens *set);

/* A stretch of text: a token, or text between tokens (token NULL). */
struct tri_added_part {
    const struct tri_added_token *token;
    size_t begin, end;
};

/* Finds the next part at or after *cursor and moves the cursors; false at the end of the text. With
   plain_special, tokens flagged special are text. Both cursors start at 0. */
struct tri_added_search {
    const struct tri_added_tokens *set;
    const char *text;
    size_t num;
    bool plain_special;
    size_t taken;  /* text up to here was given out */
    size_t cursor; /* the search goes on here */
    struct tri_added_part pending;
    bool has_pending;
};
bool tri_added_search_next(struct tri_added_search *search, struct tri_added_part *part);
