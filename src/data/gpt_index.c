/* SPDX-License-Identifier: Apache-2.0 */
/* Building document, sample and shuffle index (gpt_index.h). */
#include "data/gpt_index.h"
#include "data/mt19937.h"

#include <stdlib.h>

static tri_status index_array_init(struct tri_index_array *array, int64_t num, bool wide,
                                   const char *name, tri_error *err)
{
    size_t bytes = wide ? sizeof(int64_t) : sizeof(int32_t);
    array->data = num < INT64_C(1) << 48 ? calloc((size_t)num + 1, bytes) : NULL;
    TRI_CHECK(array->data, err, TRI_NOMEM, "%s: out of memory for an index of %lld entries", name,
              (long long)num);
    array->num = num;
    array->wide = wide;
    return TRI_OK;
}

static void index_array_set(struct tri_index_array *array, int64_t i, int64_t value)
{
    if (array->wide)
        ((int64_t *)array->data)[i] = value;
    else
        ((int32_t *)array->data)[i] = (int32_t)value;
}

static tri_status gpt_index_count(struct tri_gpt_index *index,
                                  const struct tri_gpt_index_request *r, tri_error *err)
{
    int64_t x = r->extra_token, S = r->seq_length, T = 0;
    TRI_CHECK(S > 0, err, TRI_INVALID, "%s: seq_length %lld must be above zero", r->name,
              (long long)S);
    TRI_CHECK(r->seed >= 0 && r->seed <= UINT32_MAX, err, TRI_INVALID,
              "seed %lld is out of range; give 0 to 4294967295", (long long)r->seed);
    TRI_CHECK(r->num_samples <= (INT64_MAX / 4) / S, err, TRI_INVALID,
              "%s: %lld samples of %lld tokens are too many", r->name, (long long)r->num_samples,
              (long long)S);
    TRI_CHECK(r->end <= INT32_MAX, err, TRI_UNSUPPORTED,
              "%s has %lld sequences; the document index holds 2147483647", r->name,
              (long long)r->end);
    for (int64_t i = r->first; i < r->end; i++)
        T += tri_idx_length(r->idx, i);
    int64_t needed = r->num_samples < 0 ? S + x : r->num_samples * S + x;
    TRI_CHECK(T > 0, err, TRI_INVALID,
              "%s has 0 tokens (%lld sequences), needed are %lld; give that part a larger share of "
              "the split, or ask no samples of it",
              r->name, (long long)(r->end - r->first), (long long)needed);
    index->tokens_per_epoch = T;
    index->num_epochs = 1;
    if (r->num_samples >= 0 && needed > T)
        index->num_epochs = (needed + T - 1) / T;
    int64_t tokens = index->num_epochs * T - x;
    index->num_samples = r->drop_last ? tokens / S : (tokens + S - 1) / S;
    TRI_CHECK(index->num_samples > 0, err, TRI_INVALID,
              "%s has %lld tokens, one sample needs %lld; give it more text or lower seq_length",
              r->name, (long long)T, (long long)(S + x));
    return TRI_OK;
}

/* Samples that all epochs but the last give. */
static int64_t gpt_index_before_last(const struct tri_gpt_index *index,
                                     const struct tri_gpt_index_request *r)
{
    return ((index->num_epochs - 1) * index->tokens_per_epoch - r->extra_token) / r->seq_length;
}

/* The last epoch is kept apart when less than 80 % of it is asked for, so that no sample of it
   comes before the whole text has been seen the other times. */
static bool gpt_index_is_separate(const struct tri_gpt_index *index,
                                  const struct tri_gpt_index_request *r)
{
    if (index->num_epochs == 1)
        return false;
    int64_t wanted = r->num_samples - gpt_index_before_last(index, r);
    int64_t per_epoch = (index->tokens_per_epoch - r->extra_token) / r->seq_length;
    return wanted < (int64_t)(0.80 * (double)per_epoch);
}

static tri_status gpt_index_order_documents(struct tri_gpt_index *index,
                                            const struct tri_gpt_index_request *r,
                                            struct tri_mt19937 *rng, tri_error *err)
{
    int64_t num = r->end - r->first, total = index->num_epochs * num;
    index->documents =
        total < INT64_C(1) << 48 ? malloc((size_t)total * sizeof(*index->documents)) : NULL;
    TRI_CHECK(index->documents, err, TRI_NOMEM,
              "%s: out of memory for %lld epochs of %lld sequences", r->name,
              (long long)index->num_epochs, (long long)num);
    index->num_documents = total;
    for (int64_t i = 0; i < total; i++)
        index->documents[i] = (int32_t)(r->first + i % num);
    int64_t joint = index->separate_last_epoch ? total - num : total;
    tri_mt19937_shuffle_i32(rng, index->documents, joint);
    tri_mt19937_shuffle_i32(rng, index->documents + joint, total - joint);
    return TRI_OK;
}

/* Walks the string of documents; each sample starts where the one before it ended, on the token
   that was its last label when x is 1. */
static tri_status gpt_index_cut_samples(struct tri_gpt_index *index,
                                        const struct tri_gpt_index_request *r, tri_error *err)
{
    bool wide = index->num_documents > INT32_MAX;
    TRI_TRY(index_array_init(&index->samples, 2 * (index->num_samples + 1), wide, r->name, err));
    int64_t x = r->extra_token, position = 0, offset = 0;
    for (int64_t sample = 1; sample <= index->num_samples; sample++) {
        int64_t remaining = r->seq_length + x;
        for (;;) {
            int64_t length = tri_idx_length(r->idx, index->documents[position]) - offset;
            remaining -= length;
            if (remaining <= 0) {
                offset += remaining + length - x;
                break;
            }
            if (position == index->num_documents - 1) { /* -1 after an empty last document */
                offset = tri_idx_length(r->idx, index->documents[position]) - x;
                break;
            }
            position++;
            offset = 0;
        }
        index_array_set(&index->samples, 2 * sample, position);
        index_array_set(&index->samples, 2 * sample + 1, offset);
    }
    return TRI_OK;
}

static void index_array_shuffle(struct tri_index_array *array, int64_t first, int64_t end,
                                struct tri_mt19937 *rng)
{
    for (int64_t i = first; i < end; i++)
        index_array_set(array, i, i);
    if (array->wide)
        tri_mt19937_shuffle_i64(rng, (int64_t *)array->data + first, end - first);
    else
        tri_mt19937_shuffle_i32(rng, (int32_t *)array->data + first, end - first);
}

static tri_status gpt_index_order_samples(struct tri_gpt_index *index,
                                          const struct tri_gpt_index_request *r,
                                          struct tri_mt19937 *rng, tri_error *err)
{
    bool wide = index->num_samples > INT32_MAX;
    TRI_TRY(index_array_init(&index->shuffle, index->num_samples, wide, r->name, err));
    int64_t joint = index->num_samples;
    if (index->separate_last_epoch)
        joint = gpt_index_before_last(index, r);
    index_array_shuffle(&index->shuffle, 0, joint, rng);
    index_array_shuffle(&index->shuffle, joint, index->num_samples, rng);
    return TRI_OK;
}

tri_status tri_gpt_index_init(struct tri_gpt_index *index,
                              const struct tri_gpt_index_request *request, tri_error *err)
{
    struct tri_gpt_index result = {0};
    struct tri_mt19937 rng;
    TRI_TRY(gpt_index_count(&result, request, err));
    tri_mt19937_init(&rng, (uint32_t)request->seed);
    result.separate_last_epoch = gpt_index_is_separate(&result, request);
    tri_status status = gpt_index_order_documents(&result, request, &rng, err);
    if (status == TRI_OK)
        status = gpt_index_cut_samples(&result, request, err);
    if (status == TRI_OK)
        status = gpt_index_order_samples(&result, request, &rng, err);
    if (status != TRI_OK) {
        tri_gpt_index_fini(&result);
        return status;
    }
    *index = result;
    return TRI_OK;
}

void tri_gpt_index_fini(struct tri_gpt_index *index)
{
    free(index->documents);
    free(index->samples.data);
    free(index->shuffle.data);
    *index = (struct tri_gpt_index){0};
}

int64_t tri_gpt_index_bytes(const struct tri_gpt_index *index)
{
    return index->num_documents * (int64_t)sizeof(*index->documents) +
           index->samples.num * (index->samples.wide ? 8 : 4) +
           index->shuffle.num * (index->shuffle.wide ? 8 : 4);
}
