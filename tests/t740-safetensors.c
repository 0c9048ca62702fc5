/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The safetensors reader on good and hostile files, and the writer's layout. The sample file and its CRC
 * are those of the published format.
 */
#include "t74-checkpoint.h"

#include "checkpoint/checksum.h"

static uint32_t crc32_of(const char *data, long bytes)
{
    uint32_t crc = 0xffffffffu;
    for (long i = 0; i < bytes; i++) {
        crc ^= (unsigned char)data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static tri_arena *arena;
static tri_error *err;

static int setup(void **state)
{
    (void)state;
    arena = tri_arena_create();
    err = tri_error_create();
    return arena && err ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    tri_error_destroy(&err);
    tri_arena_destroy(&arena);
    return 0;
}

/* A file of header and data; returns the status of opening it. */
static tri_status open_bytes(const char *header, int64_t claim, const void *data, size_t data_bytes,
                             struct tri_safetensors *file)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/x.safetensors", scratch_dir());
    size_t n = strlen(header);
    char *all = calloc(1, 8 + n + data_bytes);
    uint64_t length = claim >= 0 ? (uint64_t)claim : n;
    memcpy(all, &length, 8);
    memcpy(all + 8, header, n);
    memcpy(all + 8 + n, data, data_bytes);
    spill(path, all, 8 + n + data_bytes);
    free(all);
    tri_error_clear(err);
    return tri_safetensors_open(path, arena, err, file);
}

static const char sample[] =
    "{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"F32\",\"shape\":[2],"
    "\"data_offsets\":[0,8]},\"a\":{\"dtype\":\"BF16\",\"shape\":[1,3],"
    "\"data_offsets\":[8,14]}}  ";
static const unsigned char sample_data[14] = {0,    0,    0x80, 0x3f, 0,    0,    0,
                                              0xc0, 0x80, 0x3f, 0,    0x40, 0x40, 0x40};

static void test_sample(void **state)
{
    (void)state;
    struct tri_safetensors file;
    assert_int_equal(open_bytes(sample, -1, sample_data, 14, &file), TRI_OK);
    assert_int_equal(file.bytes, 166);
    assert_int_equal(file.num_tensors, 2);
    assert_int_equal(file.num_metadata, 1);
    assert_string_equal(file.metadata[0], "format");
    assert_string_equal(file.metadata[1], "pt");
    const struct tri_safetensors_tensor *a = tri_safetensors_find(&file, "a");
    assert_non_null(a);
    assert_string_equal(a->dtype->name, "BF16");
    assert_int_equal(a->num_dims, 2);
    assert_int_equal(a->dims[1], 3);
    assert_int_equal(a->begin, 160);
    assert_null(tri_safetensors_find(&file, "c"));
    long bytes;
    char *all = slurp(file.path, &bytes);
    assert_int_equal(crc32_of(all, bytes), 0x25c30d62);
    free(all);
    tri_safetensors_close(&file);
}

static void test_every_cut(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/cut.safetensors", scratch_dir());
    size_t n = strlen(sample), all = 8 + n + 14;
    char bytes[200] = {(char)n};
    memcpy(bytes + 8, sample, n);
    memcpy(bytes + 8 + n, sample_data, 14);
    for (size_t cut = 0; cut < all; cut++) {
        spill(path, bytes, cut);
        tri_error_clear(err);
        struct tri_safetensors file;
        assert_int_equal(tri_safetensors_open(path, arena, err, &file), TRI_INVALID);
        assert_int_equal(tri_error_count(err) > 0, true);
        ASSERT_MESSAGE(err, "cut.safetensors");
    }
    /* every byte of the header changed to some others: no crash, and a message when refused */
    for (size_t at = 0; at < 8 + n; at++)
        for (int k = 0; k < 4; k++) {
            static const unsigned char other[4] = {0, '"', '9', 0xff};
            char kept = bytes[at];
            bytes[at] = (char)other[k];
            spill(path, bytes, all);
            bytes[at] = kept;
            tri_error_clear(err);
            struct tri_safetensors file;
            if (tri_safetensors_open(path, arena, err, &file) == TRI_OK)
                tri_safetensors_close(&file);
            else
                assert_true(tri_error_count(err) > 0);
        }
}

struct hostile {
    const char *header;
    int64_t claim;
    size_t data_bytes;
    const char *message;
};

#define T(name, dtype, shape, offsets)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const struct hostile hostiles[] = {
    {"{}", 0, 0, "header length 0"},
    {"{}", 100000001, 0, "header length 100000001"},
    {"{}", INT64_MAX, 0, "header length"},
    {"{}", 3, 0, "only 2 bytes follow"},
    {"[]", -1, 0, "expected '{', found 0x5b"},
    {" {}", -1, 0, "expected '{', found 0x20"},
    {"{]", -1, 0, "is not JSON"},
    {"{\"a\":1}", -1, 0, "is not an object"},
    {"{\"\xff\":1}", -1, 0, "is not JSON"},
    {"{" T("a", "F32", "[1]", "[0,4]") "," T("a", "F32", "[1]", "[4,8]") "}", -1, 8, "uplicate"},
    {"{" T("a", "F32", "[1]", "[0,4]") "}", -1, 5, "1 too many"},
    {"{" T("a", "F32", "[1]", "[0,4]") "}", -1, 3, "3 bytes behind the header"},
    {"{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[12,16]") "}", -1, 16,
     "8 unused bytes behind 'a'"},
    {"{" T("a", "F32", "[1]", "[4,8]") "}", -1, 8, "4 unused bytes behind 'the header'"},
    {"{" T("a", "F32", "[2]", "[0,8]") "," T("b", "F32", "[2]", "[4,12]") "}", -1, 12,
     "4 bytes overlap 'a'"},
    {"{" T("a", "F32", "[1]", "[0,4]") "," T("b", "F32", "[1]", "[0,4]") "}", -1, 4,
     "4 bytes overlap"},
    {"{" T("a", "F32", "[3]", "[0,8]") "}", -1, 8, "hold 8 bytes, but F32 [3] needs 12"},
    {"{" T("a", "F32", "[1]", "[4,0]") "}", -1, 4, "data_offsets [4, 0]"},
    {"{" T("a", "F32", "[1]", "[-4,0]") "}", -1, 4, "data_offsets [-4, 0]"},
    {"{" T("a", "F32", "[1]", "[0,4.0]") "}", -1, 4, "not a pair"},
    {"{" T("a", "F32", "[1]", "[0]") "}", -1, 4, "not a pair"},
    {"{" T("a", "F32", "[1]", "[0,99999999999999999999]") "}", -1, 4, "is not JSON"},
    {"{" T("a", "F32", "[-1]", "[0,4]") "}", -1, 4, "no whole number"},
    {"{" T("a", "F32", "[1.5]", "[0,4]") "}", -1, 4, "no whole number"},
    {"{" T("a", "F32", "3", "[0,4]") "}", -1, 4, "not a list"},
    {"{" T("a", "F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]") "}", -1, 4, "at most 16"},
    {"{" T("a", "F32", "[4294967296,4294967296]", "[0,4]") "}", -1, 4, "exceeds 2^63"},
    {"{" T("a", "F32", "[4611686018427387904]", "[0,4]") "}", -1, 4, "whole bytes"},
    {"{" T("a", "F33", "[1]", "[0,4]") "}", -1, 4, "unknown dtype 'F33'"},
    {"{" T("a", "F4", "[3]", "[0,2]") "}", -1, 2, "whole bytes"},
    {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", -1, 4, "dtype is missing"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", -1, 4,
     "and no other key"},
    {"{\"__metadata__\":{\"a\":1}}", -1, 0, "'a' is no text"},
    {"{\"__metadata__\":[]}", -1, 0, "__metadata__ is not an object"},
    {"{\"a\\u0007b\":1}", -1, 0, "'a?b'"},
};

static void test_hostile(void **state)
{
    (void)state;
    char data[32] = {0};
    for (size_t i = 0; i < sizeof(hostiles) / sizeof(hostiles[0]); i++) {
        const struct hostile *h = &hostiles[i];
        struct tri_safetensors file;
        tri_status status = open_bytes(h->header, h->claim, data, h->data_bytes, &file);
        if (status != TRI_INVALID)
            fail_msg("%s: status %d", h->header, (int)status);
        ASSERT_MESSAGE(err, h->message);
        ASSERT_MESSAGE(err, "x.safetensors");
    }
}

static void test_legal_oddities(void **state)
{
    (void)state;
    char data[32] = {0};
    struct tri_safetensors file;
    const char *good[] = {
        "{}",
        "{\"__metadata__\":{}}      ",
        "{" T("s", "F32", "[]", "[0,4]") "}",
        /* zero-size tensors share an offset with each other and with a real one */
        "{" T("z", "F32", "[0]", "[4,4]") "," T("a", "F32", "[1]",
                                                "[0,4]") "," T("y", "F32", "[2,0]", "[4,4]") "}",
        "{" T("y", "F32", "[0,4294967296,4294967296]", "[0,0]") "," T("a", "I8", "[4]",
                                                                      "[0,4]") "}",
        "{" T("a", "F4", "[8]", "[0,4]") "}",
    };
    const size_t bytes[] = {0, 0, 4, 4, 4, 4};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (open_bytes(good[i], -1, data, bytes[i], &file) != TRI_OK) {
            print_errors(err);
            fail_msg("%s", good[i]);
        }
        tri_safetensors_close(&file);
    }
    assert_int_equal(tri_safetensors_open("/nonexistent/x", arena, err, &file), TRI_IO);
    ASSERT_MESSAGE(err, "cannot open '/nonexistent/x': no such file");
    assert_int_equal(tri_safetensors_open("/tmp", arena, err, &file), TRI_INVALID);
}

static void test_layout(void **state)
{
    (void)state;
    int64_t d0[1] = {3}, d1[2] = {2, 5};
    struct tri_safetensors_entry entries[2] = {{.name = "a", .num_dims = 1, .dims = d0},
                                               {.name = "b.c", .num_dims = 2, .dims = d1}};
    const char *header;
    int64_t header_bytes, file_bytes;
    assert_int_equal(
        tri_safetensors_layout(entries, 2, arena, err, &header, &header_bytes, &file_bytes),
        TRI_OK);
    assert_int_equal(header_bytes % 8, 0);
    assert_int_equal(file_bytes, header_bytes + 4 * 13);
    assert_int_equal(entries[1].begin, header_bytes + 12);
    struct tri_safetensors file;
    assert_int_equal(
        tri_safetensors_parse("made", header, header_bytes, file_bytes, arena, err, &file), TRI_OK);
    assert_int_equal(tri_safetensors_find(&file, "b.c")->begin, entries[1].begin);
    struct tri_safetensors_entry swapped[2] = {entries[1], entries[0]};
    assert_int_equal(
        tri_safetensors_layout(swapped, 2, arena, err, &header, &header_bytes, &file_bytes),
        TRI_BUG);
}

static void test_checksum(void **state)
{
    (void)state;
    static uint32_t words[5000];
    struct tri_checksum checksum;
    tri_checksum_init(&checksum);
    for (int i = 0; i < 5000; i++)
        words[i] = (uint32_t)i * 2654435761u;
    uint64_t whole = tri_checksum_words(&checksum, words, 0, 5000);
    uint64_t parts = 0;
    for (int i = 4999, n; i >= 0; i -= n) { /* backwards in odd pieces */
        n = i % 37 + 1;
        parts += tri_checksum_words(&checksum, words + i + 1 - n, i + 1 - n, n);
    }
    assert_true(whole == parts);
    assert_true(whole == tri_checksum_bytes(&checksum, words, 0, 20000));
    for (int i = 0; i < 5000; i += 7) {
        words[i] ^= 1u << (i % 32);
        assert_true(whole != tri_checksum_words(&checksum, words, 0, 5000));
        words[i] ^= 1u << (i % 32);
    }
    uint32_t swap = words[3];
    words[3] = words[3 + 1024];
    words[3 + 1024] = swap;
    assert_true(whole != tri_checksum_words(&checksum, words, 0, 5000));
    /* the format's own numbers: a change of the formula must not go unnoticed */
    uint32_t three[3] = {0, 1, 0xffffffffu};
    assert_int_equal(tri_checksum_words(&checksum, three, 0, 3), UINT64_C(0xfce0dc904f77fb3b));
    assert_true(tri_checksum_bytes(&checksum, "abcde", 0, 5) ==
                tri_checksum_bytes(&checksum, "abcd", 0, 4) +
                    tri_checksum_bytes(&checksum, "e", 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sample, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_legal_oddities, setup, teardown),
        cmocka_unit_test_setup_teardown(test_layout, setup, teardown),
        cmocka_unit_test_setup_teardown(test_checksum, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, scratch_remove);
}
