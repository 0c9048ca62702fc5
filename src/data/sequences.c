/* SPDX-License-Identifier: Apache-2.0 */
/* Reading sequences (sequences.h). */
#include "data/sequences.h"
#include "data/indexed_dataset.h"
#include "data/input.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LISTED = 100 };

static tri_status sequences_append(struct tri_sequences *sequences, int64_t length, int64_t prompt,
                                   tri_error *err)
{
    if (sequences->num == sequences->room) {
        int64_t room = sequences->room ? 2 * sequences->room : 64;
        size_t bytes = (size_t)room * sizeof(int64_t);
        int64_t *lengths = realloc(sequences->lengths, bytes);
        sequences->lengths = lengths ? lengths : sequences->lengths;
        int64_t *prompts = realloc(sequences->prompt_lengths, bytes);
        sequences->prompt_lengths = prompts ? prompts : sequences->prompt_lengths;
        TRI_CHECK(lengths && prompts, err, TRI_NOMEM, "out of memory for %" PRId64 " sequences",
                  room);
        sequences->room = room;
    }
    sequences->lengths[sequences->num] = length;
    sequences->prompt_lengths[sequences->num++] = prompt;
    return TRI_OK;
}

int64_t tri_sequences_positions(const struct tri_sequences *sequences)
{
    int64_t longest = 1;
    for (int64_t n = 0; n < sequences->num; n++)
        if (sequences->lengths[n] - 1 > longest)
            longest = sequences->lengths[n] - 1;
    return longest;
}

void tri_sequences_fini(struct tri_sequences *sequences)
{
    tri_ids_fini(&sequences->tokens);
    free(sequences->lengths);
    free(sequences->prompt_lengths);
    *sequences = (struct tri_sequences){0};
}

/* ---- lines ---- */

struct line_reader {
    const struct tri_sequences_config *config;
    struct tri_sequences *sequences;
    tri_tokenizer *tokenizer; /* NULL before the first text */
    int64_t number;           /* of the line */
    int64_t num_bad;
    tri_error *why; /* of an encoding */
    tri_error *err;
};

/* Notes what is wrong with the line; the reader goes on with the next one. */
static tri_status line_is_bad(struct line_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static tri_status line_is_bad(struct line_reader *reader, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (reader->num_bad++ >= MAX_LISTED)
        return TRI_INVALID;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return tri_error_add(reader->err, TRI_INVALID, "'%s' line %" PRId64 ": %s",
                         reader->config->path, reader->number, text);
}

static tri_status add_ids(struct line_reader *reader, const char *key, const json_t *list)
{
    size_t i;
    const json_t *item;
    json_array_foreach((json_t *)list, i, item)
    {
        if (!json_is_integer(item))
            return line_is_bad(reader, "item %zu of '%s' is no token id", i + 1, key);
        json_int_t id = json_integer_value(item);
        if (id < 0 || id >= reader->config->vocab_size)
            return line_is_bad(reader, "item %zu of '%s' is %lld; use 0 to %" PRId64, i + 1, key,
                               (long long)id, reader->config->vocab_size - 1);
        TRI_TRY(tri_ids_append(&reader->sequences->tokens, (int32_t)id, reader->err));
    }
    return TRI_OK;
}

/* A status other than TRI_INVALID ends the reading. */
static tri_status open_tokenizer(struct line_reader *reader)
{
    if (reader->tokenizer)
        return TRI_OK;
    if (tri_tokenizer_create(reader->config->tokenizer, &reader->tokenizer, reader->why) == TRI_OK)
        return TRI_OK;
    return tri_error_add(reader->err, TRI_IO,
                         "'%s' line %" PRId64 " has text, which needs a tokenizer: %s",
                         reader->config->path, reader->number, tri_error_message(reader->why, 0));
}

static tri_status add_text(struct line_reader *reader, const char *key, const json_t *text,
                           int flags)
{
    struct tri_ids *tokens = &reader->sequences->tokens;
    int64_t start = tokens->num;
    tri_error_clear(reader->why);
    TRI_TRY(open_tokenizer(reader));
    tri_status status = tri_tokenizer_encode(reader->tokenizer, json_string_value(text),
                                             json_string_length(text), flags, tokens, reader->why);
    if (status == TRI_INVALID)
        return line_is_bad(reader, "'%s': %s", key, tri_error_message(reader->why, 0));
    if (status != TRI_OK)
        return tri_error_add(reader->err, status, "%s", tri_error_message(reader->why, 0));
    for (int64_t i = start; i < tokens->num; i++)
        if (tokens->data[i] >= reader->config->vocab_size)
            return line_is_bad(reader,
                               "'%s' has token %" PRId32
                               ", which the model's vocabulary of %" PRId64 " does not have",
                               key, tokens->data[i], reader->config->vocab_size);
    return TRI_OK;
}

static tri_status add_part(struct line_reader *reader, const char *key, const json_t *value,
                           int flags)
{
    if (json_is_array(value))
        return add_ids(reader, key, value);
    if (json_is_string(value))
        return add_text(reader, key, value, flags);
    return line_is_bad(reader, "'%s' is neither a text nor a list of token ids", key);
}

/* The tokens of the line's object; *prompt is how many of them are its prompt. */
static tri_status add_parts(struct line_reader *reader, const json_t *line, int64_t *prompt)
{
    const json_t *tokens = json_object_get(line, "tokens"), *text = json_object_get(line, "text");
    const json_t *asked = json_object_get(line, "prompt"),
                 *answer = json_object_get(line, "completion");
    int64_t start = reader->sequences->tokens.num;
    *prompt = 0;
    if ((tokens != NULL) + (text != NULL) + (asked || answer) != 1)
        return line_is_bad(reader, "give one of 'tokens', 'text', or 'prompt' with 'completion'");
    if (tokens && !json_is_array(tokens))
        return line_is_bad(reader, "'tokens' is no list of token ids");
    if (tokens)
        return add_ids(reader, "tokens", tokens);
    if (text && !json_is_string(text))
        return line_is_bad(reader, "'text' is no text; for a list of token ids use 'tokens'");
    if (text)
        return add_text(reader, "text", text, TRI_ENCODE_TEMPLATE);
    if (!asked || !answer)
        return line_is_bad(reader, "'%s' is there without '%s'; give both",
                           asked ? "prompt" : "completion", asked ? "completion" : "prompt");
    TRI_TRY(add_part(reader, "prompt", asked, TRI_ENCODE_TEMPLATE));
    *prompt = reader->sequences->tokens.num - start;
    return add_part(reader, "completion", answer, 0);
}

static tri_status check_length(struct line_reader *reader, int64_t length)
{
    const struct tri_sequences_config *config = reader->config;
    if (length == 0)
        return line_is_bad(reader, "no tokens; give 1 or more");
    if (length - 1 <= config->seq_length)
        return TRI_OK;
    if (length - 1 > config->max_positions)
        return line_is_bad(reader,
                           "%" PRId64 " tokens take %" PRId64 " positions; the model knows %" PRId64
                           ", so shorten it",
                           length, length - 1, config->max_positions);
    return line_is_bad(reader,
                       "%" PRId64 " tokens take %" PRId64 " positions; use --seq-length %" PRId64
                       " instead of %" PRId64 ", or shorten it",
                       length, length - 1, length - 1, config->seq_length);
}

static bool is_blank(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!memchr(" \t\v\f", text[i], 4))
            return false;
    return true;
}

static tri_status add_line(struct line_reader *reader, const char *text, size_t bytes)
{
    if (is_blank(text, bytes))
        return line_is_bad(reader, "blank; give an object in each line");
    int64_t start = reader->sequences->tokens.num, prompt = 0;
    json_error_t problem;
    json_t *line = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &problem);
    if (!line)
        return line_is_bad(reader, "not JSON: byte %d: %s", problem.position, problem.text);
    tri_status status = json_is_object(line) ? add_parts(reader, line, &prompt)
                                             : line_is_bad(reader, "JSON, but no object");
    json_decref(line);
    int64_t length = reader->sequences->tokens.num - start;
    if (status == TRI_OK)
        status = check_length(reader, length);
    if (status == TRI_OK)
        status = sequences_append(reader->sequences, length, prompt, reader->err);
    return status;
}

static tri_status add_lines(struct line_reader *reader, tri_input *input)
{
    const char *text;
    size_t bytes;
    bool has_line = true;
    for (;;) {
        TRI_TRY(tri_input_read_line(input, &text, &bytes, &has_line, reader->err));
        if (!has_line)
            break;
        reader->number = tri_input_line_number(input);
        tri_status status = add_line(reader, text, bytes);
        if (status != TRI_OK && status != TRI_INVALID)
            return status;
    }
    if (reader->num_bad > MAX_LISTED)
        tri_error_add(reader->err, TRI_INVALID, "'%s': %" PRId64 " more lines are wrong",
                      reader->config->path, reader->num_bad - MAX_LISTED);
    if (reader->num_bad > 0)
        return TRI_INVALID;
    TRI_CHECK(reader->sequences->num > 0, reader->err, TRI_INVALID, "'%s' has no lines",
              reader->config->path);
    return TRI_OK;
}

tri_status tri_sequences_read_lines(const struct tri_sequences_config *config,
                                    struct tri_sequences *sequences, tri_error *err)
{
    struct line_reader reader = {.config = config, .sequences = sequences, .err = err};
    tri_input *input = NULL;
    TRI_TRY(tri_input_create(config->path, &input, err));
    reader.why = tri_error_create();
    tri_status status = reader.why ? add_lines(&reader, input)
                                   : tri_error_set(err, TRI_NOMEM, "out of memory for lines");
    tri_error_destroy(&reader.why);
    tri_tokenizer_destroy(&reader.tokenizer);
    tri_input_destroy(&input);
    return status;
}

/* ---- token files ---- */

static tri_status read_file(const tri_indexed_dataset *file, int64_t want, int64_t vocab_size,
                            struct tri_ids *tokens, tri_error *err)
{
    const struct tri_idx *idx = tri_indexed_dataset_idx(file);
    int64_t room = 0;
    for (int64_t k = 0; k < idx->num_sequences && room < want; k++)
        room += tri_idx_length(idx, k);
    room = room < want ? room : want;
    TRI_CHECK(room >= 2, err, TRI_INVALID,
              "'%s' has %" PRId64 " tokens; 2 are needed to predict one",
              tri_indexed_dataset_prefix(file), room);
    tokens->data = malloc((size_t)room * sizeof(int32_t));
    TRI_CHECK(tokens->data, err, TRI_NOMEM, "out of memory for %" PRId64 " tokens", room);
    tokens->room = room;
    for (int64_t k = 0; tokens->num < room; k++) {
        int64_t length = tri_idx_length(idx, k), left = room - tokens->num;
        int64_t take = length < left ? length : left;
        TRI_TRY(tri_indexed_dataset_read(file, k, 0, take, vocab_size, tokens->data + tokens->num,
                                         err));
        tokens->num += take;
    }
    return TRI_OK;
}

static tri_status cut_windows(const struct tri_ids *tokens, int64_t seq_length,
                              struct tri_sequences *sequences, tri_error *err)
{
    for (int64_t first = 0; first + 1 < tokens->num; first += seq_length) {
        int64_t left = tokens->num - first, length = left <= seq_length ? left : seq_length + 1;
        TRI_TRY(tri_ids_append_all(&sequences->tokens, tokens->data + first, length, err));
        TRI_TRY(sequences_append(sequences, length, 0, err));
    }
    return TRI_OK;
}

tri_status tri_sequences_read_tokens(const char *prefix, int64_t seq_length, int64_t max_tokens,
                                     int64_t vocab_size, struct tri_sequences *sequences,
                                     tri_error *err)
{
    struct tri_ids tokens = {0};
    tri_indexed_dataset *file = NULL;
    TRI_TRY(tri_indexed_dataset_create(prefix, &file, err));
    tri_status status =
        read_file(file, max_tokens > 0 ? max_tokens + 1 : INT64_MAX, vocab_size, &tokens, err);
    if (status == TRI_OK)
        status = cut_windows(&tokens, seq_length, sequences, err);
    tri_ids_fini(&tokens);
    tri_indexed_dataset_destroy(&file);
    return status;
}
