/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding files (encode.h). */
#include "data/encode.h"
#include "data/indexed_writer.h"
#include "data/input.h"
#include "data/json_line.h"

#include <stdio.h>
#include <string.h>

enum { ENCODE_MAX_NOTES = 20 };

struct encoder {
    const struct tri_encode_config *config;
    tri_tokenizer *tokenizer;
    tri_indexed_writer *writer;
    int32_t eod;
    struct tri_ids ids;  /* of the document */
    struct tri_ids ends; /* of its sequences, in ids */
    struct tri_json_line line;
    struct tri_encode_counts counts;
    tri_error *err;
};

/* Adds one sequence to the open document; where says file and place for messages. */
static tri_status encoder_add_text(struct encoder *e, const char *text, size_t bytes,
                                   const char *where)
{
    int64_t start = e->ids.num;
    tri_error *problem = tri_error_create();
    tri_status status =
        tri_tokenizer_encode(e->tokenizer, text, bytes, e->config->flags, &e->ids, problem);
    if (status != TRI_OK)
        tri_error_set(e->err, status, "%s: %s", where, tri_error_message(problem, 0));
    tri_error_destroy(&problem);
    TRI_TRY(status);
    TRI_CHECK(e->ids.num < INT32_MAX, e->err, TRI_INVALID,
              "%s: the document has more than 2147483646 tokens; give a separator", where);
    e->counts.text_bytes += (int64_t)bytes;
    return e->ids.num > start ? tri_ids_append(&e->ends, (int32_t)e->ids.num, e->err) : TRI_OK;
}

static tri_status encoder_end_document(struct encoder *e)
{
    int32_t start = 0;
    if (e->ends.num > 0 && e->config->append_eod) {
        TRI_TRY(tri_ids_append(&e->ids, e->eod, e->err));
        e->ends.data[e->ends.num - 1]++;
    }
    for (int64_t i = 0; i < e->ends.num; i++) {
        TRI_TRY(tri_indexed_writer_add_sequence(e->writer, e->ids.data + start,
                                                e->ends.data[i] - start, e->err));
        start = e->ends.data[i];
    }
    e->counts.documents++;
    e->counts.empty_documents += e->ends.num == 0;
    e->counts.sequences += e->ends.num;
    e->counts.tokens += e->ids.num;
    e->ids.num = e->ends.num = 0;
    return tri_indexed_writer_end_document(e->writer, e->err);
}

static bool line_is_blank(const char *line, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (!memchr(" \t\v\f\x1c\x1d\x1e\x1f", line[i], 8))
            return false;
    }
    return true;
}

static tri_status encoder_bad_line(struct encoder *e, const char *path, int64_t number,
                                   enum tri_json_line_problem problem)
{
    const char *text = tri_json_line_problem_text(problem);
    const char *key = e->config->json_key ? e->config->json_key : "text";
    size_t offset = e->line.offset;
    TRI_CHECK(problem != TRI_JSON_LINE_NOMEM, e->err, TRI_NOMEM, "'%s' line %lld: %s", path,
              (long long)number, text);
    TRI_CHECK(e->config->skip_bad_lines, e->err, TRI_INVALID,
              "'%s' line %lld: %s (key '%s', byte %zu of the line); mend it, or leave such lines "
              "out with --skip-bad-lines",
              path, (long long)number, text, key, offset);
    if (e->counts.bad_lines++ < ENCODE_MAX_NOTES)
        tri_error_note(e->err, "'%s' line %lld left out: %s (byte %zu)", path, (long long)number,
                       text, offset);
    return TRI_OK;
}

static tri_status encoder_add_line(struct encoder *e, const char *path, int64_t number,
                                   const char *line, size_t bytes)
{
    char where[512];
    if (line_is_blank(line, bytes)) {
        e->counts.blank_lines++;
        return TRI_OK;
    }
    const char *key = e->config->json_key ? e->config->json_key : "text";
    enum tri_json_line_problem problem = tri_json_line_read(line, bytes, key, &e->line);
    if (problem != TRI_JSON_LINE_OK)
        return encoder_bad_line(e, path, number, problem);
    snprintf(where, sizeof(where), "'%s' line %lld", path, (long long)number);
    size_t start = 0;
    for (int64_t i = 0; i < e->line.ends.num; i++) {
        size_t end = (size_t)e->line.ends.data[i];
        TRI_TRY(encoder_add_text(e, e->line.text.data + start, end - start, where));
        start = end;
    }
    return encoder_end_document(e);
}

static tri_status encoder_add_jsonl(struct encoder *e, tri_input *input, const char *path)
{
    for (;;) {
        const char *line = NULL;
        size_t bytes = 0;
        bool has_line = false;
        TRI_TRY(tri_input_read_line(input, &line, &bytes, &has_line, e->err));
        if (!has_line)
            return TRI_OK;
        TRI_TRY(encoder_add_line(e, path, tri_input_line_number(input), line, bytes));
    }
}

static tri_status encoder_add_part(struct encoder *e, const char *path, size_t offset,
                                   const char *text, size_t bytes)
{
    char where[512];
    if (bytes == 0) {
        e->counts.blank_lines++;
        return TRI_OK;
    }
    snprintf(where, sizeof(where), "'%s', the document at byte %zu", path, offset);
    TRI_TRY(encoder_add_text(e, text, bytes, where));
    return encoder_end_document(e);
}

static tri_status encoder_add_plain(struct encoder *e, tri_input *input, const char *path)
{
    struct tri_bytes text = {0};
    const char *separator = e->config->separator;
    size_t length = separator ? strlen(separator) : 0;
    tri_status status = tri_input_read_all(input, &text, e->err);
    for (size_t start = 0; start < text.num && status == TRI_OK;) {
        const char *at = text.data + start;
        const char *found = length ? memmem(at, text.num - start, separator, length) : NULL;
        size_t bytes = found ? (size_t)(found - at) : text.num - start;
        size_t kept = found && e->config->keep_separator ? bytes + length : bytes;
        status = encoder_add_part(e, path, start, at, kept);
        start += found ? bytes + length : bytes;
    }
    tri_bytes_fini(&text);
    return status;
}

static bool encode_is_jsonl(const char *path)
{
    size_t length = strlen(path);
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
        length -= 3;
    else if (length > 4 && strcmp(path + length - 4, ".zst") == 0)
        length -= 4;
    return (length > 6 && memcmp(path + length - 6, ".jsonl", 6) == 0) ||
           (length > 5 && memcmp(path + length - 5, ".json", 5) == 0);
}

static tri_status encoder_add_file(struct encoder *e, const char *path)
{
    tri_input *input = NULL;
    bool jsonl = e->config->format == TRI_ENCODE_JSONL ||
                 (e->config->format == TRI_ENCODE_AUTO && encode_is_jsonl(path));
    TRI_TRY(tri_input_create(path, &input, e->err));
    tri_status status =
        jsonl ? encoder_add_jsonl(e, input, path) : encoder_add_plain(e, input, path);
    tri_input_destroy(&input);
    return status;
}

static tri_status encoder_check(struct encoder *e)
{
    const struct tri_encode_config *config = e->config;
    int64_t num_ids = tri_tokenizer_num_ids(e->tokenizer);
    e->eod = config->eod >= 0 ? config->eod : tri_tokenizer_eod(e->tokenizer);
    TRI_CHECK(!config->append_eod || e->eod >= 0, e->err, TRI_INVALID,
              "--append-eod needs an end token and the tokenizer names none; give its id with "
              "--eod-token-id");
    TRI_CHECK(!config->append_eod || e->eod < num_ids, e->err, TRI_INVALID,
              "--eod-token-id %d is not below the %lld ids of the tokenizer", e->eod,
              (long long)num_ids);
    e->counts.dtype =
        config->dtype ? (enum tri_idx_type)config->dtype : tri_indexed_writer_type(num_ids);
    TRI_CHECK(e->counts.dtype != TRI_IDX_U16 || num_ids <= 65536, e->err, TRI_INVALID,
              "--dtype uint16 holds ids up to 65535, the tokenizer has %lld ids; use int32",
              (long long)num_ids);
    return TRI_OK;
}

tri_status tri_encode_files(const struct tri_encode_config *config, tri_tokenizer *tokenizer,
                            struct tri_encode_counts *counts, tri_error *err)
{
    struct encoder e = {.config = config, .tokenizer = tokenizer, .err = err};
    TRI_TRY(encoder_check(&e));
    tri_status status =
        tri_indexed_writer_create(config->output_prefix, e.counts.dtype, &e.writer, err);
    for (int i = 0; i < config->num_inputs && status == TRI_OK; i++)
        status = encoder_add_file(&e, config->inputs[i]);
    if (status == TRI_OK)
        status = tri_indexed_writer_end(e.writer, err);
    tri_indexed_writer_destroy(&e.writer);
    tri_ids_fini(&e.ids);
    tri_ids_fini(&e.ends);
    tri_json_line_fini(&e.line);
    if (status == TRI_OK)
        *counts = e.counts;
    return status;
}
