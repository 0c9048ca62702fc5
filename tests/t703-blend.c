/* SPDX-License-Identifier: Apache-2.0 */
/* Blends against Megatron's, and the data_path lists that are refused. */
#include "t70-cases.h"

#include "data/blend.h"

static tri_error *err;

static void widen(const int16_t *dataset, const int64_t *sample, int64_t num, int32_t *a,
                  int32_t *b)
{
    for (int64_t i = 0; i < num; i++) {
        a[i] = dataset[i];
        b[i] = (int32_t)sample[i];
    }
}

static void check_raw(const json_t *one)
{
    double weights[8];
    int64_t sizes[8], scratch[8], sample[256], size = 0;
    int16_t dataset[256];
    int32_t a[256], b[256];
    const json_t *list = json_object_get(one, "given_weights");
    int num;
    if (list) {
        num = (int)json_array_size(list);
        for (int i = 0; i < num; i++)
            weights[i] = json_number_value(json_array_get(list, (size_t)i));
        tri_blend_normalise(weights, num);
        for (int i = 0; i < num; i++)
            assert_true(weights[i] == json_number_value(json_array_get(
                                          json_object_get(one, "normalised"), (size_t)i)));
        size = case_int(one, "size");
        tri_blend_greedy(weights, num, size, dataset, sample, scratch);
    } else {
        list = json_object_get(one, "sizes");
        num = (int)json_array_size(list);
        for (int i = 0; i < num; i++)
            size += sizes[i] = json_integer_value(json_array_get(list, (size_t)i));
        tri_blend_exhaustive(sizes, num, size, dataset, sample, scratch);
    }
    widen(dataset, sample, size, a, b);
    case_same_ids(case_text(one, "name"), json_object_get(one, "dataset_index"), a, size);
    case_same_ids(case_text(one, "name"), json_object_get(one, "dataset_sample_index"), b, size);
}

static void check_blend(const char *name, const json_t *part, const tri_blend *blend)
{
    int32_t datasets[256], indexes[256], tokens[65], labels[64], positions[64];
    float mask[64];
    struct tri_gpt_sample sample = {tokens, labels, mask, positions, NULL};
    int64_t length = tri_blend_length(blend);
    assert_int_equal(length, case_int(part, "length"));
    for (int64_t k = 0; k < length; k++) {
        int dataset;
        int64_t index;
        tri_blend_locate(blend, k, &dataset, &index);
        datasets[k] = dataset;
        indexes[k] = (int32_t)index;
    }
    if (strcmp(case_text(part, "kind"), "blend") == 0) {
        case_same_ids(name, json_object_get(part, "dataset_index"), datasets, length);
        case_same_ids(name, json_object_get(part, "dataset_sample_index"), indexes, length);
        const json_t *built = json_object_get(part, "built_lengths");
        for (int i = 0; i < tri_blend_num_datasets(blend); i++)
            assert_int_equal(tri_gpt_dataset_length(tri_blend_dataset(blend, i)),
                             json_integer_value(json_array_get(built, (size_t)i)));
    }
    const json_t *first = json_object_get(part, "first_tokens"), *row;
    size_t k;
    json_array_foreach(first, k, row)
    {
        case_ok(err, tri_blend_read(blend, (int64_t)k, &sample, err));
        case_same_ids(name, row, tokens, (int64_t)json_array_size(row));
    }
}

static void check_built(const json_t *one)
{
    static const char *const parts[3] = {"train", "valid", "test"};
    tri_indexed_dataset *files[4] = {NULL};
    double weights[4];
    struct tri_data_split split;
    const json_t *corpora = json_object_get(one, "corpora");
    const json_t *given = json_object_get(one, "given_weights");
    int num = (int)json_array_size(corpora);
    for (int i = 0; i < num; i++) {
        char path[128];
        snprintf(path, sizeof(path), "golden/dataset/corpora/%s",
                 json_string_value(json_array_get(corpora, (size_t)i)));
        case_ok(err, tri_indexed_dataset_create(path, &files[i], err));
        weights[i] = json_number_value(json_array_get(given, (size_t)i));
    }
    case_ok(err, tri_data_split_parse(case_text(one, "split"), &split, err));
    struct tri_gpt_dataset_config config = {.seq_length = case_int(one, "seq_length"),
                                            .seed = case_int(one, "seed"),
                                            .eod = (int32_t)case_int(one, "eod"),
                                            .pad = -1,
                                            .extra_token = true,
                                            .drop_last = true};
    for (int p = 0; p < 3; p++) {
        const json_t *part = json_object_get(json_object_get(one, "parts"), parts[p]);
        const json_t *wanted = json_array_get(json_object_get(one, "num_samples"), (size_t)p);
        if (!json_is_object(part) || json_object_get(part, "rejected"))
            continue;
        struct tri_blend_request request = {
            .num = num,
            .files = (const tri_indexed_dataset *const *)files,
            .weights = json_is_array(given) ? weights : NULL,
            .split = &split,
            .part = (enum tri_data_part)p,
            .num_samples = json_is_null(wanted) ? -1 : json_integer_value(wanted),
            .surplus = json_number_value(json_object_get(one, "mid_level_dataset_surplus")),
            .dataset = &config,
        };
        tri_blend *blend = NULL;
        case_ok(err, tri_blend_create(&request, &blend, err));
        check_blend(case_text(one, "name"), part, blend);
        tri_blend_destroy(&blend);
        tri_error_clear(err);
    }
    for (int i = 0; i < num; i++)
        tri_indexed_dataset_destroy(&files[i]);
}

static void test_cases(void **state)
{
    (void)state;
    json_t *file = case_load("golden/dataset/blend.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(file, "cases"), i, one)
    {
        if (json_object_get(one, "rule"))
            check_raw(one);
        else
            check_built(one);
    }
    json_decref(file);
}

static void expect_list(const char *const *items, int num, const char *word, const char *more)
{
    struct tri_blend_list list = {0};
    case_expect(err, tri_blend_list_init(&list, items, num, err), TRI_INVALID, word, more, NULL);
}

static void test_lists(void **state)
{
    (void)state;
    struct tri_blend_list list;
    case_ok(err, tri_blend_list_init(&list, (const char *[]){"a", "b"}, 2, err));
    assert_int_equal(list.num, 2);
    assert_null(list.weights);
    assert_string_equal(list.prefixes[1], "b");
    tri_blend_list_fini(&list);
    case_ok(err, tri_blend_list_init(&list, (const char *[]){"30", "a", " 7e1", "b"}, 4, err));
    assert_int_equal(list.num, 2);
    assert_true(list.weights[1] == 70.0);
    assert_string_equal(list.prefixes[1], "b");
    tri_blend_list_fini(&list);
    case_ok(err, tri_blend_list_init(&list, (const char *[]){"1", "2", "3"}, 3, err));
    assert_int_equal(list.num, 3);
    assert_null(list.weights);
    tri_blend_list_fini(&list);

    expect_list((const char *[]){"30", "A", "x", "B"}, 4, "item 3 'x'", "weight");
    expect_list((const char *[]){"A", "x", "30", "B"}, 4, "item 3 '30'", "weight");
    expect_list((const char *[]){"0", "A", "1", "B"}, 4, "item 1", "'0' of 'A'");
    expect_list((const char *[]){"0", "A", "0", "B"}, 4, "item 1", "above zero");
    expect_list((const char *[]){"-1", "A", "2", "B"}, 4, "item 1", "'-1'");
    expect_list((const char *[]){"nan", "A", "1", "B"}, 4, "item 1", "'nan'");
    expect_list((const char *[]){"1", "A", "inf", "B"}, 4, "item 3", "'inf'");
    expect_list(NULL, 0, "empty", "prefix");
}

static tri_indexed_dataset *open_many(void)
{
    tri_indexed_dataset *file = NULL;
    case_ok(err, tri_indexed_dataset_create("golden/dataset/corpora/many_u16", &file, err));
    return file;
}

/* 0.001 and 0.999 of 1000 samples from two small files: in range, counts 1 and 999, wraps reported. */
static void test_lopsided(void **state)
{
    (void)state;
    tri_indexed_dataset *file = open_many();
    const tri_indexed_dataset *files[2] = {file, file};
    double weights[2] = {0.001, 0.999};
    struct tri_data_split split;
    tri_blend *blend = NULL;
    int counts[2] = {0, 0};
    struct tri_gpt_dataset_config config = {.seq_length = 8,
                                            .seed = 1234,
                                            .eod = -1,
                                            .pad = -1,
                                            .extra_token = true,
                                            .drop_last = true};
    case_ok(err, tri_data_split_parse("1,0,0", &split, err));
    struct tri_blend_request request = {.num = 2,
                                        .files = files,
                                        .weights = weights,
                                        .split = &split,
                                        .num_samples = 1000,
                                        .surplus = 0.005,
                                        .dataset = &config};
    case_ok(err, tri_blend_create(&request, &blend, err));
    for (int64_t k = 0; k < tri_blend_length(blend); k++) {
        int dataset;
        int64_t sample;
        tri_blend_locate(blend, k, &dataset, &sample);
        assert_true(sample < tri_gpt_dataset_length(tri_blend_dataset(blend, dataset)));
        counts[dataset]++;
    }
    assert_in_range(counts[0], 0, 2);
    assert_in_range(counts[1], 998, 1000);
    assert_int_equal(tri_error_note_count(err), 1);
    assert_non_null(strstr(tri_error_note_message(err, 0), "is read"));
    tri_blend_destroy(&blend);
    tri_error_clear(err);

    request.num_samples = -1;
    case_expect(err, tri_blend_create(&request, &blend, err), TRI_INVALID, "number of samples",
                NULL);
    request.num_samples = 5;
    request.part = TRI_DATA_VALID;
    case_expect(err, tri_blend_create(&request, &blend, err), TRI_INVALID, "validation part",
                "has 0 tokens", NULL);
    tri_indexed_dataset_destroy(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_lopsided),
    };
    err = tri_error_create();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tri_error_destroy(&err);
    return failed;
}
