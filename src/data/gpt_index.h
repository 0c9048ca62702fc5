/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three indexes of a GPT dataset, bit for bit as Megatron-LM builds them from one seed: in
 * which order sequences are strung together (document index), where in that string each sample
 * starts (sample index), and in which order samples are read (shuffle index). A sequence here is
 * what Megatron's code calls a document. An epoch is one pass over the sequences of the split.
 *
 *   T tokens in one epoch   S sequence length   x 1 if a sample needs one more token for its labels
 *   E epochs, the smallest with E T >= samples S + x   M samples in E epochs
 */
#pragma once

#include "base/check.h"
#include "data/indexed_format.h"

#include <stdbool.h>
#include <stdint.h>

struct tri_gpt_index_request {
    const struct tri_idx *idx;
    const char *name;    /* of the data, for messages: prefix and part */
    int64_t first, end;  /* sequences [first, end) of the file */
    int64_t num_samples; /* wanted; negative: one epoch, whatever it gives */
    int64_t seq_length;  /* S */
    bool extra_token;    /* x */
    bool drop_last;      /* leave out a last sample that is not full */
    int64_t seed;        /* 0 to 2^32 - 1 */
};

/* Numbers kept in 4 bytes where they fit, else in 8. */
struct tri_index_array {
    void *data;
    int64_t num;
    bool wide;
};

struct tri_gpt_index {
    int64_t tokens_per_epoch;       /* T */
    int64_t num_epochs;             /* E */
    int64_t num_samples;            /* M */
    bool separate_last_epoch;       /* the last epoch is shuffled on its own */
    int32_t *documents;             /* [num_documents] sequence numbers */
    int64_t num_documents;          /* E (end - first) */
    struct tri_index_array samples; /* [M + 1][2]: position in documents, token offset there */
    struct tri_index_array shuffle; /* [M] */
};

/* Fails, naming tokens needed and available, when the split is empty or cannot fill a sample. */
tri_status tri_gpt_index_init(struct tri_gpt_index *index,
                              const struct tri_gpt_index_request *request, tri_error *err);
void tri_gpt_index_fini(struct tri_gpt_index *index);

/* Bytes that the arrays of the index take. */
int64_t tri_gpt_index_bytes(const struct tri_gpt_index *index);

static inline int64_t tri_index_array_get(const struct tri_index_array *array, int64_t i)
{
    return array->wide ? ((const int64_t *)array->data)[i] : ((const int32_t *)array->data)[i];
}
