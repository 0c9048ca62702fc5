/* SPDX-License-Identifier: Apache-2.0 */
/* Token file pairs: bytes as Megatron writes them, round trips, and every way a pair can be broken. */
#include "t70-big.h"

#include "data/indexed_dataset.h"
#include "data/indexed_writer.h"

#include <sys/stat.h>
#include <zlib.h>

static tri_error *err;

/* The corpus of ten documents from which the byte-exact example was recorded. */
static void write_ten(const char *prefix)
{
    static const int lengths[10] = {7, 3, 12, 5, 9, 4, 11, 6, 8, 10};
    tri_indexed_writer *writer = NULL;
    int32_t next = 1, tokens[16];
    case_ok(err, tri_indexed_writer_create(prefix, TRI_IDX_U16, &writer, err));
    for (int d = 0; d < 10; d++) {
        for (int i = 0; i < lengths[d] - 1; i++)
            tokens[i] = next++;
        tokens[lengths[d] - 1] = 0;
        case_ok(err, tri_indexed_writer_add_sequence(writer, tokens, lengths[d], err));
        case_ok(err, tri_indexed_writer_end_document(writer, err));
    }
    case_ok(err, tri_indexed_writer_end(writer, err));
    tri_indexed_writer_destroy(&writer);
}

static void test_bytes(void **state)
{
    (void)state;
    static const unsigned char head[46] = {
        0x4d, 0x4d, 0x49, 0x44, 0x49, 0x44, 0x58, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 10, 0,  0, 0, 0,
        0,    0,    0,    11,   0,    0,    0,    0, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0,  12, 0, 0, 0};
    size_t size;
    write_ten(case_path("ten"));
    char *idx = case_read(case_path("ten.idx"), &size);
    assert_int_equal(size, 242);
    assert_memory_equal(idx, head, sizeof(head));
    free(idx);
    free(case_read(case_path("ten.bin"), &size));
    assert_int_equal(size, 150);
    assert_int_not_equal(access(case_path("ten.bin.tmp"), F_OK), 0);
}

static uint32_t file_crc(const char *path)
{
    size_t size;
    char *data = case_read(path, &size);
    uint32_t crc = (uint32_t)crc32(0, (const Bytef *)data, (uInt)size);
    free(data);
    return crc;
}

static void test_big(void **state)
{
    (void)state;
    tri_indexed_dataset *dataset = NULL;
    case_write_big(err);
    assert_int_equal(file_crc(case_path("big.idx")), 0x1ea0b876u);
    assert_int_equal(file_crc(case_path("big.bin")), 0x30066515u);
    case_ok(err, tri_indexed_dataset_create(case_path("big"), &dataset, err));
    assert_int_equal(tri_indexed_dataset_idx(dataset)->num_tokens, 49019);
    tri_indexed_dataset_destroy(&dataset);
    tri_indexed_dataset_destroy(&dataset);
}

/* Files by the original builder: empty documents and sequences, several sequences, 32-bit ids. */
static void test_original(void **state)
{
    (void)state;
    tri_indexed_dataset *dataset = NULL;
    int64_t largest;
    int32_t tokens[64];
    case_ok(err, tri_indexed_dataset_create("golden/dataset/corpora/small_u16", &dataset, err));
    const struct tri_idx *idx = tri_indexed_dataset_idx(dataset);
    assert_int_equal(idx->num_sequences, 15);
    assert_int_equal(idx->num_boundaries, 17);
    assert_int_equal(tri_idx_length(idx, 10), 0);
    assert_int_equal(tri_idx_boundary(idx, 10), 10);
    assert_int_equal(tri_idx_boundary(idx, 11), 10);
    case_ok(err, tri_indexed_dataset_read(dataset, 10, 0, 0, 0, tokens, err));
    case_ok(err, tri_indexed_dataset_read(dataset, 0, 6, 1, 0, tokens, err));
    assert_int_equal(tokens[0], 0);
    tri_indexed_dataset_destroy(&dataset);

    case_ok(err, tri_indexed_dataset_create("golden/dataset/corpora/multi_i32.bin", &dataset, err));
    case_ok(err, tri_indexed_dataset_check_tokens(dataset, 0, &largest, err));
    assert_true(largest > 65535);
    case_expect(err, tri_indexed_dataset_check_tokens(dataset, largest, &largest, err), TRI_INVALID,
                "multi_i32.bin", "position", "sequence", "vocabulary size", NULL);
    tri_indexed_dataset_destroy(&dataset);
}

static void test_ids_above_16_bit(void **state)
{
    (void)state;
    static const int32_t ids[4] = {65535, 65536, 70000, 1};
    int32_t back[4];
    tri_indexed_writer *writer = NULL;
    tri_indexed_dataset *dataset = NULL;
    assert_int_equal(tri_indexed_writer_type(65499), TRI_IDX_U16);
    assert_int_equal(tri_indexed_writer_type(65500), TRI_IDX_I32);
    assert_int_equal(tri_indexed_writer_type(70001), TRI_IDX_I32);
    case_ok(err, tri_indexed_writer_create(case_path("wide"), TRI_IDX_U16, &writer, err));
    case_expect(err, tri_indexed_writer_add_sequence(writer, ids, 4, err), TRI_INVALID, "65536",
                "wide.bin", "int32", NULL);
    tri_indexed_writer_destroy(&writer);
    assert_int_not_equal(access(case_path("wide.bin.tmp"), F_OK), 0);
    assert_int_not_equal(access(case_path("wide.bin"), F_OK), 0);
    case_ok(err, tri_indexed_writer_create(case_path("wide"), TRI_IDX_I32, &writer, err));
    case_ok(err, tri_indexed_writer_add_sequence(writer, ids, 4, err));
    case_ok(err, tri_indexed_writer_end_document(writer, err));
    case_ok(err, tri_indexed_writer_end(writer, err));
    tri_indexed_writer_destroy(&writer);
    case_ok(err, tri_indexed_dataset_create(case_path("wide"), &dataset, err));
    case_ok(err, tri_indexed_dataset_read(dataset, 0, 0, 4, 70001, back, err));
    assert_memory_equal(back, ids, sizeof(ids));
    case_expect(err, tri_indexed_dataset_read(dataset, 0, 1, 3, 70000, back, err), TRI_INVALID,
                "70000 at position 2 of sequence 0", NULL);
    tri_indexed_dataset_destroy(&dataset);
}

struct damage {
    int offset, bytes; /* of the idx; bytes 0: none */
    uint64_t value;
    int idx_size, bin_size; /* 0: as it is, negative: that many less; 1: empty */
    tri_status status;
    const char *words[4];
};

static void check_damage(const struct damage *damage)
{
    size_t idx_size, bin_size;
    tri_indexed_dataset *dataset = NULL;
    char *idx = case_read(case_path("ten.idx"), &idx_size);
    char *bin = case_read(case_path("ten.bin"), &bin_size);
    memcpy(idx + damage->offset, &damage->value, (size_t)damage->bytes);
    idx_size = damage->idx_size < 0 ? idx_size + (size_t)damage->idx_size
               : damage->idx_size   ? (size_t)damage->idx_size
                                    : idx_size;
    bin_size = damage->bin_size < 0 ? bin_size + (size_t)damage->bin_size
               : damage->bin_size   ? 0
                                    : bin_size;
    case_write("bad.idx", idx, idx_size);
    case_write("bad.bin", bin, bin_size);
    case_expect(err, tri_indexed_dataset_create(case_path("bad"), &dataset, err), damage->status,
                damage->words[0], damage->words[1], damage->words[2], damage->words[3], NULL);
    assert_null(dataset);
    free(idx);
    free(bin);
}

static void test_damage(void **state)
{
    (void)state;
    static const struct damage damages[] = {
        {.idx_size = 20, .status = TRI_IO, .words = {"bad.idx", "20 bytes", "34"}},
        {.bytes = 6, .value = 0x584449544e54, .status = TRI_UNSUPPORTED, .words = {"fairseq"}},
        {.bytes = 2, .value = 0x4242, .status = TRI_IO, .words = {"bad.idx", "MMIDIDX"}},
        {.offset = 9, .bytes = 1, .value = 2, .status = TRI_UNSUPPORTED, .words = {"version 2"}},
        {.offset = 17, .bytes = 1, .value = 9, .status = TRI_IO, .words = {"type code 9"}},
        {.offset = 17, .bytes = 1, .value = 7, .status = TRI_UNSUPPORTED, .words = {"float32"}},
        {.idx_size = -1, .status = TRI_IO, .words = {"found 241 bytes", "expected 242"}},
        {.offset = 18, .bytes = 8, .value = UINT64_MAX, .status = TRI_IO, .words = {"wrong size"}},
        {.offset = 26, .bytes = 8, .value = UINT64_MAX / 8, .status = TRI_IO, .words = {"size"}},
        {.offset = 34, .bytes = 4, .value = 0xffffffff, .status = TRI_IO, .words = {"length -1"}},
        {.offset = 34,
         .bytes = 4,
         .value = 6,
         .status = TRI_IO,
         .words = {"bad.idx", "sequence 1", "byte 14", "expected byte 12"}},
        {.offset = 74, .bytes = 8, .value = 2, .status = TRI_IO, .words = {"sequence 0", "byte 2"}},
        {.offset = 154, .bytes = 8, .value = 1, .status = TRI_IO, .words = {"boundary 0 is 1"}},
        {.offset = 162, .bytes = 8, .value = 5, .status = TRI_IO, .words = {"boundary 2 is 2"}},
        {.offset = 234,
         .bytes = 8,
         .value = 9,
         .status = TRI_IO,
         .words = {"last document boundary is 9", "10"}},
        {.bin_size = 1, .status = TRI_IO, .words = {"bad.bin", "found 0 bytes", "expected 150"}},
        {.bin_size = -2, .status = TRI_IO, .words = {"bad.bin", "found 148", "expected 150"}},
        {.offset = 70,
         .bytes = 4,
         .value = 9,
         .status = TRI_IO,
         .words = {"bad.bin", "longer", "found 150", "expected 148"}},
    };
    write_ten(case_path("ten"));
    for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++)
        check_damage(&damages[i]);
}

/* Every cut of the index is an error, none a crash; a mode byte per sequence is accepted. */
static void test_every_cut(void **state)
{
    (void)state;
    size_t size;
    tri_indexed_dataset *dataset = NULL;
    write_ten(case_path("cut"));
    char *idx = case_read(case_path("cut.idx"), &size);
    idx = realloc(idx, size + 10);
    memset(idx + size, 0, 10);
    for (size_t cut = 0; cut < size + 10; cut++) {
        if (cut == size)
            continue;
        case_write("cut.idx", idx, cut);
        assert_int_not_equal(tri_indexed_dataset_create(case_path("cut"), &dataset, err), TRI_OK);
        assert_non_null(strstr(tri_error_message(err, 0), "cut.idx"));
        tri_error_clear(err);
    }
    case_write("cut.idx", idx, size + 10);
    case_ok(err, tri_indexed_dataset_create(case_path("cut"), &dataset, err));
    tri_indexed_dataset_destroy(&dataset);
    free(idx);
}

static void test_files_missing(void **state)
{
    (void)state;
    tri_indexed_dataset *dataset = NULL;
    tri_indexed_writer *writer = NULL;
    case_expect(err, tri_indexed_dataset_create("/nowhere/x", &dataset, err), TRI_IO,
                "/nowhere/x.idx", "No such file", NULL);
    case_expect(err, tri_indexed_writer_create("/nowhere/x", TRI_IDX_U16, &writer, err), TRI_IO,
                "/nowhere/x.bin", NULL);
    assert_int_equal(mkdir(case_path("folder.idx"), 0700), 0);
    case_expect(err, tri_indexed_dataset_create(case_path("folder"), &dataset, err), TRI_IO,
                "regular file", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),         cmocka_unit_test(test_big),
        cmocka_unit_test(test_original),      cmocka_unit_test(test_ids_above_16_bit),
        cmocka_unit_test(test_damage),        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_files_missing),
    };
    err = tri_error_create();
    int failed = cmocka_run_group_tests(tests, case_dir_create, case_dir_remove);
    tri_error_destroy(&err);
    return failed;
}
