/* SPDX-License-Identifier: Apache-2.0 */
/* Token files to microbatches. */
#include "train/feed.h"

#include "data/corpus.h"
#include "data/tokenizer.h"

#include <stdlib.h>
#include <string.h>

struct tri_feed {
    struct tri_session *session;
    struct tri_batch_source source;
    tri_corpus *corpus;
    tri_batch_reader *reader;
    int num_microbatches;
    struct tri_batch_view *views; /* [microbatch] */
    int64_t *valid;               /* [microbatch] */
};

static const char *paths_of(const struct tri_run_config *config, enum tri_data_part part)
{
    static const size_t own[TRI_NUM_DATA_PARTS] = {
        offsetof(struct tri_data_config, train_data_path),
        offsetof(struct tri_data_config, valid_data_path),
        offsetof(struct tri_data_config, test_data_path),
    };
    const char *text = (const char *)&config->data + own[part];
    return text[0] ? text : config->data.data_path;
}

bool tri_feed_has(const struct tri_run_config *config, enum tri_data_part part)
{
    return paths_of(config, part)[0] != '\0';
}

int64_t tri_feed_samples(const struct tri_run_config *config, enum tri_data_part part)
{
    int64_t batch = config->train.global_batch_size, iters = config->train.train_iters;
    if (part == TRI_DATA_TRAIN)
        return iters == TRI_UNSET ? 0 : iters * batch;
    int64_t passes = 1;
    if (part == TRI_DATA_VALID && config->train.eval_interval != TRI_UNSET && iters != TRI_UNSET)
        passes = iters / config->train.eval_interval + 1;
    return passes * config->train.eval_iters * batch;
}

/* What the run asks of the split must have a share of it. */
static void check_shares(const struct tri_run_config *config, tri_error *err)
{
    const char *text = config->data.split;
    int64_t interval = config->train.eval_interval;
    struct tri_data_split split;
    if (!config->data.data_path[0] || tri_data_split_parse(text, &split, NULL) != TRI_OK)
        return;
    if (!split.present[TRI_DATA_TRAIN])
        tri_error_add(err, TRI_INVALID, "'split' %s leaves nothing for training; give it a share",
                      text);
    if (interval != TRI_UNSET && !split.present[TRI_DATA_VALID])
        tri_error_add(err, TRI_INVALID,
                      "'split' %s leaves nothing for validation, which 'eval_interval' %lld asks "
                      "for; give it a share, or leave 'eval_interval' out",
                      text, (long long)interval);
}

void tri_feed_check(const struct tri_run_config *config, tri_error *err)
{
    /* the tokenizer may still tell the end of a document */
    tri_corpus_check(&config->data, config->data.tokenizer[0] ? 0 : -1, err);
    check_shares(config, err);
}

/* One microbatch's arrays in one block. */
static bool make_view(struct tri_batch_view *view, int64_t rows, int64_t length, bool segments)
{
    size_t n = (size_t)(rows * length);
    int32_t *block = calloc(5 * n + 2 * (size_t)rows + 2, sizeof(int32_t));
    if (!block)
        return false;
    view->sample_ids = (int64_t *)block;
    view->tokens = block + 2 * rows;
    view->labels = view->tokens + n;
    view->positions = view->labels + n;
    view->loss_weights = (float *)(view->positions + n);
    view->segments = segments ? (int32_t *)(view->loss_weights + n) : NULL;
    return true;
}

static tri_status feed_begin_step(void *arg, int64_t consumed)
{
    tri_feed *feed = arg;
    for (int m = 0; m < feed->num_microbatches; m++)
        TRI_TRY(tri_batch_reader_read(feed->reader, consumed, m, &feed->views[m], &feed->valid[m],
                                      feed->session->err));
    return TRI_OK;
}

static tri_status feed_microbatch(void *arg, int index, struct tri_microbatch *microbatch)
{
    tri_feed *feed = arg;
    const struct tri_batch_view *view = &feed->views[index];
    *microbatch = (struct tri_microbatch){
        .rows = feed->session->config.train.micro_batch_size,
        .length = feed->session->config.shape.seq_length,
        .tokens = view->tokens,
        .labels = view->labels,
        .positions = view->positions,
        .segments = view->segments,
        .sample_ids = view->sample_ids,
        .num_valid = feed->valid[index],
    };
    return TRI_OK;
}

/* The end of a document: asked of the tokenizer only when something depends on it. */
static tri_status find_eod(const struct tri_run_config *config, tri_error *err, int32_t *eod)
{
    const struct tri_data_config *data = &config->data;
    tri_tokenizer *tokenizer = NULL;
    *eod = -1;
    bool needed = data->reset_position_ids || data->reset_attention_mask || data->eod_mask_loss;
    if (!needed || data->eod_token_id != TRI_UNSET || !data->tokenizer[0])
        return TRI_OK;
    TRI_TRY(tri_tokenizer_create(data->tokenizer, &tokenizer, err));
    *eod = tri_tokenizer_eod(tokenizer);
    tri_tokenizer_destroy(&tokenizer);
    return TRI_OK;
}

static tri_status open_corpus(tri_feed *feed, enum tri_data_part part, int64_t num_samples)
{
    const struct tri_session *session = feed->session;
    const struct tri_run_config *config = &session->config;
    struct tri_corpus_request request = {
        .config = &config->data,
        .seq_length = config->shape.seq_length,
        .seed = config->train.seed,
        .vocab_size = config->shape.vocab_size,
        .pad = -1,
    };
    TRI_TRY(find_eod(config, session->err, &request.eod));
    request.num_samples[part] = num_samples;
    if (part == TRI_DATA_TRAIN)
        request.min_train_samples = config->train.micro_batch_size * session->context->dp->size;
    TRI_TRY(tri_corpus_create(&request, &feed->corpus, session->err));
    TRI_CHECK(tri_corpus_part(feed->corpus, part), session->err, TRI_INVALID,
              "no data for %s; set data_path", tri_data_part_name(part));
    return TRI_OK;
}

static tri_status make_reader(tri_feed *feed, enum tri_data_part part)
{
    const struct tri_session *session = feed->session;
    const struct tri_run_config *config = &session->config;
    struct tri_batch_config batch = {
        .blend = tri_corpus_part(feed->corpus, part),
        .seq_length = config->shape.seq_length,
        .sampler = config->data.dataloader_type == TRI_DATALOADER_CYCLIC ? TRI_SAMPLER_CYCLIC
                                                                         : TRI_SAMPLER_SINGLE,
        .micro_batch = config->train.micro_batch_size,
        .dp_size = session->context->dp->size,
        .dp_rank = session->context->dp->rank,
    };
    TRI_TRY(tri_batch_reader_create(&batch, &feed->reader, session->err));
    feed->num_microbatches = session->placement->num_microbatches;
    feed->views = calloc((size_t)feed->num_microbatches, sizeof *feed->views);
    feed->valid = calloc((size_t)feed->num_microbatches, sizeof *feed->valid);
    bool made = feed->views && feed->valid;
    for (int m = 0; made && m < feed->num_microbatches; m++)
        made = make_view(&feed->views[m], batch.micro_batch, batch.seq_length,
                         config->data.reset_attention_mask);
    return made ? TRI_OK
                : tri_error_set(session->err, TRI_NOMEM, "out of memory for the microbatches");
}

tri_status tri_feed_create(struct tri_session *session, enum tri_data_part part,
                           int64_t num_samples, tri_feed **result)
{
    tri_feed *feed = calloc(1, sizeof *feed);
    if (!feed)
        return tri_error_set(session->err, TRI_NOMEM, "out of memory for the data");
    feed->session = session;
    feed->source = (struct tri_batch_source){
        .begin_step = feed_begin_step, .microbatch = feed_microbatch, .arg = feed};
    tri_status status = open_corpus(feed, part, num_samples);
    if (status == TRI_OK)
        status = make_reader(feed, part);
    if (status != TRI_OK) {
        tri_feed_destroy(&feed);
        return status;
    }
    *result = feed;
    return TRI_OK;
}

void tri_feed_destroy(tri_feed **result)
{
    tri_feed *feed = *result;
    if (!feed)
        return;
    for (int m = 0; feed->views && m < feed->num_microbatches; m++)
        free(feed->views[m].sample_ids);
    free(feed->views);
    free(feed->valid);
    tri_batch_reader_destroy(&feed->reader);
    tri_corpus_destroy(&feed->corpus);
    free(feed);
    *result = NULL;
}

const struct tri_batch_source *tri_feed_source(const tri_feed *feed)
{
    return &feed->source;
}
