/* SPDX-License-Identifier: Apache-2.0 */
/* Plain, gzip and zstd input (input.h). */
#include "data/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { INPUT_CHUNK = 1 << 16 };

enum input_kind { INPUT_PLAIN, INPUT_GZIP, INPUT_ZSTD };

struct tri_input {
    char *path;
    FILE *file;
    enum input_kind kind;
    z_stream gzip;
    ZSTD_DStream *zstd;
    bool in_member;    /* compressed: a member or frame has begun and not ended */
    int64_t members;   /* ended ones */
    int64_t file_read; /* bytes of the file taken into compressed */
    size_t compressed_at, compressed_num;
    unsigned char compressed[INPUT_CHUNK];
    bool at_end; /* no more bytes come */
    bool started;
    struct tri_bytes text; /* decompressed, from text_at on not yet given out */
    size_t text_at;
    int64_t line_number;
};

/* Bytes of the file that are used up. */
static int64_t input_offset(const tri_input *input)
{
    return input->file_read - (int64_t)(input->compressed_num - input->compressed_at);
}

static tri_status input_fill(tri_input *input, tri_error *err)
{
    if (input->compressed_at < input->compressed_num)
        return TRI_OK;
    input->compressed_at = 0;
    input->compressed_num = fread(input->compressed, 1, INPUT_CHUNK, input->file);
    input->file_read += (int64_t)input->compressed_num;
    TRI_CHECK(!ferror(input->file), err, TRI_IO, "cannot read '%s': %s", input->path,
              strerror(errno));
    return TRI_OK;
}

static bool input_has_suffix(const tri_input *input, const char *suffix)
{
    size_t length = strlen(input->path), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(input->path + length - suffix_length, suffix) == 0;
}

static bool input_is_zstd_magic(const unsigned char *bytes, size_t num)
{
    static const unsigned char frame[4] = {0x28, 0xb5, 0x2f, 0xfd};
    static const unsigned char skippable[3] = {0x2a, 0x4d, 0x18};
    return num >= 4 && (memcmp(bytes, frame, 4) == 0 ||
                        ((bytes[0] & 0xf0) == 0x50 && memcmp(bytes + 1, skippable, 3) == 0));
}

static tri_status input_start(tri_input *input, tri_error *err)
{
    TRI_TRY(input_fill(input, err));
    const unsigned char *bytes = input->compressed;
    bool is_gzip = input->compressed_num >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
    bool is_zstd = input_is_zstd_magic(bytes, input->compressed_num);
    TRI_CHECK(is_gzip || !input_has_suffix(input, ".gz"), err, TRI_IO,
              "'%s' is no gzip data: its %zu first bytes hold no gzip header (byte offset 0)",
              input->path, input->compressed_num);
    TRI_CHECK(is_zstd || !input_has_suffix(input, ".zst"), err, TRI_IO,
              "'%s' is no zstd data: its %zu first bytes hold no frame header (byte offset 0)",
              input->path, input->compressed_num);
    if (is_gzip) {
        input->kind = INPUT_GZIP;
        TRI_CHECK(inflateInit2(&input->gzip, 16 + MAX_WBITS) == Z_OK, err, TRI_NOMEM,
                  "out of memory reading '%s'", input->path);
    } else if (is_zstd) {
        input->kind = INPUT_ZSTD;
        input->zstd = ZSTD_createDStream();
        TRI_CHECK(input->zstd, err, TRI_NOMEM, "out of memory reading '%s'", input->path);
    } else if (input->compressed_num >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        input->compressed_at = 3;
    }
    return TRI_OK;
}

tri_status tri_input_create(const char *path, tri_input **input, tri_error *err)
{
    tri_input *result = calloc(1, sizeof(*result));
    TRI_CHECK(result, err, TRI_NOMEM, "out of memory reading '%s'", path);
    tri_status status = TRI_OK;
    result->path = strdup(path);
    result->file = fopen(path, "rb");
    if (!result->path)
        status = tri_error_set(err, TRI_NOMEM, "out of memory reading '%s'", path);
    else if (!result->file)
        status = tri_error_set(err, TRI_IO, "cannot open '%s': %s", path, strerror(errno));
    if (status == TRI_OK)
        status = input_start(result, err);
    if (status != TRI_OK) {
        tri_input_destroy(&result);
        return status;
    }
    *input = result;
    return TRI_OK;
}

void tri_input_destroy(tri_input **input)
{
    if (!*input)
        return;
    if ((*input)->kind == INPUT_GZIP)
        inflateEnd(&(*input)->gzip);
    ZSTD_freeDStream((*input)->zstd);
    if ((*input)->file)
        fclose((*input)->file);
    tri_bytes_fini(&(*input)->text);
    free((*input)->path);
    free(*input);
    *input = NULL;
}

static tri_status input_damaged(const tri_input *input, const char *what, tri_error *err)
{
    return tri_error_set(err, TRI_IO, "'%s': %s at byte offset %lld", input->path, what,
                         (long long)input_offset(input));
}

/* Between members: at the end of the file all is well, other bytes must begin a member. */
static tri_status input_begin_gzip(tri_input *input, tri_error *err)
{
    if (input->members == 0)
        return TRI_OK;
    if (input->compressed[input->compressed_at] != 0x1f)
        return input_damaged(input, "stray bytes behind the gzip data", err);
    inflateReset(&input->gzip);
    return TRI_OK;
}

static tri_status input_inflate(tri_input *input, size_t *got, tri_error *err)
{
    if (!input->in_member)
        TRI_TRY(input_begin_gzip(input, err));
    input->in_member = true;
    input->gzip.next_in = input->compressed + input->compressed_at;
    input->gzip.avail_in = (uInt)(input->compressed_num - input->compressed_at);
    input->gzip.next_out = (Bytef *)input->text.data + input->text.num;
    input->gzip.avail_out = INPUT_CHUNK;
    int result = inflate(&input->gzip, Z_NO_FLUSH);
    input->compressed_at = input->compressed_num - input->gzip.avail_in;
    *got = INPUT_CHUNK - input->gzip.avail_out;
    if (result == Z_STREAM_END) {
        input->in_member = false;
        input->members++;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
        return input_damaged(
            input, input->members ? "stray bytes or damaged gzip data" : "damaged gzip data", err);
    }
    return TRI_OK;
}

static tri_status input_unzstd(tri_input *input, size_t *got, tri_error *err)
{
    ZSTD_inBuffer in = {
        .src = input->compressed, .size = input->compressed_num, .pos = input->compressed_at};
    ZSTD_outBuffer out = {.dst = input->text.data + input->text.num, .size = INPUT_CHUNK};
    input->in_member = true;
    size_t result = ZSTD_decompressStream(input->zstd, &out, &in);
    if (ZSTD_isError(result))
        return input_damaged(
            input, input->members ? "stray bytes or damaged zstd data" : "damaged zstd data", err);
    input->compressed_at = in.pos;
    *got = out.pos;
    if (result == 0) {
        input->in_member = false;
        input->members++;
    }
    return TRI_OK;
}

/* Adds more text, at least one byte unless the file is at its end. */
static tri_status input_more(tri_input *input, tri_error *err)
{
    size_t got = 0;
    if (input->text_at > 0) {
        memmove(input->text.data, input->text.data + input->text_at,
                input->text.num - input->text_at);
        input->text.num -= input->text_at;
        input->text_at = 0;
    }
    TRI_TRY(tri_bytes_reserve(&input->text, INPUT_CHUNK, err));
    while (got == 0 && !input->at_end) {
        TRI_TRY(input_fill(input, err));
        size_t here = input->compressed_num - input->compressed_at;
        if (here == 0 && input->kind == INPUT_ZSTD && input->in_member)
            TRI_TRY(input_unzstd(input, &got, err)); /* output may still be waiting */
        if (here == 0 && got > 0)
            break;
        if (here == 0) {
            input->at_end = true;
            return input->in_member ? input_damaged(input, "the compressed data is cut", err)
                                    : TRI_OK;
        }
        if (input->kind == INPUT_GZIP) {
            TRI_TRY(input_inflate(input, &got, err));
        } else if (input->kind == INPUT_ZSTD) {
            TRI_TRY(input_unzstd(input, &got, err));
        } else {
            memcpy(input->text.data + input->text.num, input->compressed + input->compressed_at,
                   here);
            input->compressed_at = input->compressed_num;
            got = here;
        }
    }
    input->text.num += got;
    return TRI_OK;
}

/* A byte order mark inside compressed data. */
static tri_status input_skip_mark(tri_input *input, tri_error *err)
{
    if (input->started)
        return TRI_OK;
    input->started = true;
    while (input->kind != INPUT_PLAIN && input->text.num < 3 && !input->at_end)
        TRI_TRY(input_more(input, err));
    if (input->kind != INPUT_PLAIN && input->text.num >= 3 &&
        memcmp(input->text.data, "\xef\xbb\xbf", 3) == 0)
        input->text_at = 3;
    return TRI_OK;
}

/* The first \n or \r in text[from, num), or num. */
static size_t input_find_end(const tri_input *input, size_t from)
{
    while (from < input->text.num && input->text.data[from] != '\n' &&
           input->text.data[from] != '\r')
        from++;
    return from;
}

tri_status tri_input_read_line(tri_input *input, const char **line, size_t *bytes, bool *has_line,
                               tri_error *err)
{
    TRI_TRY(input_skip_mark(input, err));
    size_t end = input_find_end(input, input->text_at), length = end - input->text_at;
    /* One byte more than the line: a \r needs to know whether \n follows. */
    while (!input->at_end && end + 1 >= input->text.num) {
        TRI_TRY(input_more(input, err));
        end = input_find_end(input, input->text_at + length);
        length = end - input->text_at;
    }
    *has_line = input->text_at < input->text.num;
    if (!*has_line)
        return TRI_OK;
    *line = input->text.data + input->text_at;
    *bytes = length;
    size_t next = end < input->text.num ? end + 1 : end;
    if (next < input->text.num && input->text.data[end] == '\r' && input->text.data[next] == '\n')
        next++;
    input->text_at = next;
    input->line_number++;
    return TRI_OK;
}

int64_t tri_input_line_number(const tri_input *input)
{
    return input->line_number;
}

tri_status tri_input_read_all(tri_input *input, struct tri_bytes *text, tri_error *err)
{
    TRI_TRY(input_skip_mark(input, err));
    for (;;) {
        size_t here = input->text.num - input->text_at;
        if (here > 0)
            TRI_TRY(tri_bytes_append(text, input->text.data + input->text_at, here, err));
        input->text_at = input->text.num;
        if (input->at_end)
            return TRI_OK;
        TRI_TRY(input_more(input, err));
    }
}
