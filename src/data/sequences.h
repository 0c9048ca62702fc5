/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token sequences to be scored, one behind the other, from JSON lines or from a token file.
 *
 * A line is an object with 'tokens' (a list of ids), with 'text', or with 'prompt' and
 * 'completion', of which only the completion is scored; both are texts or lists of ids. A text and
 * a prompt are encoded with what the tokenizer's post-processor adds (a beginning), a completion without, so
 * that its tokens follow those of the prompt as a sampler would have left them. Other keys are left
 * alone.
 */
#pragma once

#include "data/buffer.h"
#include "data/tokenizer.h"

struct tri_sequences {
    struct tri_ids tokens;
    int64_t *lengths, *prompt_lengths; /* [num] */
    int64_t num, room;
};

struct tri_sequences_config {
    const char *path;      /* of the lines, plain or compressed */
    const char *tokenizer; /* file or folder; opened at the first text */
    int64_t vocab_size;
    int64_t seq_length;    /* positions that a sequence may take: all its tokens but the last */
    int64_t max_positions; /* that seq_length may be raised to */
};

/* Reads every line; every one that is wrong is added to err with its number (the first 100, and how
   many more). sequences is empty before, and the caller's to end whatever the outcome. Local. */
tri_status tri_sequences_read_lines(const struct tri_sequences_config *config,
                                    struct tri_sequences *sequences, tri_error *err);

/* A token file from its first token on as windows of seq_length predictions, of which the next
   starts with the last token of the one before; max_tokens: how many predictions at most, 0: all.
   Local. */
tri_status tri_sequences_read_tokens(const char *prefix, int64_t seq_length, int64_t max_tokens,
                                     int64_t vocab_size, struct tri_sequences *sequences,
                                     tri_error *err);

/* Positions of the longest one. */
int64_t tri_sequences_positions(const struct tri_sequences *sequences);
void tri_sequences_fini(struct tri_sequences *sequences);
