/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data section of a run file, opened: token files, the split, and for training, validation and
 * test the samples in Megatron's order. Every rank may open its own; the indexes are the same to
 * the bit. A part that nothing is asked of is not built.
 */
#pragma once

#include "data/batch.h"
#include "data/config.h"

typedef struct tri_corpus tri_corpus;

struct tri_corpus_request {
    const struct tri_data_config *config;
    int64_t seq_length;
    int64_t seed;
    int64_t vocab_size;                      /* of the model; token ids must be below */
    int32_t eod;                             /* -1: none; the config's eod_token_id goes first */
    int32_t pad;                             /* -1: none; ignored when it equals eod */
    int64_t num_samples[TRI_NUM_DATA_PARTS]; /* 0: not built; negative: one epoch */
    /* Samples of one microbatch on all data-parallel ranks: the training text must hold that many
       in one pass; 0: not checked. */
    int64_t min_train_samples;
};

/* What the options alone show to be wrong, every problem added to err: lists, weights, the
   split, the ids that options need. Opens nothing; eod as in the request. Returns the first
   problem's status. */
tri_status tri_corpus_check(const struct tri_data_config *config, int32_t eod, tri_error *err);

/* Notes in err which files are read several times. Fails when a part that samples are asked of
   has no tokens, or the training text is too small, naming tokens needed and available. */
tri_status tri_corpus_create(const struct tri_corpus_request *request, tri_corpus **corpus,
                             tri_error *err);
void tri_corpus_destroy(tri_corpus **corpus);

/* The samples of a part; borrowed; NULL when it was not built. */
const tri_blend *tri_corpus_part(const tri_corpus *corpus, enum tri_data_part part);
/* Bytes of all indexes in memory. */
int64_t tri_corpus_bytes(const tri_corpus *corpus);
