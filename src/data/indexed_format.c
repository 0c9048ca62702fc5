/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a Megatron index file (indexed_format.h). */
#include "data/indexed_format.h"

const char tri_idx_magic[9] = {'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};

int64_t tri_idx_type_bytes(int type)
{
    static const int64_t bytes[] = {0, 1, 1, 2, 4, 8, 8, 4, 2};
    return type >= 1 && type <= TRI_IDX_U16 ? bytes[type] : 0;
}

const char *tri_idx_type_name(int type)
{
    static const char *const names[] = {"unknown", "uint8",   "int8",    "int16", "int32",
                                        "int64",   "float64", "float32", "uint16"};
    return type >= 1 && type <= TRI_IDX_U16 ? names[type] : names[0];
}

static uint64_t idx_get_u64(const unsigned char *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static tri_status idx_check_header(const unsigned char *bytes, size_t size, const char *path,
                                   tri_error *err)
{
    static const char fairseq[6] = {'T', 'N', 'T', 'I', 'D', 'X'};
    TRI_CHECK(size < sizeof(fairseq) || memcmp(bytes, fairseq, sizeof(fairseq)) != 0, err,
              TRI_UNSUPPORTED,
              "'%s' is an index of the fairseq kind (magic TNTIDX, %zu bytes), which is not "
              "supported; encode the text anew with 'trine data encode'",
              path, size);
    TRI_CHECK(size >= TRI_IDX_HEADER_BYTES, err, TRI_IO,
              "'%s' is cut: found %zu bytes, the header alone has %d", path, size,
              TRI_IDX_HEADER_BYTES);
    TRI_CHECK(memcmp(bytes, tri_idx_magic, sizeof(tri_idx_magic)) == 0, err, TRI_IO,
              "'%s' (%zu bytes) is no Megatron index: its first 9 bytes are not 'MMIDIDX' and two "
              "zero bytes",
              path, size);
    uint64_t version = idx_get_u64(bytes + 9);
    TRI_CHECK(version == 1, err, TRI_UNSUPPORTED,
              "'%s' has index version %llu; only version 1 is known", path,
              (unsigned long long)version);
    int type = bytes[17];
    TRI_CHECK(tri_idx_type_bytes(type) > 0, err, TRI_IO,
              "'%s' has the unknown token type code %d; known codes are 1 to 8", path, type);
    TRI_CHECK(type != TRI_IDX_F32 && type != TRI_IDX_F64, err, TRI_UNSUPPORTED,
              "'%s' holds %s values; tokens must be integers", path, tri_idx_type_name(type));
    return TRI_OK;
}

static tri_status idx_check_size(struct tri_idx *idx, const unsigned char *bytes, size_t size,
                                 const char *path, tri_error *err)
{
    uint64_t sequences = idx_get_u64(bytes + 18), boundaries = idx_get_u64(bytes + 26);
    uint64_t limit = UINT64_C(1) << 56; /* keeps the sums below from wrapping */
    uint64_t expected = TRI_IDX_HEADER_BYTES;
    if (sequences < limit && boundaries < limit)
        expected += 12 * sequences + 8 * boundaries;
    else
        expected = UINT64_MAX;
    TRI_CHECK(size == expected || (expected < limit * 32 && size == expected + sequences), err,
              TRI_IO,
              "'%s' has the wrong size: found %zu bytes, expected %llu for the %llu sequences and "
              "%llu document boundaries its header names",
              path, size, (unsigned long long)expected, (unsigned long long)sequences,
              (unsigned long long)boundaries);
    TRI_CHECK(boundaries > 0, err, TRI_IO, "'%s' has no document boundary; the first must be 0",
              path);
    idx->num_sequences = (int64_t)sequences;
    idx->num_boundaries = (int64_t)boundaries;
    idx->lengths = bytes + TRI_IDX_HEADER_BYTES;
    idx->offsets = idx->lengths + 4 * sequences;
    idx->boundaries = idx->offsets + 8 * sequences;
    return TRI_OK;
}

static tri_status idx_check_sequences(struct tri_idx *idx, const char *path, tri_error *err)
{
    int64_t expected = 0;
    for (int64_t i = 0; i < idx->num_sequences; i++) {
        int64_t length = tri_idx_length(idx, i), offset = tri_idx_offset(idx, i);
        TRI_CHECK(length >= 0, err, TRI_IO, "'%s': sequence %lld has the length %lld", path,
                  (long long)i, (long long)length);
        TRI_CHECK(offset == expected, err, TRI_IO,
                  "'%s': sequence %lld starts at byte %lld of the .bin file, expected byte %lld "
                  "after the sequences before it",
                  path, (long long)i, (long long)offset, (long long)expected);
        expected += length * idx->token_bytes;
        idx->num_tokens += length;
    }
    return TRI_OK;
}

static tri_status idx_check_boundaries(const struct tri_idx *idx, const char *path, tri_error *err)
{
    int64_t previous = 0;
    for (int64_t i = 0; i < idx->num_boundaries; i++) {
        int64_t boundary = tri_idx_boundary(idx, i);
        TRI_CHECK(boundary >= previous && (i > 0 || boundary == 0), err, TRI_IO,
                  "'%s': document boundary %lld is %lld; boundaries start at 0 and never fall "
                  "(the one before is %lld)",
                  path, (long long)i, (long long)boundary, (long long)previous);
        previous = boundary;
    }
    TRI_CHECK(previous == idx->num_sequences, err, TRI_IO,
              "'%s': the last document boundary is %lld, expected the number of sequences %lld",
              path, (long long)previous, (long long)idx->num_sequences);
    return TRI_OK;
}

tri_status tri_idx_read(const unsigned char *bytes, size_t size, const char *path, int64_t bin_size,
                        const char *bin_path, struct tri_idx *idx, tri_error *err)
{
    TRI_TRY(idx_check_header(bytes, size, path, err));
    struct tri_idx result = {.type = (enum tri_idx_type)bytes[17]};
    result.token_bytes = tri_idx_type_bytes(result.type);
    TRI_TRY(idx_check_size(&result, bytes, size, path, err));
    TRI_TRY(idx_check_sequences(&result, path, err));
    TRI_TRY(idx_check_boundaries(&result, path, err));
    int64_t expected = result.num_tokens * result.token_bytes;
    TRI_CHECK(bin_size == expected, err, TRI_IO,
              "'%s' %s: found %lld bytes, expected %lld (the lengths in '%s' sum to %lld tokens of "
              "%lld bytes)",
              bin_path, bin_size < expected ? "is cut" : "is longer than its index says",
              (long long)bin_size, (long long)expected, path, (long long)result.num_tokens,
              (long long)result.token_bytes);
    *idx = result;
    return TRI_OK;
}
