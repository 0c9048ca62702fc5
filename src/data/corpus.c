/* SPDX-License-Identifier: Apache-2.0 */
/* From a data section to samples (corpus.h). */
#include "data/corpus.h"

#include <stdlib.h>
#include <string.h>

static const double corpus_surplus = 0.005; /* Megatron's mid_level_dataset_surplus */

/* One data_path list with its files. */
struct corpus_list {
    char *text; /* copy of the option, cut at line ends */
    struct tri_blend_list list;
    tri_indexed_dataset **files; /* [list.num] */
};

struct tri_corpus {
    struct corpus_list lists[TRI_NUM_DATA_PARTS]; /* only the first when all parts share it */
    tri_blend *parts[TRI_NUM_DATA_PARTS];
};

/* items are separated by line ends. */
static tri_status corpus_list_read(struct corpus_list *list, const char *items, tri_error *err)
{
    const char *item[TRI_OPTION_LONG_TEXT / 2];
    int num = 0;
    list->text = strdup(items);
    TRI_CHECK(list->text, err, TRI_NOMEM, "out of memory for the data files");
    for (char *at = list->text; *at;) {
        size_t length = strcspn(at, "\n");
        if (length)
            item[num++] = at;
        at += length;
        if (*at)
            *at++ = '\0';
    }
    return tri_blend_list_init(&list->list, item, num, err);
}

static tri_status corpus_list_init(struct corpus_list *list, const char *items, tri_error *err)
{
    TRI_TRY(corpus_list_read(list, items, err));
    list->files = calloc((size_t)list->list.num, sizeof(tri_indexed_dataset *));
    TRI_CHECK(list->files, err, TRI_NOMEM, "out of memory for the data files");
    for (int i = 0; i < list->list.num; i++)
        TRI_TRY(tri_indexed_dataset_create(list->list.prefixes[i], &list->files[i], err));
    return TRI_OK;
}

static void corpus_list_fini(struct corpus_list *list)
{
    for (int i = 0; list->files && i < list->list.num; i++)
        tri_indexed_dataset_destroy(&list->files[i]);
    free(list->files);
    tri_blend_list_fini(&list->list);
    free(list->text);
}

static int32_t corpus_eod(const struct tri_data_config *config, int32_t eod)
{
    return config->eod_token_id == TRI_UNSET ? eod : (int32_t)config->eod_token_id;
}

/* Adds what is wrong with one list; it opens nothing. */
static void corpus_check_list(const char *items, tri_error *err)
{
    struct corpus_list list = {0};
    tri_error *problem = tri_error_create();
    if (items[0] && corpus_list_read(&list, items, problem) != TRI_OK)
        tri_error_append(err, problem);
    corpus_list_fini(&list);
    tri_error_destroy(&problem);
}

static void corpus_check_split(const char *text, tri_error *err)
{
    struct tri_data_split split;
    tri_error *problem = tri_error_create();
    if (tri_data_split_parse(text, &split, problem) != TRI_OK)
        tri_error_append(err, problem);
    tri_error_destroy(&problem);
}

tri_status tri_corpus_check(const struct tri_data_config *config, int32_t eod, tri_error *err)
{
    bool shared = config->data_path[0] != '\0';
    if (shared &&
        (config->train_data_path[0] || config->valid_data_path[0] || config->test_data_path[0]))
        tri_error_add(err, TRI_INVALID,
                      "data_path and the data paths of single splits exclude each other; give one "
                      "kind");
    corpus_check_list(config->data_path, err);
    corpus_check_list(config->train_data_path, err);
    corpus_check_list(config->valid_data_path, err);
    corpus_check_list(config->test_data_path, err);
    if (shared)
        corpus_check_split(config->split, err);
    if (config->eod_token_id != TRI_UNSET && config->eod_token_id > INT32_MAX)
        tri_error_add(err, TRI_INVALID, "eod_token_id %lld is no token id",
                      (long long)config->eod_token_id);
    if ((config->reset_position_ids || config->reset_attention_mask || config->eod_mask_loss) &&
        corpus_eod(config, eod) < 0)
        tri_error_add(err, TRI_INVALID,
                      "reset_position_ids, reset_attention_mask and eod_mask_loss need an "
                      "end-of-document id; give a tokenizer that names one, or eod_token_id");
    return tri_error_status(err);
}

static tri_status corpus_check_size(const tri_corpus *corpus,
                                    const struct tri_corpus_request *request, tri_error *err)
{
    const tri_blend *train = corpus->parts[TRI_DATA_TRAIN];
    if (!train || request->min_train_samples <= 0)
        return TRI_OK;
    int64_t needed = request->min_train_samples * (request->seq_length + 1);
    int64_t available = tri_blend_tokens(train);
    TRI_CHECK(
        available >= needed, err, TRI_INVALID,
        "the training text is too small: one microbatch on all data-parallel ranks needs %lld "
        "tokens (%lld samples of %lld + 1), available are %lld; give more text, or lower "
        "seq_length or micro_batch_size",
        (long long)needed, (long long)request->min_train_samples, (long long)request->seq_length,
        (long long)available);
    return TRI_OK;
}

static tri_status corpus_build_part(tri_corpus *corpus, const struct tri_corpus_request *request,
                                    enum tri_data_part part, const struct corpus_list *list,
                                    const struct tri_data_split *split, bool own, tri_error *err)
{
    const struct tri_data_config *config = request->config;
    int32_t eod = corpus_eod(config, request->eod);
    struct tri_gpt_dataset_config dataset = {
        .seq_length = request->seq_length,
        .seed = request->seed,
        .vocab_size = request->vocab_size,
        .eod = eod,
        .pad = request->pad == eod ? -1 : request->pad,
        .extra_token = true,
        .drop_last = true,
        .reset_position_ids = config->reset_position_ids,
        .reset_attention_mask = config->reset_attention_mask,
        .eod_mask_loss = config->eod_mask_loss,
    };
    struct tri_blend_request blend = {
        .num = list->list.num,
        .files = (const tri_indexed_dataset *const *)list->files,
        /* Where each part has its own data, a single prefix is plain, as in Megatron. */
        .weights = own && list->list.num == 1 ? NULL : list->list.weights,
        .split = split,
        .part = part,
        .num_samples = request->num_samples[part],
        .surplus = corpus_surplus,
        .dataset = &dataset,
    };
    return tri_blend_create(&blend, &corpus->parts[part], err);
}

static tri_status corpus_build(tri_corpus *corpus, const struct tri_corpus_request *request,
                               tri_error *err)
{
    const struct tri_data_config *config = request->config;
    const char *own[TRI_NUM_DATA_PARTS] = {config->train_data_path, config->valid_data_path,
                                           config->test_data_path};
    struct tri_data_split split;
    bool shared = config->data_path[0] != '\0';
    TRI_TRY(tri_corpus_check(config, request->eod, err));
    TRI_TRY(tri_data_split_parse(shared ? config->split : "1,1,1", &split, err));
    if (shared)
        TRI_TRY(corpus_list_init(&corpus->lists[0], config->data_path, err));
    for (int p = 0; p < TRI_NUM_DATA_PARTS; p++) {
        struct tri_data_split whole = {.bounds = {0.0, 0.0, 0.0, 0.0}};
        for (int k = p + 1; k <= TRI_NUM_DATA_PARTS; k++)
            whole.bounds[k] = 1.0;
        whole.present[p] = true;
        if (request->num_samples[p] == 0)
            continue;
        TRI_CHECK(shared || own[p][0], err, TRI_INVALID,
                  "samples of the %s part are asked for, but it has no data; give data_path or "
                  "%s_data_path",
                  tri_data_part_name((enum tri_data_part)p),
                  p == TRI_DATA_TRAIN   ? "train"
                  : p == TRI_DATA_VALID ? "valid"
                                        : "test");
        if (!shared)
            TRI_TRY(corpus_list_init(&corpus->lists[p], own[p], err));
        TRI_TRY(corpus_build_part(corpus, request, (enum tri_data_part)p,
                                  &corpus->lists[shared ? 0 : p], shared ? &split : &whole, !shared,
                                  err));
    }
    return corpus_check_size(corpus, request, err);
}

tri_status tri_corpus_create(const struct tri_corpus_request *request, tri_corpus **corpus,
                             tri_error *err)
{
    tri_corpus *result = calloc(1, sizeof(*result));
    TRI_CHECK(result, err, TRI_NOMEM, "out of memory for the data");
    tri_status status = corpus_build(result, request, err);
    if (status != TRI_OK) {
        tri_corpus_destroy(&result);
        return status;
    }
    *corpus = result;
    return TRI_OK;
}

void tri_corpus_destroy(tri_corpus **corpus)
{
    if (!*corpus)
        return;
    for (int p = 0; p < TRI_NUM_DATA_PARTS; p++) {
        tri_blend_destroy(&(*corpus)->parts[p]);
        corpus_list_fini(&(*corpus)->lists[p]);
    }
    free(*corpus);
    *corpus = NULL;
}

const tri_blend *tri_corpus_part(const tri_corpus *corpus, enum tri_data_part part)
{
    return corpus->parts[part];
}

int64_t tri_corpus_bytes(const tri_corpus *corpus)
{
    int64_t bytes = 0;
    for (int p = 0; p < TRI_NUM_DATA_PARTS; p++) {
        if (corpus->parts[p])
            bytes += tri_blend_bytes(corpus->parts[p]);
    }
    return bytes;
}
