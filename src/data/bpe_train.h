/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learns the merges of a byte-level BPE tokenizer from text, and writes tokenizer.json. The most
 * frequent pair of neighbouring tokens within pieces is merged first; among equals the smaller left
 * id, then the smaller right id. Ids: special tokens in the order given, then the 256 bytes by code
 * point of their mapped character, then merges. The result equals that of the tokenizers library's
 * BpeTrainer.
 */
#pragma once

#include "base/check.h"
#include "data/buffer.h"

#include <stdint.h>

struct tri_bpe_train_config {
    int64_t vocab_size;         /* ids to end with, if the text has that many pairs */
    int64_t min_frequency;      /* a pair that is rarer is not merged; at least 1 */
    const char *pattern;        /* regular expression that cuts pieces; NULL: GPT-2's */
    const char *const *special; /* special tokens, NULL-ended; may be NULL */
};

struct tri_bpe_merge {
    int32_t left, right, id;
    int64_t count; /* how often the pair stood in the text when it was merged */
};

typedef struct tri_bpe_trainer tri_bpe_trainer;

tri_status tri_bpe_trainer_create(const struct tri_bpe_train_config *config,
                                  tri_bpe_trainer **trainer, tri_error *err);
void tri_bpe_trainer_destroy(tri_bpe_trainer **trainer);
/* Counts the pieces of one more text (valid UTF-8, checked). */
tri_status tri_bpe_trainer_add(tri_bpe_trainer *trainer, const char *text, size_t bytes,
                               tri_error *err);
/* Learns the merges; once, after all texts. */
tri_status tri_bpe_trainer_run(tri_bpe_trainer *trainer, tri_error *err);

int64_t tri_bpe_trainer_num_ids(const tri_bpe_trainer *trainer);
int64_t tri_bpe_trainer_num_merges(const tri_bpe_trainer *trainer);
const struct tri_bpe_merge *tri_bpe_trainer_merges(const tri_bpe_trainer *trainer);
/* The bytes of a token; borrowed. */
const char *tri_bpe_trainer_token(const tri_bpe_trainer *trainer, int32_t id, size_t *bytes);

/* Writes path (tokenizer.json) under a temporary name and renames it, and beside it a
   tokenizer_config.json that names the first special token as the end. */
tri_status tri_bpe_trainer_write(const tri_bpe_trainer *trainer, const char *path, tri_error *err);
