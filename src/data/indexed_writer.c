/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a token file pair (indexed_writer.h). */
#include "data/indexed_writer.h"
#include "data/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct written_file {
    char *path, *temporary;
    FILE *file;
};

struct tri_indexed_writer {
    enum tri_idx_type type;
    struct written_file bin, idx;
    struct tri_ids lengths;
    struct tri_bytes boundaries; /* int64 each */
};

enum tri_idx_type tri_indexed_writer_type(int64_t vocab_size)
{
    return vocab_size < 65500 ? TRI_IDX_U16 : TRI_IDX_I32;
}

static char *written_file_name(const char *prefix, const char *suffix)
{
    size_t bytes = strlen(prefix) + strlen(suffix) + 1;
    char *name = malloc(bytes);
    if (name)
        snprintf(name, bytes, "%s%s", prefix, suffix);
    return name;
}

static tri_status written_file_init(struct written_file *file, const char *prefix,
                                    const char *suffix, const char *temporary_suffix,
                                    tri_error *err)
{
    file->path = written_file_name(prefix, suffix);
    file->temporary = written_file_name(prefix, temporary_suffix);
    TRI_CHECK(file->path && file->temporary, err, TRI_NOMEM, "out of memory writing '%s'", prefix);
    file->file = fopen(file->temporary, "wb");
    TRI_CHECK(file->file, err, TRI_IO, "cannot write '%s': %s", file->temporary, strerror(errno));
    return TRI_OK;
}

static tri_status written_file_put(struct written_file *file, const void *data, size_t bytes,
                                   tri_error *err)
{
    TRI_CHECK(bytes == 0 || fwrite(data, 1, bytes, file->file) == bytes, err, TRI_IO,
              "cannot write '%s': %s", file->temporary, strerror(errno));
    return TRI_OK;
}

static tri_status written_file_close(struct written_file *file, tri_error *err)
{
    int failed = fflush(file->file) != 0 || fsync(fileno(file->file)) != 0;
    int cause = errno;
    failed |= fclose(file->file) != 0;
    file->file = NULL;
    TRI_CHECK(!failed, err, TRI_IO, "cannot write '%s': %s", file->temporary, strerror(cause));
    return TRI_OK;
}

static tri_status written_file_publish(struct written_file *file, tri_error *err)
{
    TRI_CHECK(rename(file->temporary, file->path) == 0, err, TRI_IO,
              "cannot rename '%s' to '%s': %s", file->temporary, file->path, strerror(errno));
    free(file->temporary);
    file->temporary = NULL;
    return TRI_OK;
}

static void written_file_fini(struct written_file *file)
{
    if (file->file)
        fclose(file->file);
    if (file->temporary)
        unlink(file->temporary);
    free(file->path);
    free(file->temporary);
}

static tri_status indexed_writer_add_boundary(tri_indexed_writer *writer, tri_error *err)
{
    int64_t boundary = writer->lengths.num;
    return tri_bytes_append(&writer->boundaries, &boundary, sizeof(boundary), err);
}

tri_status tri_indexed_writer_create(const char *prefix, enum tri_idx_type type,
                                     tri_indexed_writer **writer, tri_error *err)
{
    TRI_ASSERT(type == TRI_IDX_U16 || type == TRI_IDX_I32);
    tri_indexed_writer *result = calloc(1, sizeof(*result));
    TRI_CHECK(result, err, TRI_NOMEM, "out of memory writing '%s'", prefix);
    result->type = type;
    tri_status status = written_file_init(&result->bin, prefix, ".bin", ".bin.tmp", err);
    if (status == TRI_OK)
        status = written_file_init(&result->idx, prefix, ".idx", ".idx.tmp", err);
    if (status == TRI_OK)
        status = indexed_writer_add_boundary(result, err);
    if (status != TRI_OK) {
        tri_indexed_writer_destroy(&result);
        return status;
    }
    *writer = result;
    return TRI_OK;
}

static tri_status indexed_writer_put_u16(tri_indexed_writer *writer, const int32_t *tokens,
                                         int64_t num, tri_error *err)
{
    uint16_t chunk[2048];
    for (int64_t first = 0; first < num; first += 2048) {
        int64_t here = num - first < 2048 ? num - first : 2048;
        for (int64_t i = 0; i < here; i++)
            chunk[i] = (uint16_t)tokens[first + i];
        TRI_TRY(written_file_put(&writer->bin, chunk, (size_t)here * sizeof(*chunk), err));
    }
    return TRI_OK;
}

tri_status tri_indexed_writer_add_sequence(tri_indexed_writer *writer, const int32_t *tokens,
                                           int64_t num, tri_error *err)
{
    TRI_CHECK(num <= INT32_MAX, err, TRI_INVALID,
              "a sequence of %lld tokens is too long for '%s'; the format holds %d per sequence, "
              "split the text into documents",
              (long long)num, writer->bin.path, INT32_MAX);
    int32_t limit = writer->type == TRI_IDX_U16 ? UINT16_MAX : INT32_MAX;
    for (int64_t i = 0; i < num; i++) {
        TRI_CHECK(tokens[i] >= 0 && tokens[i] <= limit, err, TRI_INVALID,
                  "token id %d does not fit the 2-byte file '%s' (0 to %d); use int32", tokens[i],
                  writer->bin.path, limit);
    }
    TRI_TRY(tri_ids_append(&writer->lengths, (int32_t)num, err));
    if (writer->type == TRI_IDX_U16)
        return indexed_writer_put_u16(writer, tokens, num, err);
    return written_file_put(&writer->bin, tokens, (size_t)num * sizeof(*tokens), err);
}

tri_status tri_indexed_writer_end_document(tri_indexed_writer *writer, tri_error *err)
{
    return indexed_writer_add_boundary(writer, err);
}

static tri_status indexed_writer_put_index(tri_indexed_writer *writer, tri_error *err)
{
    struct written_file *idx = &writer->idx;
    uint64_t version = 1, sequences = (uint64_t)writer->lengths.num;
    uint64_t boundaries = writer->boundaries.num / sizeof(int64_t);
    unsigned char type = (unsigned char)writer->type;
    TRI_TRY(written_file_put(idx, tri_idx_magic, sizeof(tri_idx_magic), err));
    TRI_TRY(written_file_put(idx, &version, sizeof(version), err));
    TRI_TRY(written_file_put(idx, &type, sizeof(type), err));
    TRI_TRY(written_file_put(idx, &sequences, sizeof(sequences), err));
    TRI_TRY(written_file_put(idx, &boundaries, sizeof(boundaries), err));
    TRI_TRY(written_file_put(idx, writer->lengths.data, sequences * sizeof(int32_t), err));
    int64_t offset = 0;
    for (int64_t i = 0; i < writer->lengths.num; i++) {
        TRI_TRY(written_file_put(idx, &offset, sizeof(offset), err));
        offset += writer->lengths.data[i] * tri_idx_type_bytes(writer->type);
    }
    return written_file_put(idx, writer->boundaries.data, writer->boundaries.num, err);
}

tri_status tri_indexed_writer_end(tri_indexed_writer *writer, tri_error *err)
{
    TRI_TRY(indexed_writer_put_index(writer, err));
    TRI_TRY(written_file_close(&writer->bin, err));
    TRI_TRY(written_file_close(&writer->idx, err));
    TRI_TRY(written_file_publish(&writer->bin, err));
    return written_file_publish(&writer->idx, err);
}

void tri_indexed_writer_destroy(tri_indexed_writer **writer)
{
    if (!*writer)
        return;
    written_file_fini(&(*writer)->bin);
    written_file_fini(&(*writer)->idx);
    tri_ids_fini(&(*writer)->lengths);
    tri_bytes_fini(&(*writer)->boundaries);
    free(*writer);
    *writer = NULL;
}
