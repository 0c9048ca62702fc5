/* SPDX-License-Identifier: Apache-2.0 */
/* A token file as consecutive windows. */
#include "train/stream.h"

#include "data/indexed_dataset.h"

#include <stdlib.h>
#include <string.h>

struct tri_stream {
    struct tri_session *session;
    struct tri_batch_source source;
    int32_t *tokens; /* of the whole stream: labels + 1 */
    int64_t num_labels, num_windows;
    int64_t consumed; /* of the current step */
    int num_microbatches;
    int32_t *block; /* tokens, labels, positions of every microbatch */
    int64_t *sample_ids;
    float *losses;        /* [num_labels], or NULL */
    float *window_losses; /* [slot rows of a microbatch], landing place of the head */
};

static int64_t window_of(const tri_stream *stream, int index, int64_t row)
{
    const struct tri_session *session = stream->session;
    int64_t rows = session->config.train.micro_batch_size;
    int64_t dp = session->context->dp->size;
    return stream->consumed + (index * dp + session->context->dp->rank) * rows + row;
}

static tri_status stream_begin(void *arg, int64_t consumed)
{
    tri_stream *stream = arg;
    stream->consumed = consumed;
    return TRI_OK;
}

static tri_status stream_microbatch(void *arg, int index, struct tri_microbatch *microbatch)
{
    tri_stream *stream = arg;
    const struct tri_run_config *config = &stream->session->config;
    int64_t b = config->train.micro_batch_size, s = config->shape.seq_length, n = b * s;
    int32_t *tokens = stream->block + index * 3 * n, *labels = tokens + n, *positions = labels + n;
    int64_t *sample_ids = stream->sample_ids + index * b;
    *microbatch = (struct tri_microbatch){.rows = b,
                                          .length = s,
                                          .tokens = tokens,
                                          .labels = labels,
                                          .positions = positions,
                                          .sample_ids = sample_ids};
    for (int64_t row = 0; row < b; row++) {
        int64_t window = window_of(stream, index, row);
        sample_ids[row] = window;
        for (int64_t i = 0; i < s; i++) {
            int64_t at = window * s + i;
            bool there = at < stream->num_labels;
            tokens[row * s + i] = there ? stream->tokens[at] : 0;
            labels[row * s + i] = there ? stream->tokens[at + 1] : -1;
            positions[row * s + i] = (int32_t)i;
            microbatch->num_valid += there;
        }
    }
    return TRI_OK;
}

static tri_status stream_before(void *arg, int index, const struct tri_slice *slice,
                                struct tri_slot *slot)
{
    tri_stream *stream = arg;
    (void)index;
    if (stream->losses && slice->plan->has_head)
        slot->token_loss = stream->window_losses;
    return TRI_OK;
}

static tri_status stream_after(void *arg, int index, const struct tri_slice *slice,
                               struct tri_slot *slot)
{
    tri_stream *stream = arg;
    if (!stream->losses || !slice->plan->has_head || stream->session->context->tp->rank != 0)
        return TRI_OK;
    int64_t s = slot->microbatch->length;
    for (int64_t row = 0; row < slot->microbatch->rows; row++)
        for (int64_t i = 0; i < s; i++) {
            int64_t at = window_of(stream, index, row) * s + i;
            if (at < stream->num_labels)
                stream->losses[at] = stream->window_losses[row * s + i];
        }
    return TRI_OK;
}

/* Copies the first tokens of the file, sequence by sequence. */
static tri_status read_tokens(tri_stream *stream, const tri_indexed_dataset *file,
                              int64_t max_tokens)
{
    const struct tri_idx *idx = tri_indexed_dataset_idx(file);
    int64_t want = max_tokens > 0 ? max_tokens + 1 : INT64_MAX, have = 0, room = 0;
    for (int64_t k = 0; k < idx->num_sequences && room < want; k++)
        room += tri_idx_length(idx, k);
    room = room < want ? room : want;
    TRI_CHECK(room >= 2, stream->session->err, TRI_INVALID,
              "'%s' has %lld tokens; 2 are needed to predict one", tri_indexed_dataset_prefix(file),
              (long long)room);
    stream->tokens = malloc((size_t)room * sizeof(int32_t));
    TRI_CHECK(stream->tokens, stream->session->err, TRI_NOMEM, "out of memory for %lld tokens",
              (long long)room);
    for (int64_t k = 0; have < room; k++) {
        int64_t length = tri_idx_length(idx, k), take = length < room - have ? length : room - have;
        TRI_TRY(tri_indexed_dataset_read(file, k, 0, take, stream->session->config.shape.vocab_size,
                                         stream->tokens + have, stream->session->err));
        have += take;
    }
    stream->num_labels = room - 1;
    return TRI_OK;
}

static tri_status make_room(tri_stream *stream)
{
    const struct tri_run_config *config = &stream->session->config;
    int64_t b = config->train.micro_batch_size, s = config->shape.seq_length;
    stream->num_windows = (stream->num_labels + s - 1) / s;
    stream->num_microbatches = stream->session->placement->num_microbatches;
    stream->block = calloc((size_t)(stream->num_microbatches * 3 * b * s), sizeof(int32_t));
    stream->sample_ids = calloc((size_t)(stream->num_microbatches * b), sizeof(int64_t));
    stream->window_losses = calloc((size_t)(b * s), sizeof(float));
    if (!stream->block || !stream->sample_ids || !stream->window_losses)
        return tri_error_set(stream->session->err, TRI_NOMEM, "out of memory for the windows");
    return TRI_OK;
}

tri_status tri_stream_create(struct tri_session *session, const char *prefix, int64_t max_tokens,
                             tri_stream **result)
{
    tri_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return tri_error_set(session->err, TRI_NOMEM, "out of memory for the token stream");
    stream->session = session;
    stream->source = (struct tri_batch_source){.begin_step = stream_begin,
                                               .microbatch = stream_microbatch,
                                               .before = stream_before,
                                               .after = stream_after,
                                               .arg = stream};
    tri_indexed_dataset *file = NULL;
    tri_status status = tri_indexed_dataset_create(prefix, &file, session->err);
    if (status == TRI_OK)
        status = read_tokens(stream, file, max_tokens);
    tri_indexed_dataset_destroy(&file);
    if (status == TRI_OK)
        status = make_room(stream);
    if (status != TRI_OK) {
        tri_stream_destroy(&stream);
        return status;
    }
    *result = stream;
    return TRI_OK;
}

void tri_stream_destroy(tri_stream **result)
{
    tri_stream *stream = *result;
    if (!stream)
        return;
    free(stream->tokens);
    free(stream->block);
    free(stream->sample_ids);
    free(stream->losses);
    free(stream->window_losses);
    free(stream);
    *result = NULL;
}

int64_t tri_stream_batches(const tri_stream *stream)
{
    int64_t batch = stream->session->config.train.global_batch_size;
    return (stream->num_windows + batch - 1) / batch;
}

int64_t tri_stream_labels(const tri_stream *stream)
{
    return stream->num_labels;
}

int32_t tri_stream_label(const tri_stream *stream, int64_t k)
{
    return stream->tokens[k + 1];
}

const struct tri_batch_source *tri_stream_source(const tri_stream *stream)
{
    return &stream->source;
}

tri_status tri_stream_keep_losses(tri_stream *stream)
{
    stream->losses = calloc((size_t)stream->num_labels, sizeof(float));
    TRI_CHECK(stream->losses, stream->session->err, TRI_NOMEM,
              "out of memory for the token losses");
    return TRI_OK;
}

tri_status tri_stream_collect(tri_stream *stream, const float **losses)
{
    TRI_TRY(tri_group_all_reduce(stream->session->context->all, stream->losses, stream->num_labels,
                                 TRI_DTYPE_F32, TRI_REDUCE_SUM));
    *losses = stream->losses;
    return TRI_OK;
}
