/* SPDX-License-Identifier: Apache-2.0 */
/* Document, sample and shuffle index and the samples themselves against Megatron's, entry by entry;
   splits that are empty or too small. */
#include "t70-big.h"

#include "data/gpt_dataset.h"
#include "data/split.h"

#include <zlib.h>

static tri_error *err;

static tri_indexed_dataset *open_corpus(const char *name)
{
    char path[128];
    tri_indexed_dataset *file = NULL;
    snprintf(path, sizeof(path), "golden/dataset/corpora/%s", name);
    case_ok(err, tri_indexed_dataset_create(path, &file, err));
    return file;
}

static void check_array(const char *name, const json_t *expected,
                        const struct tri_index_array *found)
{
    int32_t *values = malloc((size_t)found->num * sizeof(*values));
    for (int64_t i = 0; i < found->num; i++)
        values[i] = (int32_t)tri_index_array_get(found, i);
    case_same_ids(name, expected, values, found->num);
    free(values);
}

static void check_sample(const char *name, const json_t *samples, size_t k, int64_t S,
                         const struct tri_gpt_sample *found)
{
    const json_t *mask = json_array_get(json_object_get(samples, "loss_mask"), k);
    const json_t *visible = json_array_get(json_object_get(samples, "first_visible_key"), k);
    case_same_ids(name, json_array_get(json_object_get(samples, "tokens"), k), found->tokens, S);
    case_same_ids(name, json_array_get(json_object_get(samples, "labels"), k), found->labels, S);
    case_same_ids(name, json_array_get(json_object_get(samples, "position_ids"), k),
                  found->positions, S);
    int64_t start = 0;
    for (int64_t i = 0; i < S; i++) {
        assert_true(json_number_value(json_array_get(mask, (size_t)i)) == found->loss_mask[i]);
        if (i > 0 && found->segments[i] != found->segments[i - 1])
            start = i;
        if (visible)
            assert_int_equal(json_integer_value(json_array_get(visible, (size_t)i)), start);
    }
}

static void check_part(const json_t *one, const json_t *part, const tri_gpt_dataset *dataset,
                       int64_t S)
{
    const struct tri_gpt_index *index = tri_gpt_dataset_index(dataset);
    const char *name = case_text(one, "name");
    case_same_ids(name, json_object_get(part, "document_index"), index->documents,
                  index->num_documents);
    check_array(name, json_object_get(part, "sample_index"), &index->samples);
    check_array(name, json_object_get(part, "shuffle_index"), &index->shuffle);
    assert_int_equal(tri_gpt_dataset_length(dataset), case_int(part, "length"));
    int32_t tokens[64], labels[64], positions[64], segments[64];
    float mask[64];
    struct tri_gpt_sample sample = {tokens, labels, mask, positions, segments};
    const json_t *samples = json_object_get(part, "samples");
    for (size_t k = 0; k < json_array_size(json_object_get(samples, "tokens")); k++) {
        case_ok(err, tri_gpt_dataset_read(dataset, (int64_t)k, &sample, err));
        check_sample(name, samples, k, S, &sample);
    }
}

static void check_case(const json_t *one)
{
    static const char *const parts[3] = {"train", "valid", "test"};
    struct tri_data_split split;
    tri_indexed_dataset *file = open_corpus(case_text(one, "corpus"));
    case_ok(err, tri_data_split_parse(case_text(one, "split"), &split, err));
    for (int p = 0; p < 3; p++) {
        const json_t *part = json_object_get(json_object_get(one, "parts"), parts[p]);
        const json_t *wanted = json_array_get(json_object_get(one, "num_samples"), (size_t)p);
        if (!json_is_object(part) || json_object_get(part, "rejected"))
            continue;
        const json_t *pad = json_object_get(part, "pad_id");
        struct tri_gpt_dataset_config config = {
            .seq_length = case_int(one, "seq_length"),
            .seed = case_int(one, "seed"),
            .vocab_size = case_int(one, "vocab_size"),
            .eod = (int32_t)case_int(one, "eod"),
            .pad = json_is_integer(pad) ? (int32_t)json_integer_value(pad) : -1,
            .extra_token = case_flag(one, "add_extra_token_to_sequence"),
            .drop_last = p != 1 || case_flag(one, "drop_last_partial_validation_sequence"),
            .reset_position_ids = case_flag(one, "reset_position_ids"),
            .reset_attention_mask = case_flag(one, "reset_attention_mask"),
            .eod_mask_loss = case_flag(one, "eod_mask_loss"),
        };
        int64_t first, end;
        tri_gpt_dataset *dataset = NULL;
        tri_data_split_range(&split, (enum tri_data_part)p,
                             tri_indexed_dataset_idx(file)->num_sequences, &first, &end);
        assert_int_equal(first, case_int(part, "first"));
        assert_int_equal(end, case_int(part, "end"));
        case_ok(err, tri_gpt_dataset_create(file, first, end,
                                            json_is_null(wanted) ? -1 : json_integer_value(wanted),
                                            &config, case_text(one, "name"), &dataset, err));
        check_part(one, part, dataset, config.seq_length);
        tri_gpt_dataset_destroy(&dataset);
    }
    tri_indexed_dataset_destroy(&file);
}

static void test_cases(void **state)
{
    (void)state;
    json_t *file = case_load("golden/dataset/gpt.json"), *one;
    size_t i;
    json_array_foreach(json_object_get(file, "cases"), i, one) check_case(one);
    json_decref(file);
}

struct big_part {
    const char *split;
    int part;
    int64_t num_samples, seed, epochs, length;
    uint32_t documents, samples, shuffle, stream;
};

static uint32_t stream_crc(const tri_gpt_dataset *dataset, int64_t S)
{
    int32_t tokens[65], labels[64], positions[64];
    float mask[64];
    struct tri_gpt_sample sample = {tokens, labels, mask, positions, NULL};
    uLong crc = crc32(0, NULL, 0);
    int64_t num = tri_gpt_dataset_length(dataset);
    for (int64_t k = 0; k < num && k < 200; k++) {
        case_ok(err, tri_gpt_dataset_read(dataset, k, &sample, err));
        for (int64_t i = 0; i < 2 * S; i++) {
            int64_t wide = i < S ? tokens[i] : labels[i - S];
            crc = crc32(crc, (const Bytef *)&wide, sizeof(wide));
        }
    }
    return (uint32_t)crc;
}

static void check_big(const tri_indexed_dataset *file, const struct big_part *big)
{
    struct tri_data_split split;
    struct tri_gpt_dataset_config config = {.seq_length = 64,
                                            .seed = big->seed,
                                            .eod = -1,
                                            .pad = -1,
                                            .extra_token = true,
                                            .drop_last = true};
    int64_t first, end;
    tri_gpt_dataset *dataset = NULL;
    case_ok(err, tri_data_split_parse(big->split, &split, err));
    tri_data_split_range(&split, (enum tri_data_part)big->part, 1000, &first, &end);
    case_ok(err, tri_gpt_dataset_create(file, first, end, big->num_samples, &config, "big",
                                        &dataset, err));
    const struct tri_gpt_index *index = tri_gpt_dataset_index(dataset);
    assert_int_equal(index->num_epochs, big->epochs);
    assert_int_equal(index->num_samples, big->length);
    assert_int_equal(crc32(0, (const Bytef *)index->documents, (uInt)index->num_documents * 4),
                     big->documents);
    assert_false(index->samples.wide || index->shuffle.wide);
    assert_int_equal(crc32(0, index->samples.data, (uInt)index->samples.num * 4), big->samples);
    assert_int_equal(crc32(0, index->shuffle.data, (uInt)index->shuffle.num * 4), big->shuffle);
    assert_int_equal(stream_crc(dataset, 64), big->stream);
    tri_gpt_dataset_destroy(&dataset);
}

static void test_big(void **state)
{
    (void)state;
    static const struct big_part parts[] = {
        {"969,30,1", 0, 3000, 1234, 5, 3710, 0x54353d16, 0x2d1489f1, 0x7477afca, 0x2c4862bf},
        {"969,30,1", 1, 100, 1234, 5, 114, 0x30fd901a, 0x12ea994f, 0xda73a815, 0x2a5b41a7},
        {"969,30,1", 2, 10, 1234, 13, 10, 0x9e37f64a, 0xc065fad3, 0x27ddf70c, 0x1fe7cdbc},
        {"1,0,0", 0, 3000, 42, 4, 3063, 0x6440e8bb, 0xbf2a6547, 0x66547544, 0xbd40c16e},
        {"1,0,0", 0, 2500, 42, 4, 3063, 0x5e03875a, 0x33312c3b, 0x276f31e3, 0x9b05793f},
    };
    tri_indexed_dataset *file = NULL;
    case_write_big(err);
    case_ok(err, tri_indexed_dataset_create(case_path("big"), &file, err));
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        check_big(file, &parts[i]);
    tri_indexed_dataset_destroy(&file);
}

/* An empty part with samples asked of it made the reference loop for ever. */
static void test_refused(void **state)
{
    (void)state;
    struct tri_gpt_dataset_config config = {
        .seq_length = 8, .seed = 1, .eod = -1, .pad = -1, .extra_token = true, .drop_last = true};
    tri_indexed_dataset *file = open_corpus("small_u16");
    tri_gpt_dataset *dataset = NULL;
    case_expect(err, tri_gpt_dataset_create(file, 10, 10, 3, &config, "the part", &dataset, err),
                TRI_INVALID, "the part has 0 tokens", "needed are 25", NULL);
    case_expect(err, tri_gpt_dataset_create(file, 10, 11, 3, &config, "the part", &dataset, err),
                TRI_INVALID, "0 tokens", NULL);
    case_expect(err, tri_gpt_dataset_create(file, 11, 12, -1, &config, "the part", &dataset, err),
                TRI_INVALID, "has 1 tokens", "needs 9", NULL);
    config.seed = INT64_C(4294967296);
    case_expect(err, tri_gpt_dataset_create(file, 0, 15, 3, &config, "x", &dataset, err),
                TRI_INVALID, "seed 4294967296", NULL);
    config.seed = -1;
    case_expect(err, tri_gpt_dataset_create(file, 0, 15, 3, &config, "x", &dataset, err),
                TRI_INVALID, "seed -1", NULL);
    config = (struct tri_gpt_dataset_config){
        .seq_length = 8, .vocab_size = 100, .extra_token = true, .drop_last = true};
    int32_t ints[9], labels[8], positions[8];
    float mask[8];
    struct tri_gpt_sample sample = {ints, labels, mask, positions, NULL};
    case_ok(err, tri_gpt_dataset_create(file, 0, 15, 3, &config, "x", &dataset, err));
    case_expect(err, tri_gpt_dataset_read(dataset, 0, &sample, err), TRI_INVALID, "small_u16.bin",
                "vocabulary size 100", NULL);
    tri_gpt_dataset_destroy(&dataset);
    tri_indexed_dataset_destroy(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_big),
        cmocka_unit_test(test_refused),
    };
    err = tri_error_create();
    int failed = cmocka_run_group_tests(tests, case_dir_create, case_dir_remove);
    tri_error_destroy(&err);
    return failed;
}
