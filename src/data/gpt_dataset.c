/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching samples and making labels, masks and positions (gpt_dataset.h). */
#include "data/gpt_dataset.h"

#include <stdlib.h>
#include <string.h>

struct tri_gpt_dataset {
    const tri_indexed_dataset *file;
    struct tri_gpt_dataset_config config;
    struct tri_gpt_index index;
};

tri_status tri_gpt_dataset_create(const tri_indexed_dataset *file, int64_t first, int64_t end,
                                  int64_t num_samples, const struct tri_gpt_dataset_config *config,
                                  const char *name, tri_gpt_dataset **dataset, tri_error *err)
{
    tri_gpt_dataset *result = calloc(1, sizeof(*result));
    TRI_CHECK(result, err, TRI_NOMEM, "out of memory for the samples of '%s'", name);
    result->file = file;
    result->config = *config;
    struct tri_gpt_index_request request = {
        .idx = tri_indexed_dataset_idx(file),
        .name = name,
        .first = first,
        .end = end,
        .num_samples = num_samples,
        .seq_length = config->seq_length,
        .extra_token = config->extra_token,
        .drop_last = config->drop_last,
        .seed = config->seed,
    };
    tri_status status = tri_gpt_index_init(&result->index, &request, err);
    if (status != TRI_OK) {
        tri_gpt_dataset_destroy(&result);
        return status;
    }
    *dataset = result;
    return TRI_OK;
}

void tri_gpt_dataset_destroy(tri_gpt_dataset **dataset)
{
    if (!*dataset)
        return;
    tri_gpt_index_fini(&(*dataset)->index);
    free(*dataset);
    *dataset = NULL;
}

const struct tri_gpt_index *tri_gpt_dataset_index(const tri_gpt_dataset *dataset)
{
    return &dataset->index;
}

int64_t tri_gpt_dataset_length(const tri_gpt_dataset *dataset)
{
    return dataset->index.num_samples;
}

/* Copies the tokens of sample k, S + x of them, padded at the end of the last one. */
static tri_status gpt_dataset_fetch(const tri_gpt_dataset *dataset, int64_t k, int32_t *tokens,
                                    tri_error *err)
{
    const struct tri_gpt_dataset_config *config = &dataset->config;
    const struct tri_gpt_index *index = &dataset->index;
    const struct tri_idx *idx = tri_indexed_dataset_idx(dataset->file);
    int64_t x = config->extra_token, wanted = config->seq_length + x, num = 0;
    int64_t sample = tri_index_array_get(&index->shuffle, k);
    int64_t position = tri_index_array_get(&index->samples, 2 * sample);
    int64_t from = tri_index_array_get(&index->samples, 2 * sample + 1);
    int64_t last = tri_index_array_get(&index->samples, 2 * sample + 2);
    int64_t last_end = tri_index_array_get(&index->samples, 2 * sample + 3) + x;
    for (; position <= last; position++, from = 0) {
        int64_t sequence = index->documents[position];
        int64_t end = position == last ? last_end : tri_idx_length(idx, sequence);
        TRI_ASSERT(num + end - from <= wanted);
        TRI_TRY(tri_indexed_dataset_read(dataset->file, sequence, from, end - from,
                                         config->vocab_size, tokens + num, err));
        num += end - from;
    }
    for (; num < wanted; num++)
        tokens[num] = config->pad;
    return TRI_OK;
}

/* Loss mask, positions and segments follow from the input tokens before padding is replaced. */
static void gpt_dataset_mark(const struct tri_gpt_dataset_config *config,
                             const struct tri_gpt_sample *sample)
{
    int32_t position = 0, segment = 0;
    for (int64_t i = 0; i < config->seq_length; i++) {
        bool is_eod = config->eod >= 0 && sample->tokens[i] == config->eod;
        sample->loss_mask[i] = config->eod_mask_loss && is_eod ? 0.0f : 1.0f;
        sample->positions[i] = position++;
        if (sample->segments)
            sample->segments[i] = segment;
        if (is_eod && config->reset_position_ids)
            position = 0;
        if (is_eod && config->reset_attention_mask)
            segment++;
    }
}

tri_status tri_gpt_dataset_read(const tri_gpt_dataset *dataset, int64_t k,
                                struct tri_gpt_sample *sample, tri_error *err)
{
    const struct tri_gpt_dataset_config *config = &dataset->config;
    int64_t S = config->seq_length;
    TRI_ASSERT(k >= 0 && k < dataset->index.num_samples);
    TRI_TRY(gpt_dataset_fetch(dataset, k, sample->tokens, err));
    if (!config->extra_token)
        sample->tokens[S] = config->pad;
    memcpy(sample->labels, sample->tokens + 1, (size_t)S * sizeof(*sample->labels));
    gpt_dataset_mark(config, sample);
    for (int64_t i = 0; i < S; i++) {
        if (sample->labels[i] == config->pad) {
            sample->loss_mask[i] = 0.0f;
            sample->labels[i] = 0;
        }
        if (sample->tokens[i] == config->pad)
            sample->tokens[i] = 0;
    }
    return TRI_OK;
}
