/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text and JSONL to token files: documents, bad lines and ids against recorded ones (ids with GPT-2's
 * tokenizer where TRINE_TEST_DATA names the folder that holds it), compressed input that is joined,
 * cut or followed by stray bytes, wrong requests.
 */
#include "t70-cases.h"

#include "data/encode.h"
#include "data/indexed_dataset.h"
#include "data/input.h"
#include "data/json_line.h"

#include <zlib.h>
#include <zstd.h>

static tri_error *err;
static json_t *expected;
static tri_tokenizer *small, *gpt2;

static tri_status encode(const char *input, tri_tokenizer *tokenizer,
                         struct tri_encode_config config, struct tri_encode_counts *counts)
{
    config.inputs = &input;
    config.num_inputs = 1;
    config.output_prefix = case_path("out");
    if (!config.eod)
        config.eod = -1;
    return tri_encode_files(&config, tokenizer, counts, err);
}

static int32_t *read_tokens(int64_t *num)
{
    tri_indexed_dataset *dataset = NULL;
    case_ok(err, tri_indexed_dataset_create(case_path("out"), &dataset, err));
    const struct tri_idx *idx = tri_indexed_dataset_idx(dataset);
    int32_t *tokens = malloc((size_t)(idx->num_tokens + 1) * sizeof(*tokens));
    *num = 0;
    for (int64_t i = 0; i < idx->num_sequences; i++) {
        int64_t length = tri_idx_length(idx, i);
        assert_true(length > 0);
        case_ok(err, tri_indexed_dataset_read(dataset, i, 0, length, 0, tokens + *num, err));
        *num += length;
    }
    tri_indexed_dataset_destroy(&dataset);
    return tokens;
}

/* GPT-2's ids, with and without end tokens. */
static void check_ids(const char *path, const json_t *one)
{
    for (int eod = 0; eod < 2; eod++) {
        struct tri_encode_counts counts;
        struct tri_encode_config config = {
            .json_key = case_text(one, "key"), .skip_bad_lines = true, .append_eod = eod};
        int64_t num;
        case_ok(err, encode(path, gpt2, config, &counts));
        int32_t *tokens = read_tokens(&num);
        assert_int_equal(num, case_int(one, eod ? "tokens_append_eod" : "tokens"));
        if (eod && json_object_get(one, "ids_append_eod"))
            case_same_ids(path, json_object_get(one, "ids_append_eod"), tokens, num);
        free(tokens);
        tri_error_clear(err);
    }
}

static void check_file(const char *name, const json_t *one)
{
    char path[256], first[64];
    struct tri_encode_counts counts;
    struct tri_encode_config config = {.json_key = case_text(one, "key"), .skip_bad_lines = true};
    const json_t *errors = json_object_get(one, "errors");
    bool bom = strcmp(name, "bom.jsonl") == 0; /* we skip the mark, which is as good */
    snprintf(path, sizeof(path), "golden/tokenizer/jsonl/%s", name);
    case_ok(err, encode(path, small, config, &counts));
    assert_int_equal(counts.documents, case_int(one, "documents") + bom);
    assert_int_equal(counts.empty_documents, case_int(one, "empty_documents"));
    assert_int_equal(counts.sequences, case_int(one, "sequences") + bom);
    assert_int_equal(counts.blank_lines, json_array_size(json_object_get(one, "blank_lines")));
    assert_int_equal(counts.bad_lines, bom ? 0 : json_array_size(errors));
    for (int i = 0; i < tri_error_note_count(err); i++) {
        snprintf(first, sizeof(first), "line %lld left out",
                 (long long)case_int(json_array_get(errors, (size_t)i), "line"));
        assert_non_null(strstr(tri_error_note_message(err, i), first));
    }
    tri_error_clear(err);
    if (json_array_size(errors) && !bom) {
        config.skip_bad_lines = false;
        snprintf(first, sizeof(first),
                 "line %lld:", (long long)case_int(json_array_get(errors, 0), "line"));
        unlink(case_path("out.bin"));
        case_expect(err, encode(path, small, config, &counts), TRI_INVALID, name, first,
                    "--skip-bad-lines", NULL);
        assert_int_not_equal(access(case_path("out.bin"), F_OK), 0);
    }
    if (gpt2 && !bom)
        check_ids(path, one);
}

static void test_jsonl(void **state)
{
    (void)state;
    const char *name;
    json_t *one;
    json_object_foreach(json_object_get(expected, "files"), name, one) check_file(name, one);
}

/* The kind of each bad line. */
static void test_kinds(void **state)
{
    (void)state;
    static const char *const kinds[] = {"ok",          "utf8",       "json",          "not_object",
                                        "missing_key", "not_string", "lone_surrogate"};
    const char *name;
    json_t *one, *error;
    size_t i;
    struct tri_json_line value = {0};
    json_object_foreach(json_object_get(expected, "files"), name, one)
    {
        char path[256];
        tri_input *input = NULL;
        const char *line = NULL;
        size_t bytes = 0;
        bool has_line = true;
        if (strcmp(name, "bom.jsonl") == 0)
            continue;
        snprintf(path, sizeof(path), "golden/tokenizer/jsonl/%s", name);
        case_ok(err, tri_input_create(path, &input, err));
        json_array_foreach(json_object_get(one, "errors"), i, error)
        {
            while (tri_input_line_number(input) < case_int(error, "line"))
                case_ok(err, tri_input_read_line(input, &line, &bytes, &has_line, err));
            assert_true(has_line);
            enum tri_json_line_problem problem =
                tri_json_line_read(line, bytes, case_text(one, "key"), &value);
            assert_string_equal(kinds[problem], case_text(error, "kind"));
        }
        while (has_line)
            case_ok(err, tri_input_read_line(input, &line, &bytes, &has_line, err));
        assert_int_equal(tri_input_line_number(input), case_int(one, "lines"));
        tri_input_destroy(&input);
    }
    tri_json_line_fini(&value);
}

static void test_depth(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    struct tri_json_line value = {0};
    char *line = malloc(DEEP + 64);
    int num = snprintf(line, 64, "{\"a\":");
    memset(line + num, '[', DEEP);
    assert_int_equal(tri_json_line_read(line, (size_t)num + DEEP, "text", &value),
                     TRI_JSON_LINE_SYNTAX);
    num = snprintf(line, 64, "{\"a\":{\"b\":[[],{},[{\"c\":{}}]]},\"text\":\"x\"}");
    assert_int_equal(tri_json_line_read(line, (size_t)num, "text", &value), TRI_JSON_LINE_OK);
    assert_int_equal(value.text.num, 1);
    for (int cut = 0; cut < num; cut++)
        assert_int_not_equal(tri_json_line_read(line, (size_t)cut, "text", &value),
                             TRI_JSON_LINE_OK);
    free(line);
    tri_json_line_fini(&value);
}

static size_t pack_gzip(const char *text, char *out, size_t room)
{
    z_stream stream = {.next_in = (Bytef *)text,
                       .avail_in = (uInt)strlen(text),
                       .next_out = (Bytef *)out,
                       .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + 15, 8, 0), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return room - stream.avail_out;
}

static size_t pack_zstd(const char *text, char *out, size_t room)
{
    size_t num = ZSTD_compress(out, room, text, strlen(text), 3);
    assert_false(ZSTD_isError(num));
    return num;
}

static void check_joined(size_t (*pack)(const char *, char *, size_t), const char *name)
{
    char data[4096];
    struct tri_encode_counts counts;
    struct tri_encode_config config = {0};
    size_t first = pack("{\"text\":\"a\"}\n{\"text\":\"b\"}\n", data, 1024);
    size_t num = first + pack("", data + first, 1024);
    num += pack("{\"text\":\"c\"}\n{\"text\":\"d\"}\n{\"text\":\"e\"}\n", data + num, 1024);
    case_write(name, data, num);
    case_ok(err, encode(case_path(name), small, config, &counts));
    assert_int_equal(counts.documents, 5);

    memcpy(data + num, "\x01\x02\x03", 3);
    case_write(name, data, num + 3);
    unlink(case_path("out.idx"));
    char offset[64];
    snprintf(offset, sizeof(offset), "offset %zu", num);
    case_expect(err, encode(case_path(name), small, config, &counts), TRI_IO, name, "stray", offset,
                NULL);
    assert_int_not_equal(access(case_path("out.idx"), F_OK), 0);
    for (size_t cut = 1; cut < num; cut++) {
        bool between = cut == first || cut == first + pack("", data + 2048, 1024);
        case_write(name, data, num - cut);
        tri_status status = encode(case_path(name), small, config, &counts);
        if (status == TRI_OK)
            assert_true(counts.documents == 2 && (between || num - cut >= first));
        else
            assert_non_null(strstr(tri_error_message(err, 0), "byte offset"));
        tri_error_clear(err);
    }
    case_write(name, data, num - 8);
    case_expect(err, encode(case_path(name), small, config, &counts), TRI_IO, name, "cut", "offset",
                NULL);
    case_write(name, "{\"text\":1}", 10);
    case_expect(err, encode(case_path(name), small, config, &counts), TRI_IO, name, "offset 0",
                NULL);
}

static void test_gzip(void **state)
{
    (void)state;
    check_joined(pack_gzip, "x.jsonl.gz");
}

static void test_zstd(void **state)
{
    (void)state;
    check_joined(pack_zstd, "x.jsonl.zst");
}

static void test_plain_text(void **state)
{
    (void)state;
    static const char text[] = "first line\nsecond\n\nthird\n";
    struct tri_encode_counts counts;
    case_write("plain.txt", text, strlen(text));
    case_ok(err, encode(case_path("plain.txt"), small, (struct tri_encode_config){0}, &counts));
    assert_int_equal(counts.documents, 1);
    assert_int_equal(counts.text_bytes, strlen(text));
    int64_t whole = counts.tokens;
    struct tri_encode_config config = {.separator = "\n", .keep_separator = true};
    case_ok(err, encode(case_path("plain.txt"), small, config, &counts));
    assert_int_equal(counts.documents, 4);
    assert_int_equal(counts.text_bytes, strlen(text));
    assert_true(counts.tokens >= whole);
    config = (struct tri_encode_config){.separator = "\n\n"};
    case_ok(err, encode(case_path("plain.txt"), small, config, &counts));
    assert_int_equal(counts.documents, 2);
    config = (struct tri_encode_config){.separator = "\n", .append_eod = true, .eod = 7};
    case_ok(err, encode(case_path("plain.txt"), small, config, &counts));
    assert_int_equal(counts.documents, 3);
    assert_int_equal(counts.blank_lines, 1);
    int64_t num;
    int32_t *tokens = read_tokens(&num);
    assert_int_equal(tokens[num - 1], 7);
    free(tokens);
    case_write("bad.txt", "abc\xff", 4);
    case_expect(err, encode(case_path("bad.txt"), small, (struct tri_encode_config){0}, &counts),
                TRI_INVALID, "bad.txt", "0xff at offset 3", NULL);
    case_ok(err, encode(case_path("bad.txt"), small,
                        (struct tri_encode_config){.flags = TRI_ENCODE_REPLACE_INVALID}, &counts));
}

static void test_refused(void **state)
{
    (void)state;
    struct tri_encode_counts counts;
    struct tri_encode_config config = {.append_eod = true};
    case_write("a.txt", "abc", 3);
    case_expect(err, encode(case_path("a.txt"), small, config, &counts), TRI_INVALID,
                "--append-eod", "--eod-token-id", NULL);
    config.eod = 5000;
    case_expect(err, encode(case_path("a.txt"), small, config, &counts), TRI_INVALID,
                "--eod-token-id 5000", NULL);
    case_expect(err, encode("/nowhere.txt", small, (struct tri_encode_config){0}, &counts), TRI_IO,
                "/nowhere.txt", NULL);
    if (gpt2) {
        config = (struct tri_encode_config){.dtype = TRI_IDX_U16};
        case_ok(err, encode(case_path("a.txt"), gpt2, config, &counts));
        assert_int_equal(counts.dtype, TRI_IDX_U16);
    }
}

/* A tokenizer of more than 65536 ids: 4-byte files by itself, 2 bytes refused. */
static void test_large_vocabulary(void **state)
{
    (void)state;
    size_t bytes;
    struct tri_encode_counts counts;
    tri_tokenizer *large = NULL;
    char *text = case_read("golden/tokenizer/kjv_bytelevel.tokenizer.json", &bytes);
    json_t *json = json_loads(text, 0, NULL);
    json_array_append_new(json_object_get(json, "added_tokens"),
                          json_pack("{s:i,s:s,s:b}", "id", 65536, "content", "<a>", "special", 1));
    json_array_append_new(json_object_get(json, "added_tokens"),
                          json_pack("{s:i,s:s,s:b}", "id", 70000, "content", "<b>", "special", 1));
    char *dump = json_dumps(json, 0);
    case_ok(err, tri_tokenizer_create_from_json(dump, strlen(dump), "large", &large, err));
    case_write("large.txt", "<a>x<b>", 7);
    struct tri_encode_config config = {.dtype = TRI_IDX_U16};
    case_expect(err, encode(case_path("large.txt"), large, config, &counts), TRI_INVALID,
                "--dtype uint16", "70001", NULL);
    config.dtype = 0;
    case_ok(err, encode(case_path("large.txt"), large, config, &counts));
    int64_t num;
    int32_t *tokens = read_tokens(&num);
    assert_int_equal(num, 3);
    assert_int_equal(tokens[0], 65536);
    assert_int_equal(tokens[2], 70000);
    free(tokens);
    tri_tokenizer_destroy(&large);
    json_decref(json);
    free(dump);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jsonl),   cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_depth),   cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_zstd),    cmocka_unit_test(test_plain_text),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_large_vocabulary),
    };
    char path[512];
    const char *folder = getenv("TRINE_TEST_DATA");
    err = tri_error_create();
    expected = case_load("golden/tokenizer/jsonl/expected.json");
    snprintf(path, sizeof(path), "%s/tokenizers/gpt2", folder ? folder : "");
    if (!folder || tri_tokenizer_create(path, &gpt2, err) != TRI_OK)
        printf(
            "skipped: GPT-2's ids; TRINE_TEST_DATA does not name the folder with its tokenizer\n");
    tri_error_clear(err);
    tri_tokenizer_create("golden/tokenizer/kjv_bytelevel.tokenizer.json", &small, err);
    int failed = cmocka_run_group_tests(tests, case_dir_create, case_dir_remove);
    tri_tokenizer_destroy(&gpt2);
    tri_tokenizer_destroy(&small);
    json_decref(expected);
    tri_error_destroy(&err);
    return failed;
}
