/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges learned from text against the tokenizers library's trainer: small corner cases, and chapters
 * of the King James text where the bible program of Debian's bible-kjv package is installed.
 */
#include "t70-cases.h"

#include "data/bpe_train.h"
#include "data/byte_map.h"
#include "data/tokenizer.h"

static tri_error *err;
static json_t *cases;

static tri_bpe_trainer *train(const char *text, size_t bytes, int64_t vocab_size,
                              int64_t min_frequency, const json_t *special)
{
    const char *names[8] = {NULL};
    tri_bpe_trainer *trainer = NULL;
    for (size_t i = 0; i < json_array_size(special); i++)
        names[i] = json_string_value(json_array_get(special, i));
    struct tri_bpe_train_config config = {
        .vocab_size = vocab_size, .min_frequency = min_frequency, .special = names};
    case_ok(err, tri_bpe_trainer_create(&config, &trainer, err));
    case_ok(err, tri_bpe_trainer_add(trainer, text, bytes, err));
    case_ok(err, tri_bpe_trainer_run(trainer, err));
    return trainer;
}

static void expect_token(const tri_bpe_trainer *trainer, int32_t id, const json_t *expected)
{
    struct tri_bytes text = {0};
    size_t num;
    const char *bytes = tri_bpe_trainer_token(trainer, id, &num);
    case_ok(err, tri_byte_map_write(bytes, num, &text, err));
    case_ok(err, tri_bytes_append_byte(&text, '\0', err));
    assert_string_equal(text.data, json_string_value(expected));
    tri_bytes_fini(&text);
}

static void check_merges(const tri_bpe_trainer *trainer, const json_t *one)
{
    const json_t *merges = json_object_get(one, "merges"), *counts = json_object_get(one, "counts");
    assert_int_equal(tri_bpe_trainer_num_merges(trainer), json_array_size(merges));
    for (size_t i = 0; i < json_array_size(merges); i++) {
        const struct tri_bpe_merge *merge = &tri_bpe_trainer_merges(trainer)[i];
        const json_t *pair = json_array_get(merges, i);
        expect_token(trainer, merge->left, json_array_get(pair, 0));
        expect_token(trainer, merge->right, json_array_get(pair, 1));
        assert_int_equal(merge->count, json_integer_value(json_array_get(counts, i)));
    }
}

static void test_small(void **state)
{
    (void)state;
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(cases, "tiny"), i, one)
    {
        const json_t *text = json_object_get(one, "text");
        tri_bpe_trainer *trainer =
            train(json_string_value(text), json_string_length(text), case_int(one, "vocab_size"),
                  json_integer_value(json_object_get(one, "min_frequency")),
                  json_object_get(one, "special"));
        check_merges(trainer, one);
        if (json_object_get(one, "vocab_len"))
            assert_int_equal(tri_bpe_trainer_num_ids(trainer), case_int(one, "vocab_len"));
        tri_bpe_trainer_destroy(&trainer);
    }
}

/* The output of a command of the case file, NULL when the program is missing. */
static char *run_command(const json_t *one, size_t *bytes)
{
    const char *command = case_text(one, "command");
    if (strncmp(command, "bible ", 6) != 0 || system("command -v bible >/dev/null 2>&1") != 0)
        return NULL;
    FILE *pipe = popen(command, "r");
    size_t room = 8 << 20;
    char *text = malloc(room);
    assert_non_null(pipe);
    *bytes = fread(text, 1, room, pipe);
    pclose(pipe);
    return text;
}

static void check_command(const json_t *one)
{
    size_t bytes = 0;
    char *text = run_command(one, &bytes);
    if (!text)
        skip();
    assert_int_equal(bytes, case_int(one, "bytes"));
    tri_bpe_trainer *trainer =
        train(text, bytes, case_int(one, "vocab_size"), case_int(one, "min_frequency"),
              json_object_get(one, "special_tokens"));
    check_merges(trainer, one);
    assert_int_equal(tri_bpe_trainer_merges(trainer)[0].id, case_int(one, "first_merge_id"));
    tri_bpe_trainer_destroy(&trainer);
    free(text);
}

static void test_genesis(void **state)
{
    (void)state;
    check_command(json_object_get(cases, "main"));
}

static void test_more(void **state)
{
    (void)state;
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(cases, "more"), i, one) check_command(one);
}

/* A written file reads back to the same vocabulary and cuts text as the trainer did. */
static void test_written(void **state)
{
    (void)state;
    static const char text[] = "In the beginning God created the heaven and the earth. 1 2 3\n";
    static const char pattern[] = "\\p{N}| ?\\p{L}+|[^\\p{L}\\p{N}]";
    static const char *const patterns[] = {NULL, pattern};
    for (int p = 0; p < 2; p++) {
        tri_bpe_trainer *trainer = NULL;
        tri_tokenizer *tokenizer = NULL;
        struct tri_ids ids = {0};
        struct tri_bytes back = {0};
        struct tri_bpe_train_config config = {
            .vocab_size = 300,
            .pattern = patterns[p],
            .special = (const char *const[]){"<|endoftext|>", "<\xc3\xbc>", NULL}};
        case_ok(err, tri_bpe_trainer_create(&config, &trainer, err));
        for (int i = 0; i < 3; i++)
            case_ok(err, tri_bpe_trainer_add(trainer, text, strlen(text), err));
        case_ok(err, tri_bpe_trainer_run(trainer, err));
        case_ok(err, tri_bpe_trainer_write(trainer, case_path("tokenizer.json"), err));
        case_ok(err, tri_tokenizer_create(case_path(""), &tokenizer, err));
        assert_int_equal(tri_tokenizer_num_ids(tokenizer), tri_bpe_trainer_num_ids(trainer));
        assert_int_equal(tri_tokenizer_eod(tokenizer), 0);
        case_ok(err, tri_tokenizer_encode(tokenizer, text, strlen(text), 0, &ids, err));
        assert_true(ids.num < 30);
        case_ok(err, tri_tokenizer_decode(tokenizer, ids.data, ids.num, true, &back, err));
        assert_int_equal(back.num, strlen(text));
        assert_memory_equal(back.data, text, back.num);
        ids.num = 0;
        case_ok(err, tri_tokenizer_encode(tokenizer, "<\xc3\xbc>", 4, 0, &ids, err));
        assert_int_equal(ids.num, 1);
        assert_int_equal(ids.data[0], 1);
        tri_ids_fini(&ids);
        tri_bytes_fini(&back);
        tri_tokenizer_destroy(&tokenizer);
        tri_bpe_trainer_destroy(&trainer);
    }
}

static void test_refused(void **state)
{
    (void)state;
    tri_bpe_trainer *trainer = NULL;
    struct tri_bpe_train_config config = {.vocab_size = 255};
    case_expect(err, tri_bpe_trainer_create(&config, &trainer, err), TRI_INVALID, "vocab_size 255",
                "256", NULL);
    config.vocab_size = 300;
    config.special = (const char *const[]){"<s>", "<s>", NULL};
    case_expect(err, tri_bpe_trainer_create(&config, &trainer, err), TRI_INVALID, "'<s>'", "twice",
                NULL);
    config.special = NULL;
    config.pattern = "(\\bx)";
    case_expect(err, tri_bpe_trainer_create(&config, &trainer, err), TRI_UNSUPPORTED,
                "this escape at offset 2", NULL);
    config.pattern = NULL;
    case_ok(err, tri_bpe_trainer_create(&config, &trainer, err));
    case_expect(err, tri_bpe_trainer_add(trainer, "ab\xff", 3, err), TRI_INVALID, "0xff",
                "offset 2", NULL);
    case_expect(err, tri_bpe_trainer_write(trainer, "/nowhere/tokenizer.json", err), TRI_IO,
                "/nowhere", NULL);
    tri_bpe_trainer_destroy(&trainer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),   cmocka_unit_test(test_genesis), cmocka_unit_test(test_more),
        cmocka_unit_test(test_written), cmocka_unit_test(test_refused),
    };
    err = tri_error_create();
    cases = case_load("golden/tokenizer/bpe_train.json");
    int failed = cmocka_run_group_tests(tests, case_dir_create, case_dir_remove);
    json_decref(cases);
    tri_error_destroy(&err);
    return failed;
}
