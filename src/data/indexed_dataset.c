/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping and reading a token file pair (indexed_dataset.h). */
#include "data/indexed_dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mapped_file {
    char *path;
    unsigned char *bytes; /* NULL for an empty file */
    size_t size;
};

struct tri_indexed_dataset {
    char *prefix;
    struct mapped_file idx_file, bin_file;
    struct tri_idx idx;
};

/* A text where a prefix belongs is a common mistake. */
static tri_status cannot_open(const char *path, const char *prefix, int cause, tri_error *err)
{
    struct stat info;
    if (cause == ENOENT && stat(prefix, &info) == 0 && S_ISREG(info.st_mode))
        return tri_error_set(err, TRI_IO,
                             "'%s' is no prefix of token files, as there is no '%s'; 'trine data "
                             "encode' makes token files of a text",
                             prefix, path);
    return tri_error_set(err, TRI_IO, "cannot open '%s': %s", path, strerror(cause));
}

static tri_status mapped_file_init(struct mapped_file *file, const char *prefix, const char *suffix,
                                   tri_error *err)
{
    size_t length = strlen(prefix), suffix_length = strlen(suffix);
    file->path = malloc(length + suffix_length + 1);
    TRI_CHECK(file->path, err, TRI_NOMEM, "out of memory opening '%s'", prefix);
    memcpy(file->path, prefix, length);
    memcpy(file->path + length, suffix, suffix_length + 1);
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cannot_open(file->path, prefix, errno, err);
    struct stat info;
    tri_status status = TRI_OK;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        status = tri_error_set(err, TRI_IO, "'%s' is not a regular file", file->path);
    } else if (info.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) {
            status = tri_error_set(err, TRI_IO, "cannot map the %lld bytes of '%s': %s",
                                   (long long)info.st_size, file->path, strerror(errno));
        } else {
            file->bytes = bytes;
            file->size = (size_t)info.st_size;
        }
    }
    close(fd);
    return status;
}

static void mapped_file_fini(struct mapped_file *file)
{
    if (file->bytes)
        munmap(file->bytes, file->size);
    free(file->path);
}

static char *indexed_prefix(const char *prefix)
{
    size_t length = strlen(prefix);
    if (length > 4 &&
        (strcmp(prefix + length - 4, ".bin") == 0 || strcmp(prefix + length - 4, ".idx") == 0))
        length -= 4;
    return strndup(prefix, length);
}

tri_status tri_indexed_dataset_create(const char *prefix, tri_indexed_dataset **dataset,
                                      tri_error *err)
{
    tri_indexed_dataset *result = calloc(1, sizeof(*result));
    TRI_CHECK(result, err, TRI_NOMEM, "out of memory opening '%s'", prefix);
    result->prefix = indexed_prefix(prefix);
    tri_status status = TRI_NOMEM;
    if (!result->prefix) {
        tri_error_set(err, TRI_NOMEM, "out of memory opening '%s'", prefix);
        goto fail;
    }
    status = mapped_file_init(&result->idx_file, result->prefix, ".idx", err);
    if (status != TRI_OK)
        goto fail;
    status = mapped_file_init(&result->bin_file, result->prefix, ".bin", err);
    if (status != TRI_OK)
        goto fail;
    static const unsigned char nothing[1];
    const unsigned char *bytes = result->idx_file.bytes ? result->idx_file.bytes : nothing;
    status = tri_idx_read(bytes, result->idx_file.size, result->idx_file.path,
                          (int64_t)result->bin_file.size, result->bin_file.path, &result->idx, err);
    if (status != TRI_OK)
        goto fail;
    *dataset = result;
    return TRI_OK;
fail:
    tri_indexed_dataset_destroy(&result);
    return status;
}

void tri_indexed_dataset_destroy(tri_indexed_dataset **dataset)
{
    if (!*dataset)
        return;
    mapped_file_fini(&(*dataset)->idx_file);
    mapped_file_fini(&(*dataset)->bin_file);
    free((*dataset)->prefix);
    free(*dataset);
    *dataset = NULL;
}

const struct tri_idx *tri_indexed_dataset_idx(const tri_indexed_dataset *dataset)
{
    return &dataset->idx;
}

const char *tri_indexed_dataset_prefix(const tri_indexed_dataset *dataset)
{
    return dataset->prefix;
}

static int64_t indexed_get_token(enum tri_idx_type type, const unsigned char *at)
{
    uint16_t u16;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    switch (type) {
    case TRI_IDX_U16:
        memcpy(&u16, at, sizeof(u16));
        return u16;
    case TRI_IDX_I32:
        memcpy(&i32, at, sizeof(i32));
        return i32;
    case TRI_IDX_U8:
        return *at;
    case TRI_IDX_I8:
        return (signed char)*at;
    case TRI_IDX_I16:
        memcpy(&i16, at, sizeof(i16));
        return i16;
    case TRI_IDX_I64:
        memcpy(&i64, at, sizeof(i64));
        return i64;
    case TRI_IDX_F32:
    case TRI_IDX_F64:
        break;
    }
    TRI_ASSERT(!"tri_idx_read refuses float tokens");
    return 0;
}

tri_status tri_indexed_dataset_read(const tri_indexed_dataset *dataset, int64_t sequence,
                                    int64_t first, int64_t num, int64_t vocab_size, int32_t *tokens,
                                    tri_error *err)
{
    const struct tri_idx *idx = &dataset->idx;
    TRI_ASSERT(sequence >= 0 && sequence < idx->num_sequences && first >= 0 && num >= 0 &&
               first + num <= tri_idx_length(idx, sequence));
    if (num == 0)
        return TRI_OK;
    int64_t limit = vocab_size > 0 ? vocab_size : INT64_C(1) << 31;
    const unsigned char *at =
        dataset->bin_file.bytes + tri_idx_offset(idx, sequence) + first * idx->token_bytes;
    for (int64_t i = 0; i < num; i++, at += idx->token_bytes) {
        int64_t token = indexed_get_token(idx->type, at);
        TRI_CHECK(token >= 0 && token < limit, err, TRI_INVALID,
                  "'%s': token id %lld at position %lld of sequence %lld is not below the "
                  "vocabulary size %lld; use the tokenizer the file was made with",
                  dataset->bin_file.path, (long long)token, (long long)(first + i),
                  (long long)sequence, (long long)limit);
        tokens[i] = (int32_t)token;
    }
    return TRI_OK;
}

tri_status tri_indexed_dataset_check_tokens(const tri_indexed_dataset *dataset, int64_t vocab_size,
                                            int64_t *largest, tri_error *err)
{
    int32_t chunk[1024];
    int64_t highest = -1;
    for (int64_t i = 0; i < dataset->idx.num_sequences; i++) {
        int64_t length = tri_idx_length(&dataset->idx, i);
        for (int64_t first = 0; first < length; first += 1024) {
            int64_t num = length - first < 1024 ? length - first : 1024;
            TRI_TRY(tri_indexed_dataset_read(dataset, i, first, num, vocab_size, chunk, err));
            for (int64_t k = 0; k < num; k++)
                highest = chunk[k] > highest ? chunk[k] : highest;
        }
    }
    *largest = highest;
    return TRI_OK;
}
