/* SPDX-License-Identifier: Apache-2.0 */
/* Samplers against Megatron's sample numbers; microbatches: the same samples on any grid, masked
   labels, repeatable reads. */
#include "t70-cases.h"

#include "data/batch.h"

static tri_error *err;

static void check_rank(const json_t *one, const json_t *batches, int64_t rank)
{
    bool single = strcmp(case_text(one, "sampler"), "sequential") == 0;
    struct tri_sampler_config config = {
        .kind = single ? TRI_SAMPLER_SINGLE : TRI_SAMPLER_CYCLIC,
        .total = case_int(one, "total"),
        .micro_batch = case_int(one, "mbs"),
        .dp_size = case_int(one, "dp"),
        .dp_rank = rank,
        .data_sharding = case_flag(one, "shard"),
    };
    tri_sampler *sampler = NULL;
    int64_t consumed = case_int(one, "consumed"), samples[8];
    case_ok(err, tri_sampler_create(&config, &sampler, err));
    json_t *batch;
    size_t m;
    json_array_foreach(batches, m, batch)
    {
        case_ok(err, tri_sampler_read(sampler, consumed, samples, err));
        for (size_t i = 0; i < json_array_size(batch); i++)
            assert_int_equal(samples[i], json_integer_value(json_array_get(batch, i)));
        consumed += config.micro_batch * config.dp_size;
    }
    if (single)
        case_expect(err, tri_sampler_read(sampler, consumed, samples, err), TRI_INVALID,
                    "no samples left", NULL);
    tri_sampler_destroy(&sampler);
}

static void test_samplers(void **state)
{
    (void)state;
    json_t *file = case_load("golden/dataset/samplers.json"), *one, *batches;
    size_t i, rank;
    json_array_foreach(json_object_get(file, "cases"), i, one)
    {
        if (strcmp(case_text(one, "sampler"), "full_validation") == 0)
            continue;
        json_array_foreach(json_object_get(one, "batches_by_rank"), rank, batches)
            check_rank(one, batches, (int64_t)rank);
    }
    json_decref(file);
}

static void test_sampler_refused(void **state)
{
    (void)state;
    struct tri_sampler_config config = {
        .kind = TRI_SAMPLER_CYCLIC, .total = 37, .micro_batch = 2, .dp_size = 2};
    tri_sampler *sampler = NULL;
    int64_t samples[2];
    case_ok(err, tri_sampler_create(&config, &sampler, err));
    case_expect(err, tri_sampler_read(sampler, 38, samples, err), TRI_INVALID, "38", "multiple",
                NULL);
    tri_sampler_destroy(&sampler);
    config.total = 3;
    case_expect(err, tri_sampler_create(&config, &sampler, err), TRI_INVALID, "3 samples",
                "needs 4", NULL);
}

enum { S = 10, SAMPLES = 24 };

struct batch {
    int32_t tokens[SAMPLES * S], labels[SAMPLES * S], positions[SAMPLES * S], segments[SAMPLES * S];
    float weights[SAMPLES * S];
    int64_t ids[SAMPLES];
};

static struct tri_batch_view view_of(struct batch *batch, int64_t sample)
{
    return (struct tri_batch_view){
        .tokens = batch->tokens + sample * S,
        .labels = batch->labels + sample * S,
        .loss_weights = batch->weights + sample * S,
        .positions = batch->positions + sample * S,
        .segments = batch->segments + sample * S,
        .sample_ids = batch->ids + sample,
    };
}

/* Reads SAMPLES samples on a grid of dp ranks and puts each at its place in the run's order. */
static int64_t read_grid(const tri_blend *blend, int64_t mbs, int64_t dp, struct batch *all)
{
    int64_t counted = 0, tokens;
    for (int64_t rank = 0; rank < dp; rank++) {
        struct tri_batch_config config = {
            .blend = blend, .seq_length = S, .micro_batch = mbs, .dp_size = dp, .dp_rank = rank};
        tri_batch_reader *reader = NULL;
        case_ok(err, tri_batch_reader_create(&config, &reader, err));
        for (int64_t m = 0; m < SAMPLES / (mbs * dp); m++) {
            struct tri_batch_view view = view_of(all, m * mbs * dp + rank * mbs);
            case_ok(err, tri_batch_reader_read(reader, 0, m, &view, &tokens, err));
            counted += tokens;
        }
        tri_batch_reader_destroy(&reader);
    }
    return counted;
}

static void test_grids(void **state)
{
    (void)state;
    tri_indexed_dataset *file = NULL;
    tri_blend *blend = NULL;
    struct tri_data_split split;
    static struct batch one, other;
    struct tri_gpt_dataset_config config = {.seq_length = S,
                                            .seed = 99,
                                            .vocab_size = 97,
                                            .eod = 96,
                                            .pad = 5,
                                            .extra_token = true,
                                            .drop_last = true,
                                            .reset_attention_mask = true,
                                            .eod_mask_loss = true};
    case_ok(err, tri_indexed_dataset_create("golden/dataset/corpora/many_u16", &file, err));
    case_ok(err, tri_data_split_parse("1", &split, err));
    const tri_indexed_dataset *files[1] = {file};
    struct tri_blend_request request = {
        .num = 1, .files = files, .split = &split, .num_samples = SAMPLES, .dataset = &config};
    case_ok(err, tri_blend_create(&request, &blend, err));
    int64_t counted = read_grid(blend, 1, 1, &one), masked = 0;
    for (int i = 0; i < SAMPLES * S; i++) {
        assert_int_equal(one.labels[i] < 0, one.weights[i] == 0.0f);
        masked += one.labels[i] < 0;
    }
    assert_true(masked > 0);
    assert_int_equal(counted + masked, SAMPLES * S);
    for (int i = 0; i < SAMPLES; i++)
        assert_int_equal(one.ids[i], i);
    static const int64_t grids[][2] = {{2, 1}, {1, 2}, {3, 2}, {2, 4}, {4, 3}};
    for (size_t g = 0; g < sizeof(grids) / sizeof(*grids); g++) {
        memset(&other, 0xff, sizeof(other));
        assert_int_equal(read_grid(blend, grids[g][0], grids[g][1], &other), counted);
        assert_memory_equal(&one, &other, sizeof(one));
    }
    tri_blend_destroy(&blend);
    tri_indexed_dataset_destroy(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samplers),
        cmocka_unit_test(test_sampler_refused),
        cmocka_unit_test(test_grids),
    };
    err = tri_error_create();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tri_error_destroy(&err);
    return failed;
}
