/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several token files as one list of samples. The order is Megatron's greedy rule: at each step the
 * file that lags most behind its share gives its next sample. One file without a weight is plain:
 * its samples in its own order. A blend owns its GPT datasets and borrows the token files; reading
 * allocates nothing.
 */
#pragma once

#include "base/check.h"
#include "data/gpt_dataset.h"
#include "data/split.h"

#include <stdint.h>

/* The items of a data_path option, parsed: prefixes borrowed from the items. */
struct tri_blend_list {
    int num;
    const char **prefixes; /* [num] */
    double *weights;       /* [num], or NULL when none were given */
};

/* Reads "p", "p1 p2 ..." or "w1 p1 w2 p2 ...". With an even number of items those at even places
   are weights if all of them are numbers, prefixes if none is; a mixture is refused, and so is a
   weight that is not a finite number above zero, naming the item (from 1). */
tri_status tri_blend_list_init(struct tri_blend_list *list, const char *const *items, int num_items,
                               tri_error *err);
void tri_blend_list_fini(struct tri_blend_list *list);

/* Divides num weights by their sum. */
void tri_blend_normalise(double *weights, int num);
/* The greedy rule for size steps over normalised weights. scratch has room for num entries. */
void tri_blend_greedy(const double *weights, int num, int64_t size, int16_t *dataset,
                      int64_t *sample, int64_t *scratch);
/* The same until every dataset i has given its sizes[i] samples; size is the sum of sizes. */
void tri_blend_exhaustive(const int64_t *sizes, int num, int64_t size, int16_t *dataset,
                          int64_t *sample, int64_t *scratch);

typedef struct tri_blend tri_blend;

struct tri_blend_request {
    int num;
    const tri_indexed_dataset *const *files; /* [num] */
    const double *weights;                   /* [num] or NULL */
    const struct tri_data_split *split;
    enum tri_data_part part;
    int64_t num_samples; /* negative: one epoch of everything */
    double surplus;      /* extra share each file is built with, 0.005 */
    const struct tri_gpt_dataset_config *dataset;
};

/* Notes in err which files are read more than once. */
tri_status tri_blend_create(const struct tri_blend_request *request, tri_blend **blend,
                            tri_error *err);
void tri_blend_destroy(tri_blend **blend);

int64_t tri_blend_length(const tri_blend *blend);
/* Tokens of one pass over all files of the blend. */
int64_t tri_blend_tokens(const tri_blend *blend);
int tri_blend_num_datasets(const tri_blend *blend);
const tri_gpt_dataset *tri_blend_dataset(const tri_blend *blend, int index);
/* Which dataset, and which of its samples, is the k-th of the blend. */
void tri_blend_locate(const tri_blend *blend, int64_t k, int *dataset, int64_t *sample);
tri_status tri_blend_read(const tri_blend *blend, int64_t k, struct tri_gpt_sample *sample,
                          tri_error *err);
/* Bytes of all indexes. */
int64_t tri_blend_bytes(const tri_blend *blend);
