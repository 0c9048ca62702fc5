/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One part of one token file as a list of samples of seq_length tokens with labels, loss mask and
 * positions, in Megatron's shuffled order (gpt_index.h). It borrows the token file, never changes
 * after creation and may be read by several threads; reading allocates nothing.
 */
#pragma once

#include "base/check.h"
#include "data/gpt_index.h"
#include "data/indexed_dataset.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tri_gpt_dataset tri_gpt_dataset;

/* What is the same for all datasets of a run. */
struct tri_gpt_dataset_config {
    int64_t seq_length; /* S */
    int64_t seed;
    int64_t vocab_size; /* ids must be below; 0: not checked */
    int32_t eod;        /* end of document, -1: none */
    int32_t pad;        /* -1: none; then nothing is padding */
    bool extra_token;   /* true in pre-training: labels reach one token further */
    bool drop_last;
    bool reset_position_ids;   /* positions start again after each eod */
    bool reset_attention_mask; /* a token sees nothing up to the last eod before it */
    bool eod_mask_loss;        /* no loss where the input token is eod */
};

/* One sample; arrays of the caller. */
struct tri_gpt_sample {
    int32_t *tokens;    /* [S + 1]; the last entry is scratch */
    int32_t *labels;    /* [S] */
    float *loss_mask;   /* [S] 1 or 0 */
    int32_t *positions; /* [S] */
    int32_t *segments;  /* [S] or NULL: a token sees only earlier tokens of its own segment */
};

/* Samples from sequences [first, end) of the file; name is for messages and copied. */
tri_status tri_gpt_dataset_create(const tri_indexed_dataset *file, int64_t first, int64_t end,
                                  int64_t num_samples, const struct tri_gpt_dataset_config *config,
                                  const char *name, tri_gpt_dataset **dataset, tri_error *err);
void tri_gpt_dataset_destroy(tri_gpt_dataset **dataset);

const struct tri_gpt_index *tri_gpt_dataset_index(const tri_gpt_dataset *dataset);
/* Number of samples. */
int64_t tri_gpt_dataset_length(const tri_gpt_dataset *dataset);
/* Fills sample with the k-th in shuffled order; k must be below the length. */
tri_status tri_gpt_dataset_read(const tri_gpt_dataset *dataset, int64_t k,
                                struct tri_gpt_sample *sample, tri_error *err);
