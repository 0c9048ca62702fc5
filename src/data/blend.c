/* SPDX-License-Identifier: Apache-2.0 */
/* Building and reading a blend (blend.h). */
#include "data/blend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct tri_blend {
    int num;
    tri_gpt_dataset **datasets; /* [num] */
    bool plain;                 /* one dataset in its own order, no index below */
    int64_t length;
    int16_t *dataset_index; /* [length] */
    int64_t *sample_index;  /* [length] */
};

/* How many samples each file is asked for. */
struct blend_shares {
    double *weights;  /* [num] normalised */
    int64_t *targets; /* [2 num] samples the blend needs, -1: one epoch; then scratch */
    int64_t size;     /* of the blend, when weights are given */
};

static tri_status blend_share(const struct tri_blend_request *r, struct blend_shares *shares,
                              tri_error *err)
{
    TRI_CHECK(!r->weights || r->num_samples >= 0, err, TRI_INVALID,
              "a blend with weights needs a number of samples; leave the weights out to read "
              "everything once");
    for (int i = 0; i < r->num; i++) {
        shares->targets[i] = -1;
        if (r->weights)
            shares->weights[i] = r->weights[i];
    }
    if (!r->weights)
        return TRI_OK;
    tri_blend_normalise(shares->weights, r->num);
    for (int i = 0; i < r->num; i++) {
        double target = ceil((double)r->num_samples * shares->weights[i]);
        shares->targets[i] = (int64_t)target;
        shares->size += shares->targets[i];
    }
    return TRI_OK;
}

static tri_status blend_build_dataset(tri_blend *blend, const struct tri_blend_request *r, int i,
                                      int64_t num_samples, tri_error *err)
{
    char name[512];
    int64_t first, end;
    const struct tri_idx *idx = tri_indexed_dataset_idx(r->files[i]);
    tri_data_split_range(r->split, r->part, idx->num_sequences, &first, &end);
    snprintf(name, sizeof(name), "the %s part of '%s'", tri_data_part_name(r->part),
             tri_indexed_dataset_prefix(r->files[i]));
    TRI_TRY(tri_gpt_dataset_create(r->files[i], first, end, num_samples, r->dataset, name,
                                   &blend->datasets[i], err));
    const struct tri_gpt_index *index = tri_gpt_dataset_index(blend->datasets[i]);
    if (index->num_epochs > 1)
        tri_error_note(err,
                       "%s is read %lld times: %lld samples are wanted, its %lld tokens give %lld",
                       name, (long long)index->num_epochs, (long long)num_samples,
                       (long long)index->tokens_per_epoch,
                       (long long)(index->tokens_per_epoch / r->dataset->seq_length));
    return TRI_OK;
}

static tri_status blend_build_datasets(tri_blend *blend, const struct tri_blend_request *r,
                                       const struct blend_shares *shares, tri_error *err)
{
    for (int i = 0; i < r->num; i++) {
        int64_t wanted = -1;
        if (r->weights)
            wanted = (int64_t)ceil((double)shares->targets[i] * (1.0 + r->surplus));
        else if (r->num == 1)
            wanted = r->num_samples;
        TRI_TRY(blend_build_dataset(blend, r, i, wanted, err));
    }
    return TRI_OK;
}

static tri_status blend_check_lengths(const tri_blend *blend, const struct tri_blend_request *r,
                                      tri_error *err)
{
    for (int64_t k = 0; k < blend->length; k++) {
        const tri_gpt_dataset *dataset = blend->datasets[blend->dataset_index[k]];
        TRI_CHECK(blend->sample_index[k] < tri_gpt_dataset_length(dataset), err, TRI_INVALID,
                  "the blend needs sample %lld of '%s', which was built with %lld; raise "
                  "mid_level_dataset_surplus %g",
                  (long long)blend->sample_index[k],
                  tri_indexed_dataset_prefix(r->files[blend->dataset_index[k]]),
                  (long long)tri_gpt_dataset_length(dataset), r->surplus);
    }
    return TRI_OK;
}

/* Without weights the files stand by their lengths: greedy up to num_samples, or everything
   once. */
static tri_status blend_order(tri_blend *blend, const struct tri_blend_request *r,
                              struct blend_shares *shares, tri_error *err)
{
    int64_t total = 0;
    for (int i = 0; i < r->num; i++) {
        int64_t length = tri_gpt_dataset_length(blend->datasets[i]);
        total += length;
        if (!r->weights)
            shares->weights[i] = (double)length;
    }
    blend->length = total;
    if (r->weights)
        blend->length = shares->size;
    else if (r->num_samples >= 0 && r->num_samples < total)
        blend->length = r->num_samples;
    blend->dataset_index = malloc((size_t)(blend->length + 1) * sizeof(*blend->dataset_index));
    blend->sample_index = malloc((size_t)(blend->length + 1) * sizeof(*blend->sample_index));
    TRI_CHECK(blend->dataset_index && blend->sample_index, err, TRI_NOMEM,
              "out of memory for a blend of %lld samples", (long long)blend->length);
    if (!r->weights && r->num_samples < 0) {
        for (int i = 0; i < r->num; i++)
            shares->targets[i] = tri_gpt_dataset_length(blend->datasets[i]);
        tri_blend_exhaustive(shares->targets, r->num, total, blend->dataset_index,
                             blend->sample_index, shares->targets + r->num);
        return TRI_OK;
    }
    tri_blend_normalise(shares->weights, r->num);
    tri_blend_greedy(shares->weights, r->num, blend->length, blend->dataset_index,
                     blend->sample_index, shares->targets + r->num);
    return blend_check_lengths(blend, r, err);
}

tri_status tri_blend_create(const struct tri_blend_request *r, tri_blend **blend, tri_error *err)
{
    tri_status status = TRI_NOMEM;
    tri_blend *result = calloc(1, sizeof(*result));
    struct blend_shares shares = {
        .weights = calloc((size_t)r->num, sizeof(*shares.weights)),
        .targets = calloc(2 * (size_t)r->num, sizeof(*shares.targets)),
    };
    if (result)
        result->datasets = calloc((size_t)r->num, sizeof(tri_gpt_dataset *));
    if (!result || !result->datasets || !shares.weights || !shares.targets) {
        tri_error_set(err, TRI_NOMEM, "out of memory for a blend of %d files", r->num);
        goto done;
    }
    result->num = r->num;
    result->plain = r->num == 1 && !r->weights;
    status = blend_share(r, &shares, err);
    if (status == TRI_OK)
        status = blend_build_datasets(result, r, &shares, err);
    if (status == TRI_OK && result->plain)
        result->length = tri_gpt_dataset_length(result->datasets[0]);
    else if (status == TRI_OK)
        status = blend_order(result, r, &shares, err);
done:
    free(shares.weights);
    free(shares.targets);
    if (status == TRI_OK)
        *blend = result;
    else
        tri_blend_destroy(&result);
    return status;
}

void tri_blend_destroy(tri_blend **blend)
{
    if (!*blend)
        return;
    for (int i = 0; i < (*blend)->num; i++)
        tri_gpt_dataset_destroy(&(*blend)->datasets[i]);
    free((*blend)->datasets);
    free((*blend)->dataset_index);
    free((*blend)->sample_index);
    free(*blend);
    *blend = NULL;
}

int64_t tri_blend_length(const tri_blend *blend)
{
    return blend->length;
}

int64_t tri_blend_tokens(const tri_blend *blend)
{
    int64_t tokens = 0;
    for (int i = 0; i < blend->num; i++)
        tokens += tri_gpt_dataset_index(blend->datasets[i])->tokens_per_epoch;
    return tokens;
}

int tri_blend_num_datasets(const tri_blend *blend)
{
    return blend->num;
}

const tri_gpt_dataset *tri_blend_dataset(const tri_blend *blend, int index)
{
    return blend->datasets[index];
}

void tri_blend_locate(const tri_blend *blend, int64_t k, int *dataset, int64_t *sample)
{
    TRI_ASSERT(k >= 0 && k < blend->length);
    *dataset = blend->plain ? 0 : blend->dataset_index[k];
    *sample = blend->plain ? k : blend->sample_index[k];
}

tri_status tri_blend_read(const tri_blend *blend, int64_t k, struct tri_gpt_sample *sample,
                          tri_error *err)
{
    int dataset;
    int64_t index;
    tri_blend_locate(blend, k, &dataset, &index);
    return tri_gpt_dataset_read(blend->datasets[dataset], index, sample, err);
}

int64_t tri_blend_bytes(const tri_blend *blend)
{
    int64_t bytes = 0;
    for (int i = 0; i < blend->num; i++)
        bytes += tri_gpt_index_bytes(tri_gpt_dataset_index(blend->datasets[i]));
    if (!blend->plain)
        bytes += blend->length * (int64_t)(sizeof(int16_t) + sizeof(int64_t));
    return bytes;
}
