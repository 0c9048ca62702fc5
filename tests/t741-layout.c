/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index arithmetic between file tensors and local ranges, and the transfer through the buffer: random
 * parameters, cuts, parts, transposes, padding and ranges against the element-by-element map.
 */
#include "t74-checkpoint.h"

#include "checkpoint/layout.h"
#include "checkpoint/transfer.h"

#include <fcntl.h>

static uint64_t random_state = 7;

static int64_t pick(int64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(random_state >> 33) % below;
}

struct layout_case {
    struct tri_param_spec spec;
    struct tri_local_range range;
    struct tri_disk_tensor disk;
};

/* A random parameter cut over tp, a range of it on one rank, and a file tensor with all of it or a part. */
static void case_make(struct layout_case *c, int64_t scale)
{
    static const int sizes[] = {1, 2, 3, 4};
    int tp = sizes[pick(4)], kind = (int)pick(4);
    memset(c, 0, sizeof(*c));
    struct tri_param_spec *spec = &c->spec;
    spec->name = "x";
    spec->num_dims = 1 + (int)pick(2);
    spec->cut_dim = kind == 3 && spec->num_dims == 2 ? 1 : kind == 0 ? -1 : 0;
    spec->dims[1] = spec->cut_dim == 1 ? tp * (1 + pick(scale)) : 1 + pick(scale);
    if (spec->cut_dim != 0) {
        spec->dims[0] = 1 + pick(scale);
    } else if (kind == 1) {
        spec->dims[0] = 1 + pick(2 * scale);
        spec->padded_rows = (spec->dims[0] + 3 * tp - 1) / (3 * tp) * 3 * tp;
    } else {
        spec->num_parts = 1 + (int)pick(TRI_MAX_PARTS);
        for (int p = 0; p < spec->num_parts; p++) {
            static const char *const names[TRI_MAX_PARTS] = {"q", "gate", "k", "v"};
            spec->parts[p] = (struct tri_param_part){
                .name = names[p], .first = spec->dims[0], .rows = tp * (1 + pick(scale))};
            spec->dims[0] += spec->parts[p].rows;
        }
    }
    c->disk = (struct tri_disk_tensor){.name = "x",
                                       .rows = spec->dims[0],
                                       .cols = spec->num_dims == 2 ? spec->dims[1] : 1,
                                       .transposed = spec->num_dims == 2 && pick(2)};
    if (spec->num_parts > 1 && pick(2)) {
        const struct tri_param_part *part = &spec->parts[pick(spec->num_parts)];
        c->disk.row_first = part->first;
        c->disk.rows = part->rows;
    }
    c->disk.elements = c->disk.rows * c->disk.cols;
    int64_t rows, cols;
    local_dims(spec, tp, &rows, &cols);
    int64_t first = pick(3) ? pick(rows * cols) : 0;
    int64_t count = pick(3) ? pick(rows * cols - first + 1) : rows * cols - first;
    c->range = (struct tri_local_range){
        .spec = spec, .tp_rank = (int)pick(tp), .tp_size = tp, .first = first, .count = count};
}

/* The file element of local element e of the range; -1 when disk does not hold it. */
static int64_t case_file(const struct layout_case *c, int64_t e)
{
    int64_t row, col;
    if (!to_global(&c->spec, c->range.tp_rank, c->range.tp_size, c->range.first + e, &row, &col))
        return -1;
    row -= c->disk.row_first;
    if (row < 0 || row >= c->disk.rows)
        return -1;
    return c->disk.transposed ? col * c->disk.rows + row : row * c->disk.cols + col;
}

static void test_tiles(void **state)
{
    (void)state;
    for (int n = 0; n < 20000; n++) {
        struct layout_case c;
        case_make(&c, 6);
        assert_true(tri_layout_is_valid(&c.range));
        struct tri_tile tiles[TRI_MAX_TILES];
        int num = tri_layout_tiles(&c.range, &c.disk, tiles);
        assert_true(num <= TRI_MAX_TILES);
        char *seen = calloc(1, (size_t)c.range.count + 1);
        for (int i = 0; i < num; i++)
            for (int64_t r = 0; r < tiles[i].num; r++)
                for (int64_t k = 0; k < tiles[i].count; k++) {
                    int64_t e = tiles[i].local + r * tiles[i].local_pitch + k * tiles[i].local_step;
                    int64_t f = tiles[i].file + r * tiles[i].file_pitch + k;
                    assert_true(e >= 0 && e < c.range.count);
                    assert_int_equal(seen[e], 0);
                    seen[e] = 1;
                    assert_int_equal(f, case_file(&c, e));
                }
        int64_t pad_first, pad_count;
        tri_layout_padding(&c.range, &pad_first, &pad_count);
        for (int64_t e = 0; e < c.range.count; e++) {
            int64_t row, col;
            bool real =
                to_global(&c.spec, c.range.tp_rank, c.range.tp_size, c.range.first + e, &row, &col);
            assert_int_equal(seen[e], case_file(&c, e) >= 0);
            assert_int_equal(e >= pad_first && e < pad_first + pad_count, !real);
        }
        free(seen);
    }
}

static void test_refuses_bad_ranges(void **state)
{
    (void)state;
    struct tri_param_spec spec = {.name = "x", .num_dims = 2, .dims = {6, 4}, .cut_dim = 0};
    struct tri_local_range range = {.spec = &spec, .tp_size = 4, .count = 1};
    assert_false(tri_layout_is_valid(&range));
    range.tp_size = 3;
    assert_true(tri_layout_is_valid(&range));
    range.count = 9;
    assert_false(tri_layout_is_valid(&range));
    range.count = 1;
    range.tp_rank = 3;
    assert_false(tri_layout_is_valid(&range));
    range.tp_rank = 0;
    range.first = -1;
    assert_false(tri_layout_is_valid(&range));
}

/* Megatron-LM's rows of 2 groups with 4 heads that are 3 wide: each group's queries, gates, key and value. */
static void test_interleaved_gates(void **state)
{
    (void)state;
    static const int64_t rows[] = {6, 6, 3, 3}, firsts[] = {0, 12, 24, 30};
    static const char *const names[TRI_MAX_PARTS] = {"q", "gate", "k", "v"};
    struct tri_param_spec spec = {
        .name = "x", .num_dims = 2, .dims = {36, 5}, .cut_dim = 0, .num_parts = TRI_MAX_PARTS};
    for (int p = 0; p < TRI_MAX_PARTS; p++)
        spec.parts[p] = (struct tri_param_part){
            .name = names[p], .first = firsts[p], .rows = 2 * rows[p], .unit = 3};
    struct tri_disk_tensor disk = {.rows = 36, .cols = 5, .interleaved = &spec};
    int64_t file = 0;
    assert_int_equal(tri_layout_num_pieces(&disk), 8);
    for (int64_t i = 0; i < 8; i++) {
        struct tri_disk_tensor piece = tri_layout_piece(&disk, i);
        assert_int_equal(piece.rows, rows[i % 4]);
        assert_int_equal(piece.row_first, firsts[i % 4] + i / 4 * rows[i % 4]);
        assert_int_equal(piece.file_first, file);
        file += piece.rows * 5;
    }
}

/* Runs that need no gathering are one tile. */
static void test_merges(void **state)
{
    (void)state;
    struct tri_param_spec spec = {
        .name = "x", .num_dims = 2, .dims = {12, 5}, .cut_dim = 0, .num_parts = 3};
    for (int p = 0; p < 3; p++)
        spec.parts[p] = (struct tri_param_part){.name = "p", .first = 4 * p, .rows = 4};
    struct tri_local_range range = {.spec = &spec, .tp_size = 1, .first = 3, .count = 50};
    struct tri_disk_tensor disk = {.rows = 12, .cols = 5};
    struct tri_tile tiles[TRI_MAX_TILES];
    assert_int_equal(tri_layout_tiles(&range, &disk, tiles), 1);
    assert_int_equal(tiles[0].num, 1);
    assert_int_equal(tiles[0].count, 50);
    assert_int_equal(tiles[0].file, 3);
}

/* Writes a case into a file of marks and reads it back; other bytes stay as they were. */
static void transfer_once(int64_t scale)
{
    struct layout_case c;
    case_make(&c, scale);
    c.disk.begin = 8 * (1 + pick(9));
    char path[128];
    snprintf(path, sizeof(path), "%s/transfer", scratch_dir());
    size_t file_bytes = (size_t)(c.disk.begin + 4 * c.disk.elements + 12);
    char *marks = malloc(file_bytes);
    memset(marks, 0x5a, file_bytes);
    spill(path, marks, file_bytes);
    int fd = open(path, O_RDWR);
    float *data = malloc((size_t)c.range.count * 4 + 4),
          *back = malloc((size_t)c.range.count * 4 + 4);
    for (int64_t e = 0; e < c.range.count; e++)
        data[e] = test_value("t", e, 3, (uint32_t)scale);
    static struct tri_checksum checksum;
    tri_checksum_init(&checksum);
    tri_error *err = tri_error_create();
    struct tri_transfer transfer = {
        .staging = malloc(TRI_STAGING_BYTES), .checksum = &checksum, .err = err};
    uint64_t wrote = 0, read = 0;
    assert_int_equal(tri_transfer_write(&transfer, fd, path, &c.disk, &c.range, data, &wrote),
                     TRI_OK);
    long bytes;
    char *found = slurp(path, &bytes);
    assert_int_equal(bytes, file_bytes);
    uint64_t expected = 0;
    for (int64_t e = 0; e < c.range.count; e++) {
        int64_t f = case_file(&c, e);
        if (f < 0)
            continue;
        memcpy(marks + c.disk.begin + 4 * f, &data[e], 4);
        expected += tri_checksum_words(&checksum, &data[e], f, 1);
    }
    assert_memory_equal(found, marks, file_bytes);
    assert_true(wrote == expected);
    memset(back, 0, (size_t)c.range.count * 4);
    assert_int_equal(
        tri_transfer_read(&transfer, fd, path, TRI_DTYPE_F32, &c.disk, &c.range, back, &read),
        TRI_OK);
    assert_true(read == expected);
    for (int64_t e = 0; e < c.range.count; e++)
        assert_true(back[e] == (case_file(&c, e) < 0 ? 0 : data[e]));
    /* a short file is an error, not a crash */
    if (expected != 0 && ftruncate(fd, c.disk.begin) == 0) {
        assert_int_equal(
            tri_transfer_read(&transfer, fd, path, TRI_DTYPE_F32, &c.disk, &c.range, back, NULL),
            TRI_IO);
        ASSERT_MESSAGE(err, "was cut while being read");
    }
    tri_error_destroy(&err);
    free(transfer.staging);
    free(data);
    free(back);
    free(found);
    free(marks);
    close(fd);
}

static void test_transfer(void **state)
{
    (void)state;
    for (int n = 0; n < 400; n++)
        transfer_once(9);
    /* larger than the buffer, runs beyond the direct size */
    for (int n = 0; n < 12; n++)
        transfer_once(1500);
}

/* 16-bit files: every pattern of a half and a bfloat, through strided and plain tiles. */
static void test_narrow(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/narrow", scratch_dir());
    uint16_t *all = malloc(65536 * 2);
    for (int i = 0; i < 65536; i++)
        all[i] = (uint16_t)i;
    spill(path, all, 65536 * 2);
    free(all);
    int fd = open(path, O_RDONLY);
    struct tri_checksum checksum;
    struct tri_transfer transfer = {.staging = malloc(TRI_STAGING_BYTES), .checksum = &checksum};
    float *out = malloc(65536 * 4);
    for (int transposed = 0; transposed < 2; transposed++) {
        struct tri_param_spec spec = {.name = "x", .num_dims = 2, .dims = {512, 128}, .cut_dim = 0};
        struct tri_local_range range = {
            .spec = &spec, .tp_rank = 1, .tp_size = 2, .count = 256 * 128};
        struct tri_disk_tensor disk = {.rows = 512, .cols = 128, .transposed = transposed};
        assert_int_equal(
            tri_transfer_read(&transfer, fd, path, TRI_DTYPE_BF16, &disk, &range, out, NULL),
            TRI_OK);
        for (int64_t e = 0; e < 256 * 128; e++) {
            int64_t row = 256 + e / 128, col = e % 128;
            uint32_t bits = (uint32_t)(transposed ? col * 512 + row : row * 128 + col) << 16;
            assert_memory_equal(&out[e], &bits, 4);
        }
    }
    struct tri_param_spec spec = {.name = "x", .num_dims = 1, .dims = {65536, 1}, .cut_dim = -1};
    struct tri_local_range range = {.spec = &spec, .tp_size = 1, .count = 65536};
    struct tri_disk_tensor disk = {.rows = 65536, .cols = 1};
    assert_int_equal(
        tri_transfer_read(&transfer, fd, path, TRI_DTYPE_F16, &disk, &range, out, NULL), TRI_OK);
    for (int i = 0; i < 65536; i++) {
        int exponent = i >> 10 & 31, mantissa = i & 1023;
        double value = exponent == 0
                           ? mantissa * 0x1p-24
                           : (1 + mantissa / 1024.0) * (double)(1ull << exponent) * 0x1p-15;
        if (exponent == 31)
            assert_true(mantissa ? out[i] != out[i] : out[i] == (i & 0x8000 ? -1.0f : 1.0f) / 0.0f);
        else
            assert_true(out[i] == (float)(i & 0x8000 ? -value : value));
    }
    free(out);
    free(transfer.staging);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles),    cmocka_unit_test(test_refuses_bad_ranges),
        cmocka_unit_test(test_merges),   cmocka_unit_test(test_interleaved_gates),
        cmocka_unit_test(test_transfer), cmocka_unit_test(test_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, scratch_remove);
}
