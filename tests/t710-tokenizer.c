/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids and texts against the tokenizers library: two small tokenizers kept here, and GPT-2, Qwen3 and
 * DeepSeek-V3 where TRINE_TEST_DATA names the folder that holds tokenizers/ (skipped without).
 * t710-tokenizer [name].
 */
#include "t70-cases.h"

#include "data/tokenizer.h"

#include <time.h>

static tri_error *err;
static const char *name, *file;
static tri_tokenizer *tokenizer;

static void check_ids(const json_t *line, const char *key, int flags)
{
    const json_t *text = json_object_get(line, "text"), *ids = json_object_get(line, key);
    struct tri_ids found = {0};
    if (!ids || !text)
        return;
    case_ok(err, tri_tokenizer_encode(tokenizer, json_string_value(text), json_string_length(text),
                                      flags, &found, err));
    case_same_ids(json_string_value(text), ids, found.data, found.num);
    tri_ids_fini(&found);
}

static void check_text(const json_t *line, const char *key, bool skip_special)
{
    const json_t *ids = json_object_get(line, "ids"), *text = json_object_get(line, key);
    struct tri_bytes found = {0};
    size_t num = json_array_size(ids);
    int32_t *values = malloc((num + 1) * sizeof(*values));
    if (text) {
        for (size_t i = 0; i < num; i++)
            values[i] = (int32_t)json_integer_value(json_array_get(ids, i));
        case_ok(err,
                tri_tokenizer_decode(tokenizer, values, (int64_t)num, skip_special, &found, err));
        if (found.num != json_string_length(text) ||
            (found.num && memcmp(found.data, json_string_value(text), found.num) != 0))
            fail_msg("decoded '%.*s', expected '%s'", (int)found.num, found.data,
                     json_string_value(text));
    }
    free(values);
    tri_bytes_fini(&found);
}

static void check_line(const json_t *line)
{
    check_ids(line, "ids", 0);
    check_ids(line, "ids_plain", TRI_ENCODE_ALL_AS_TEXT);
    check_ids(line, "ids_special_as_text", TRI_ENCODE_SPECIAL_AS_TEXT);
    check_ids(line, "ids_with_special", TRI_ENCODE_TEMPLATE);
    check_text(line, "decoded", false);
    check_text(line, "decoded_skip_special", true);
}

static void each_line(const char *path, void (*check)(const json_t *line))
{
    char *line = NULL;
    size_t room = 0;
    int num = 0;
    FILE *lines = fopen(path, "r");
    if (!lines)
        fail_msg("cannot open %s", path);
    while (getline(&line, &room, lines) > 0) {
        json_t *json = json_loads(line, JSON_ALLOW_NUL, NULL);
        if (!json_is_object(json))
            fail_msg("%s: line %d is no object", path, num + 1);
        check(json);
        json_decref(json);
        num++;
    }
    assert_true(num > 10);
    free(line);
    fclose(lines);
}

static const char *case_file(const char *suffix)
{
    static char path[256];
    snprintf(path, sizeof(path), "golden/tokenizer/%s.%s", name, suffix);
    return path;
}

static void test_texts(void **state)
{
    (void)state;
    each_line(case_file("jsonl"), check_line);
}

static void test_random_texts(void **state)
{
    (void)state;
    each_line(case_file("fuzz.jsonl"), check_line);
}

static void test_decode(void **state)
{
    (void)state;
    each_line(case_file("decode.jsonl"), check_line);
}

static size_t from_hex(const char *hex, char *bytes)
{
    size_t num = strlen(hex) / 2;
    for (size_t i = 0; i < num; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};
        bytes[i] = (char)strtol(pair, NULL, 16);
    }
    return num;
}

static void check_invalid(const json_t *line)
{
    char bytes[4096], key[64], offset[32];
    struct tri_ids found = {0};
    size_t num = from_hex(case_text(line, "hex"), bytes);
    snprintf(key, sizeof(key), "ids_%s", name);
    snprintf(offset, sizeof(offset), "at offset %d",
             (int)json_integer_value(json_object_get(line, "first_bad")));
    case_ok(err,
            tri_tokenizer_encode(tokenizer, bytes, num, TRI_ENCODE_REPLACE_INVALID, &found, err));
    if (json_object_get(line, key))
        case_same_ids(key, json_object_get(line, key), found.data, found.num);
    tri_status status = tri_tokenizer_encode(tokenizer, bytes, num, 0, &found, err);
    if (json_is_true(json_object_get(line, "valid")))
        case_ok(err, status);
    else
        case_expect(err, status, TRI_INVALID, "not UTF-8", offset, NULL);
    tri_ids_fini(&found);
}

static void test_invalid(void **state)
{
    (void)state;
    each_line("golden/tokenizer/invalid_utf8.jsonl", check_invalid);
}

/* Pieces without a place to split: the work grows with n log n. */
static void test_long_pieces(void **state)
{
    (void)state;
    enum { LONG = 1000000 };
    char *text = malloc(LONG);
    struct tri_ids found = {0};
    struct tri_bytes back = {0};
    for (int i = 0; i < LONG; i++)
        text[i] = (char)('a' + i * 7 % 26 % 5);
    case_ok(err, tri_tokenizer_encode(tokenizer, text, LONG, 0, &found, err));
    case_ok(err, tri_tokenizer_decode(tokenizer, found.data, found.num, false, &back, err));
    assert_int_equal(back.num, LONG);
    assert_memory_equal(back.data, text, LONG);
    found.num = 0;
    memset(text, ' ', LONG);
    case_ok(err, tri_tokenizer_encode(tokenizer, text, LONG, 0, &found, err));
    memset(text, '7', LONG);
    case_ok(err, tri_tokenizer_encode(tokenizer, text, LONG, 0, &found, err));
    tri_ids_fini(&found);
    tri_bytes_fini(&back);
    free(text);
}

static int open_tokenizer(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "golden/tokenizer/%s.tokenizer.json", name);
    if (access(path, F_OK) != 0) {
        const char *folder = getenv("TRINE_TEST_DATA");
        if (!folder) {
            printf("skipped: TRINE_TEST_DATA does not name the folder with tokenizers/%s\n", name);
            return 77;
        }
        snprintf(path, sizeof(path), "%s/tokenizers/%s", folder, name);
    }
    file = path;
    if (tri_tokenizer_create(file, &tokenizer, err) == TRI_OK)
        return 0;
    printf("%s\n", tri_error_message(err, 0));
    return 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),       cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_decode),      cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_long_pieces),
    };
    name = argc > 1 ? argv[1] : "kjv_bytelevel";
    err = tri_error_create();
    int result = open_tokenizer();
    if (result == 0)
        result = cmocka_run_group_tests(tests, NULL, NULL);
    tri_tokenizer_destroy(&tokenizer);
    tri_error_destroy(&err);
    return result;
}
