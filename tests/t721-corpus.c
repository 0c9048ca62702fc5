/* SPDX-License-Identifier: Apache-2.0 */
/* The data section of a run file: which parts are built from what, tiny splits, too little data. */
#include "t70-cases.h"

#include "data/corpus.h"
#include "data/indexed_writer.h"

static tri_error *err;
static struct tri_data_config config;

/* num documents of length tokens each. */
static void write_corpus(const char *name, int num, int length)
{
    tri_indexed_writer *writer = NULL;
    int32_t tokens[64];
    case_ok(err, tri_indexed_writer_create(case_path(name), TRI_IDX_U16, &writer, err));
    for (int i = 0; i < num; i++) {
        for (int k = 0; k < length; k++)
            tokens[k] = (i * 7 + k) % 50;
        case_ok(err, tri_indexed_writer_add_sequence(writer, tokens, length, err));
        case_ok(err, tri_indexed_writer_end_document(writer, err));
    }
    case_ok(err, tri_indexed_writer_end(writer, err));
    tri_indexed_writer_destroy(&writer);
}

static void set_defaults(const char *data_path, const char *split)
{
    tri_option_set_defaults(&tri_data_options, &config);
    snprintf(config.data_path, sizeof(config.data_path), "%s", data_path);
    snprintf(config.split, sizeof(config.split), "%s", split);
}

static struct tri_corpus_request request_of(int64_t train, int64_t valid, int64_t test)
{
    return (struct tri_corpus_request){.config = &config,
                                       .seq_length = 8,
                                       .seed = 1234,
                                       .vocab_size = 50,
                                       .eod = -1,
                                       .pad = -1,
                                       .num_samples = {train, valid, test}};
}

static void test_parts(void **state)
{
    (void)state;
    tri_corpus *corpus = NULL;
    set_defaults(case_path("ten"), "8,1,1");
    struct tri_corpus_request request = request_of(10, 2, 0);
    case_ok(err, tri_corpus_create(&request, &corpus, err));
    assert_true(tri_blend_length(tri_corpus_part(corpus, TRI_DATA_TRAIN)) >= 10);
    assert_true(tri_blend_length(tri_corpus_part(corpus, TRI_DATA_VALID)) >= 2);
    assert_null(tri_corpus_part(corpus, TRI_DATA_TEST));
    assert_true(tri_corpus_bytes(corpus) > 0);
    tri_corpus_destroy(&corpus);
    tri_error_clear(err);
}

static void test_own_paths(void **state)
{
    (void)state;
    tri_corpus *corpus = NULL;
    set_defaults("", "1");
    snprintf(config.train_data_path, sizeof(config.train_data_path), "1\n%s\n3\n%s",
             case_path("ten"), case_path("big"));
    snprintf(config.valid_data_path, sizeof(config.valid_data_path), "%s", case_path("ten"));
    struct tri_corpus_request request = request_of(12, 3, 0);
    case_ok(err, tri_corpus_create(&request, &corpus, err));
    assert_int_equal(tri_blend_num_datasets(tri_corpus_part(corpus, TRI_DATA_TRAIN)), 2);
    assert_int_equal(tri_blend_length(tri_corpus_part(corpus, TRI_DATA_TRAIN)), 12);
    assert_int_equal(tri_blend_tokens(tri_corpus_part(corpus, TRI_DATA_VALID)), 70);
    tri_corpus_destroy(&corpus);
    tri_error_clear(err);
    request.num_samples[TRI_DATA_TEST] = 1;
    case_expect(err, tri_corpus_create(&request, &corpus, err), TRI_INVALID, "test part",
                "test_data_path", NULL);
    snprintf(config.data_path, sizeof(config.data_path), "x");
    case_expect(err, tri_corpus_create(&request, &corpus, err), TRI_INVALID, "exclude each other",
                NULL);
}

/* 9998,1,1 of ten documents leaves validation nothing. */
static void test_tiny_split(void **state)
{
    (void)state;
    tri_corpus *corpus = NULL;
    set_defaults(case_path("ten"), "9998,1,1");
    struct tri_corpus_request request = request_of(10, 2, 0);
    case_expect(err, tri_corpus_create(&request, &corpus, err), TRI_INVALID, "validation part",
                "has 0 tokens", NULL);
    request.num_samples[TRI_DATA_VALID] = 0;
    case_ok(err, tri_corpus_create(&request, &corpus, err));
    tri_corpus_destroy(&corpus);
    tri_error_clear(err);
}

/* One token short of micro batch x data-parallel size samples. */
static void test_too_little(void **state)
{
    (void)state;
    tri_corpus *corpus = NULL;
    set_defaults(case_path("short"), "1,0,0");
    struct tri_corpus_request request = request_of(100, 0, 0);
    request.min_train_samples = 4;
    write_corpus("short", 1, 35);
    case_expect(err, tri_corpus_create(&request, &corpus, err), TRI_INVALID, "needs 36 tokens",
                "available are 35", NULL);
    write_corpus("short", 1, 36);
    case_ok(err, tri_corpus_create(&request, &corpus, err));
    tri_corpus_destroy(&corpus);
    tri_error_clear(err);
}

static void test_refused(void **state)
{
    (void)state;
    tri_corpus *corpus = NULL;
    struct tri_corpus_request request = request_of(10, 0, 0);
    set_defaults("", "1");
    case_expect(err, tri_corpus_create(&request, &corpus, err), TRI_INVALID, "data_path", NULL);
    set_defaults("/nowhere/x", "1");
    case_expect(err, tri_corpus_create(&request, &corpus, err), TRI_IO, "/nowhere/x.idx", NULL);
    set_defaults(case_path("ten"), "a");
    case_expect(err, tri_corpus_create(&request, &corpus, err), TRI_INVALID, "split 'a'", NULL);
    set_defaults(case_path("ten"), "1");
    config.eod_mask_loss = true;
    case_expect(err, tri_corpus_create(&request, &corpus, err), TRI_INVALID, "eod_token_id", NULL);
    config.eod_token_id = 3;
    case_ok(err, tri_corpus_create(&request, &corpus, err));
    tri_corpus_destroy(&corpus);
    tri_error_clear(err);
}

static int create_files(void **state)
{
    int failed = case_dir_create(state);
    write_corpus("ten", 10, 7);
    write_corpus("big", 40, 11);
    return failed;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),      cmocka_unit_test(test_own_paths),
        cmocka_unit_test(test_tiny_split), cmocka_unit_test(test_too_little),
        cmocka_unit_test(test_refused),
    };
    err = tri_error_create();
    int failed = cmocka_run_group_tests(tests, create_files, case_dir_remove);
    tri_error_destroy(&err);
    return failed;
}
