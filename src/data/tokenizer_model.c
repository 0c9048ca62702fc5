/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabulary, merges and added tokens of a tokenizer file into a tri_tokenizer. */
#include "data/byte_map.h"
#include "data/tokenizer_private.h"

#include <stdlib.h>
#include <string.h>

static tri_status model_add_vocab(tri_tokenizer *t, const json_t *vocab, const char *name,
                                  tri_error *err)
{
    struct tri_bytes bytes = {0};
    const char *text;
    json_t *value;
    json_object_foreach((json_t *)vocab, text, value)
    {
        bool mapped = false;
        bytes.num = 0;
        tri_status status = tri_byte_map_read(text, strlen(text), &bytes, &mapped, err);
        if (status == TRI_OK && !json_is_integer(value))
            status = tri_error_set(err, TRI_INVALID, "'%s': the id of token '%s' is no integer",
                                   name, text);
        if (status == TRI_OK)
            status = tri_bpe_add_token(t->bpe, json_integer_value(value), bytes.data, bytes.num,
                                       mapped, err);
        if (status != TRI_OK) {
            tri_bytes_fini(&bytes);
            return status;
        }
    }
    tri_bytes_fini(&bytes);
    return TRI_OK;
}

/* The id of a token written in mapped characters. */
static tri_status model_find(const tri_tokenizer *t, const char *text, size_t num, int32_t *id,
                             tri_error *err)
{
    struct tri_bytes bytes = {0};
    bool mapped = false;
    tri_status status = tri_byte_map_read(text, num, &bytes, &mapped, err);
    *id = status == TRI_OK && mapped ? tri_bpe_find(t->bpe, bytes.data, bytes.num) : -1;
    tri_bytes_fini(&bytes);
    return status;
}

static tri_status model_add_merge(tri_tokenizer *t, const char *left, size_t num_left,
                                  const char *right, size_t num_right, size_t index,
                                  const char *name, tri_error *err)
{
    int32_t a, b;
    TRI_TRY(model_find(t, left, num_left, &a, err));
    TRI_TRY(model_find(t, right, num_right, &b, err));
    TRI_CHECK(a >= 0 && b >= 0, err, TRI_INVALID,
              "'%s': merge %zu ('%.*s', '%.*s') names a token that is not in the vocabulary", name,
              index, (int)(num_left < 64 ? num_left : 64), left,
              (int)(num_right < 64 ? num_right : 64), right);
    return tri_bpe_add_merge(t->bpe, a, b, err);
}

/* "left right" */
static tri_status model_add_merge_text(tri_tokenizer *t, const char *text, size_t num, size_t index,
                                       const char *name, tri_error *err)
{
    const char *blank = memchr(text, ' ', num);
    TRI_CHECK(blank && blank > text && blank + 1 < text + num, err, TRI_INVALID,
              "'%s': merge %zu '%.*s' is not two tokens with a blank between", name, index,
              (int)(num < 64 ? num : 64), text);
    return model_add_merge(t, text, (size_t)(blank - text), blank + 1,
                           num - (size_t)(blank - text) - 1, index, name, err);
}

static tri_status model_add_merges(tri_tokenizer *t, const json_t *merges, const char *name,
                                   tri_error *err)
{
    size_t i;
    json_t *merge;
    json_array_foreach(merges, i, merge)
    {
        const json_t *left = json_array_get(merge, 0), *right = json_array_get(merge, 1);
        if (json_is_string(merge)) {
            TRI_TRY(model_add_merge_text(t, json_string_value(merge), json_string_length(merge), i,
                                         name, err));
            continue;
        }
        TRI_CHECK(json_array_size(merge) == 2 && json_is_string(left) && json_is_string(right), err,
                  TRI_INVALID, "'%s': merge %zu is neither a text nor two texts", name, i);
        TRI_TRY(model_add_merge(t, json_string_value(left), json_string_length(left),
                                json_string_value(right), json_string_length(right), i, name, err));
    }
    return TRI_OK;
}

static tri_status model_read_added(const json_t *entry, size_t i, const char *name,
                                   struct tri_added_token *token, tri_error *err)
{
    const json_t *id = json_object_get(entry, "id"), *content = json_object_get(entry, "content");
    TRI_CHECK(json_is_integer(id) && json_is_string(content), err, TRI_INVALID,
              "'%s': added token %zu has no id or no content", name, i);
    TRI_CHECK(json_integer_value(id) >= 0 && json_integer_value(id) < INT32_MAX, err, TRI_INVALID,
              "'%s': added token %zu has the id %lld", name, i, (long long)json_integer_value(id));
    *token = (struct tri_added_token){
        .id = (int32_t)json_integer_value(id),
        .num = json_string_length(content),
        .special = json_is_true(json_object_get(entry, "special")),
        .normalized = json_is_true(json_object_get(entry, "normalized")),
        .single_word = json_is_true(json_object_get(entry, "single_word")),
        .lstrip = json_is_true(json_object_get(entry, "lstrip")),
        .rstrip = json_is_true(json_object_get(entry, "rstrip")),
    };
    return TRI_OK;
}

/* An added token may also be an entry of the vocabulary; its bytes go through the byte map
   either way, as the reference decodes it. */
static tri_status model_add_added(tri_tokenizer *t, const json_t *entry, size_t i, const char *name,
                                  tri_error *err)
{
    struct tri_added_token token;
    struct tri_bytes bytes = {0};
    size_t num;
    TRI_TRY(model_read_added(entry, i, name, &token, err));
    const char *content = json_string_value(json_object_get(entry, "content"));
    tri_status status = tri_byte_map_read(content, token.num, &bytes, NULL, err);
    const char *known = tri_bpe_token(t->bpe, token.id, &num);
    if (status == TRI_OK && !known)
        status = tri_bpe_add_token(t->bpe, token.id, bytes.data, bytes.num, false, err);
    else if (status == TRI_OK && (num != bytes.num || memcmp(known, bytes.data, num) != 0))
        status = tri_error_set(err, TRI_INVALID,
                               "'%s': added token '%s' has the id %d, which is another token's",
                               name, content, token.id);
    tri_bytes_fini(&bytes);
    TRI_TRY(status);
    char *copy = malloc(token.num + 1);
    TRI_CHECK(copy, err, TRI_NOMEM, "out of memory for added tokens");
    memcpy(copy, content, token.num + 1);
    token.content = t->contents[t->num_added] = copy;
    t->added[t->num_added++] = token;
    return TRI_OK;
}

static tri_status model_add_all_added(tri_tokenizer *t, const json_t *added, const char *name,
                                      tri_error *err)
{
    size_t i, num = json_array_size(added);
    json_t *entry;
    t->contents = calloc(num + 1, sizeof(*t->contents));
    t->added = calloc(num + 1, sizeof(*t->added));
    TRI_CHECK(t->contents && t->added, err, TRI_NOMEM, "out of memory for %zu added tokens", num);
    json_array_foreach(added, i, entry) TRI_TRY(model_add_added(t, entry, i, name, err));
    t->special = calloc((size_t)tri_bpe_num_ids(t->bpe) + 1, sizeof(*t->special));
    TRI_CHECK(t->special, err, TRI_NOMEM, "out of memory for %zu added tokens", num);
    for (int32_t k = 0; k < t->num_added; k++)
        t->special[t->added[k].id] = t->added[k].special;
    return TRI_OK;
}

tri_status tri_tokenizer_read_model(tri_tokenizer *t, const json_t *model, const json_t *added,
                                    const char *name, tri_error *err)
{
    const json_t *vocab = json_object_get(model, "vocab");
    const json_t *merges = json_object_get(model, "merges");
    TRI_CHECK(json_is_object(vocab) && json_is_array(merges), err, TRI_INVALID,
              "'%s': the model has no vocab or no merges", name);
    TRI_TRY(tri_bpe_create((int64_t)json_object_size(vocab), (int64_t)json_array_size(merges),
                           &t->bpe, err));
    TRI_TRY(model_add_vocab(t, vocab, name, err));
    TRI_TRY(model_add_merges(t, merges, name, err));
    tri_bpe_set_whole_pieces(t->bpe, json_is_true(json_object_get(model, "ignore_merges")));
    return model_add_all_added(t, added, name, err);
}

static tri_status model_add_merges_file(tri_tokenizer *t, const struct tri_bytes *text,
                                        const char *path, tri_error *err)
{
    size_t index = 0;
    for (size_t start = 0; start < text->num;) {
        const char *line = text->data + start;
        const char *newline = memchr(line, '\n', text->num - start);
        size_t num = newline ? (size_t)(newline - line) : text->num - start;
        start += num + 1;
        if (num && line[num - 1] == '\r')
            num--;
        if (num == 0 || (num >= 8 && memcmp(line, "#version", 8) == 0))
            continue;
        TRI_TRY(model_add_merge_text(t, line, num, index++, path, err));
    }
    return TRI_OK;
}

tri_status tri_tokenizer_read_gpt2(tri_tokenizer *t, const char *vocab_path,
                                   const char *merges_path, tri_error *err)
{
    json_error_t problem;
    struct tri_bytes merges = {0};
    json_t *vocab = json_load_file(vocab_path, JSON_REJECT_DUPLICATES, &problem);
    TRI_CHECK(vocab, err, TRI_IO, "cannot read '%s': %s (line %d)", vocab_path, problem.text,
              problem.line);
    const json_t *end = json_object_get(vocab, "<|endoftext|>");
    json_t *added = json_array();
    if (json_is_integer(end))
        json_array_append_new(added, json_pack("{s:I,s:s,s:b}", "id", json_integer_value(end),
                                               "content", "<|endoftext|>", "special", 1));
    tri_status status = tri_bytes_read_file(&merges, merges_path, err);
    if (status == TRI_OK)
        status = tri_bpe_create((int64_t)json_object_size(vocab), (int64_t)(merges.num / 3),
                                &t->bpe, err);
    if (status == TRI_OK)
        status = model_add_vocab(t, vocab, vocab_path, err);
    if (status == TRI_OK)
        status = model_add_merges_file(t, &merges, merges_path, err);
    if (status == TRI_OK)
        status = model_add_all_added(t, added, vocab_path, err);
    if (status == TRI_OK)
        status = tri_pretokenizer_create(&t->pretokenizer, err);
    if (status == TRI_OK)
        status = tri_pretokenizer_add(t->pretokenizer, tri_pretokenizer_gpt2_pattern,
                                      TRI_SPLIT_ISOLATED, err);
    tri_bytes_fini(&merges);
    json_decref(added);
    json_decref(vocab);
    return status;
}
