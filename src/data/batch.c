/* SPDX-License-Identifier: Apache-2.0 */
/* Filling microbatches (batch.h). */
#include "data/batch.h"

#include <stdlib.h>
#include <string.h>

struct tri_batch_reader {
    struct tri_batch_config config;
    tri_sampler *sampler;
    int64_t *samples; /* [micro_batch] */
    int32_t *tokens;  /* [seq_length + 1] */
};

tri_status tri_batch_reader_create(const struct tri_batch_config *config, tri_batch_reader **reader,
                                   tri_error *err)
{
    struct tri_sampler_config sampler = {
        .kind = config->sampler,
        .total = tri_blend_length(config->blend),
        .micro_batch = config->micro_batch,
        .dp_size = config->dp_size,
        .dp_rank = config->dp_rank,
        .data_sharding = config->data_sharding,
    };
    tri_batch_reader *result = calloc(1, sizeof(*result));
    TRI_CHECK(result, err, TRI_NOMEM, "out of memory for the batch reader");
    result->config = *config;
    result->samples = malloc((size_t)config->micro_batch * sizeof(*result->samples));
    result->tokens = malloc(((size_t)config->seq_length + 1) * sizeof(*result->tokens));
    tri_status status = TRI_NOMEM;
    if (result->samples && result->tokens)
        status = tri_sampler_create(&sampler, &result->sampler, err);
    else
        tri_error_set(err, TRI_NOMEM, "out of memory for the batch reader");
    if (status != TRI_OK) {
        tri_batch_reader_destroy(&result);
        return status;
    }
    *reader = result;
    return TRI_OK;
}

void tri_batch_reader_destroy(tri_batch_reader **reader)
{
    if (!*reader)
        return;
    tri_sampler_destroy(&(*reader)->sampler);
    free((*reader)->samples);
    free((*reader)->tokens);
    free(*reader);
    *reader = NULL;
}

tri_status tri_batch_reader_read(tri_batch_reader *reader, int64_t consumed, int64_t microbatch,
                                 const struct tri_batch_view *view, int64_t *tokens, tri_error *err)
{
    const struct tri_batch_config *config = &reader->config;
    int64_t s = config->seq_length, counted = 0;
    int64_t start = consumed + microbatch * config->micro_batch * config->dp_size;
    TRI_TRY(tri_sampler_read(reader->sampler, start, reader->samples, err));
    for (int64_t i = 0; i < config->micro_batch; i++) {
        struct tri_gpt_sample sample = {
            .tokens = reader->tokens,
            .labels = view->labels + i * s,
            .loss_mask = view->loss_weights + i * s,
            .positions = view->positions + i * s,
            .segments = view->segments ? view->segments + i * s : NULL,
        };
        TRI_TRY(tri_blend_read(config->blend, reader->samples[i], &sample, err));
        memcpy(view->tokens + i * s, sample.tokens, (size_t)s * sizeof(int32_t));
        for (int64_t k = 0; k < s; k++) {
            if (sample.loss_mask[k] == 0.0f)
                sample.labels[k] = -1;
            else
                counted++;
        }
        view->sample_ids[i] = start + config->dp_rank * config->micro_batch + i;
    }
    if (tokens)
        *tokens = counted;
    return TRI_OK;
}
