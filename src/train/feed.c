/* SPDX-License-Identifier: Apache-2.0 */
/* Token files to microbatches. */
#include "train/feed.h"

#include "data/batch.h"
#include "data/blend.h"

#include <stdlib.h>
#include <string.h>

struct tri_feed {
    struct tri_session *session;
    struct tri_batch_source source;
    int num_files;
    tri_indexed_dataset **files;
    tri_blend *blend;
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

static tri_status open_files(tri_feed *feed, const struct tri_blend_list *list)
{
    feed->files = calloc((size_t)list->num + 1, sizeof(tri_indexed_dataset *));
    if (!feed->files)
        return tri_error_set(feed->session->err, TRI_NOMEM, "out of memory for the data files");
    for (; feed->num_files < list->num; feed->num_files++)
        TRI_TRY(tri_indexed_dataset_create(list->prefixes[feed->num_files],
                                           &feed->files[feed->num_files], feed->session->err));
    return TRI_OK;
}

static tri_status make_blend(tri_feed *feed, const struct tri_blend_list *list,
                             enum tri_data_part part, int64_t num_samples)
{
    const struct tri_run_config *config = &feed->session->config;
    tri_error *err = feed->session->err;
    static const char *const whole[TRI_NUM_DATA_PARTS] = {"1,0,0", "0,1,0", "0,0,1"};
    bool own_paths = paths_of(config, part) != config->data.data_path;
    struct tri_data_split split;
    TRI_TRY(tri_data_split_parse(own_paths ? whole[part] : config->data.split, &split, err));
    struct tri_gpt_dataset_config dataset = {
        .seq_length = config->shape.seq_length,
        .seed = config->train.seed,
        .vocab_size = config->shape.vocab_size,
        .eod = config->data.eod_token_id == TRI_UNSET ? -1 : (int32_t)config->data.eod_token_id,
        .pad = -1,
        .extra_token = true,
        .drop_last = true,
        .reset_position_ids = config->data.reset_position_ids,
        .reset_attention_mask = config->data.reset_attention_mask,
        .eod_mask_loss = config->data.eod_mask_loss,
    };
    struct tri_blend_request request = {
        .num = list->num,
        .files = (const tri_indexed_dataset *const *)feed->files,
        .weights = list->weights,
        .split = &split,
        .part = part,
        .num_samples = num_samples,
        .surplus = 0.005,
        .dataset = &dataset,
    };
    return tri_blend_create(&request, &feed->blend, err);
}

static tri_status make_reader(tri_feed *feed)
{
    const struct tri_session *session = feed->session;
    const struct tri_run_config *config = &session->config;
    struct tri_batch_config batch = {
        .blend = feed->blend,
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

/* Splits the option's text at its line ends; items point into copy. */
static int split_items(char *copy, const char **items, int max)
{
    int num = 0;
    for (char *item = copy; item && *item && num < max;) {
        char *end = strchr(item, '\n');
        if (end)
            *end++ = '\0';
        items[num++] = item;
        item = end;
    }
    return num;
}

static tri_status open_feed(tri_feed *feed, enum tri_data_part part, int64_t num_samples)
{
    char copy[TRI_OPTION_LONG_TEXT];
    const char *items[TRI_OPTION_MAX_ITEMS];
    memcpy(copy, paths_of(&feed->session->config, part), sizeof copy);
    int num = split_items(copy, items, TRI_OPTION_MAX_ITEMS);
    TRI_CHECK(num > 0, feed->session->err, TRI_INVALID, "no data for %s; set data_path",
              tri_data_part_name(part));
    struct tri_blend_list list;
    TRI_TRY(tri_blend_list_init(&list, items, num, feed->session->err));
    tri_status status = open_files(feed, &list);
    if (status == TRI_OK)
        status = make_blend(feed, &list, part, num_samples);
    tri_blend_list_fini(&list);
    return status == TRI_OK ? make_reader(feed) : status;
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
    tri_status status = open_feed(feed, part, num_samples);
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
    tri_blend_destroy(&feed->blend);
    for (int i = 0; i < feed->num_files; i++)
        tri_indexed_dataset_destroy(&feed->files[i]);
    free(feed->files);
    free(feed);
    *result = NULL;
}

const struct tri_batch_source *tri_feed_source(const tri_feed *feed)
{
    return &feed->source;
}
