/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer layout: layouts recorded from Megatron-LM (golden/placement/layers.json), any number of
 * layers on any number of slices, and the field's cases of lost or contradicting layers.
 */
#include "placement/layout.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tri_placement_config config_make(int64_t pp)
{
    return (struct tri_placement_config){
        .tensor_model_parallel_size = 1,
        .pipeline_model_parallel_size = pp,
        .virtual_pipeline_model_parallel_size = TRI_UNSET,
        .num_layers_per_virtual_pipeline_stage = TRI_UNSET,
        .microbatch_group_size_per_vp_stage = TRI_UNSET,
        .decoder_first_pipeline_num_layers = TRI_UNSET,
        .decoder_last_pipeline_num_layers = TRI_UNSET,
        .ddp_bucket_size = TRI_UNSET,
        .team_size = TRI_UNSET,
    };
}

static int64_t optional(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : TRI_UNSET;
}

static void check_layers(const struct tri_layout *layout, const json_t *golden)
{
    assert_int_equal(layout->num_stages, json_array_size(golden));
    for (int stage = 0; stage < layout->num_stages; stage++) {
        const json_t *chunks = json_array_get(golden, (size_t)stage);
        assert_int_equal(layout->num_slices, json_array_size(chunks));
        for (int i = 0; i < layout->num_slices; i++) {
            const struct tri_slice_plan *slice = &layout->slices[stage * layout->num_slices + i];
            const json_t *layers = json_array_get(chunks, (size_t)i);
            int num = slice->num_units - slice->has_embedding - slice->has_head;
            assert_int_equal(num, json_array_size(layers));
            for (int k = 0; k < num; k++)
                assert_int_equal(slice->first_unit + slice->has_embedding + k,
                                 json_integer_value(json_array_get(layers, (size_t)k)));
        }
    }
}

/* Cases that need what trine does not have (prediction layers, accounting flags). */
static bool is_foreign(const json_t *item)
{
    const char *layout = json_string_value(json_object_get(item, "layout"));
    return json_is_integer(json_object_get(item, "mtp_num_layers")) ||
           json_object_get(item, "account_for_embedding_in_pipeline_split") ||
           json_object_get(item, "account_for_loss_in_pipeline_split") ||
           (layout && strchr(layout, 'm'));
}

static void test_layers_equal_megatron(void **state)
{
    (void)state;
    json_t *root = json_load_file("golden/placement/layers.json", 0, NULL);
    assert_non_null(root);
    size_t index;
    json_t *item;
    int checked = 0, refused = 0;
    json_array_foreach(json_object_get(root, "cases"), index, item)
    {
        if (is_foreign(item))
            continue;
        struct tri_placement_config config = config_make(optional(item, "pp"));
        const char *text = json_string_value(json_object_get(item, "layout"));
        config.virtual_pipeline_model_parallel_size = optional(item, "vp");
        config.decoder_first_pipeline_num_layers =
            optional(item, "num_layers_in_first_pipeline_stage");
        config.decoder_last_pipeline_num_layers =
            optional(item, "num_layers_in_last_pipeline_stage");
        if (text)
            snprintf(config.pipeline_model_parallel_layout, TRI_OPTION_TEXT, "%s", text);
        tri_arena *arena = tri_arena_create();
        tri_error *err = tri_error_create();
        struct tri_layout layout;
        tri_status status =
            tri_layout_plan(&config, optional(item, "num_layers"), arena, err, &layout);
        if (json_object_get(item, "layers")) {
            assert_int_equal(status, TRI_OK);
            check_layers(&layout, json_object_get(item, "layers"));
            checked++;
        } else if (text) { /* what does not divide is refused there and runs here */
            assert_int_equal(status, TRI_INVALID);
            refused++;
        }
        tri_error_destroy(&err);
        tri_arena_destroy(&arena);
    }
    assert_true(checked >= 10);
    assert_true(refused >= 4);
    json_decref(root);
}

/* Every layer once, counts of stages and slices within one, no empty slice where layers suffice. */
static void check_even(int num_layers, int pp, int vp)
{
    struct tri_placement_config config = config_make(pp);
    config.virtual_pipeline_model_parallel_size = vp;
    tri_arena *arena = tri_arena_create();
    struct tri_layout layout;
    assert_int_equal(tri_layout_plan(&config, num_layers, arena, NULL, &layout), TRI_OK);
    int unit = 0, least = num_layers, most = 0, least_slice = num_layers, most_slice = 0;
    for (int i = 0; i < pp * vp; i++) {
        const struct tri_slice_plan *slice = &layout.slices[i % pp * vp + i / pp];
        assert_int_equal(slice->stage, i % pp);
        assert_int_equal(slice->index, i / pp);
        assert_int_equal(slice->first_unit, unit);
        unit += slice->num_units;
        int layers = slice->num_units - slice->has_embedding - slice->has_head;
        least_slice = layers < least_slice ? layers : least_slice;
        most_slice = layers > most_slice ? layers : most_slice;
        if (num_layers + 2 >= pp * vp)
            assert_true(slice->num_units > 0);
    }
    assert_int_equal(unit, num_layers + 2);
    for (int stage = 0; stage < pp; stage++) {
        int layers = 0;
        for (int i = 0; i < vp; i++) {
            const struct tri_slice_plan *slice = &layout.slices[stage * vp + i];
            layers += slice->num_units - slice->has_embedding - slice->has_head;
        }
        least = layers < least ? layers : least;
        most = layers > most ? layers : most;
    }
    assert_true(most - least <= 1 && most_slice - least_slice <= 1);
    tri_arena_destroy(&arena);
}

static void test_any_layers_on_any_slices(void **state)
{
    (void)state;
    for (int pp = 1; pp <= 9; pp++)
        for (int vp = 1; vp <= (pp == 1 ? 1 : 5); vp++)
            for (int layers = 1; layers <= 61; layers++)
                check_even(layers, pp, vp);
}

static void expect_counts(const struct tri_placement_config *config, int64_t num_layers, int num,
                          const int *counts)
{
    tri_arena *arena = tri_arena_create();
    struct tri_layout layout;
    assert_int_equal(tri_layout_plan(config, num_layers, arena, NULL, &layout), TRI_OK);
    assert_int_equal(layout.num_stages * layout.num_slices, num);
    for (int i = 0; i < num; i++) {
        const struct tri_slice_plan *slice = &layout.slices[i];
        assert_int_equal(slice->num_units - slice->has_embedding - slice->has_head, counts[i]);
    }
    tri_arena_destroy(&arena);
}

static void test_uneven_counts(void **state)
{
    (void)state;
    struct tri_placement_config config = config_make(2);
    expect_counts(&config, 7, 2, (const int[]){4, 3});
    config = config_make(3);
    expect_counts(&config, 10, 3, (const int[]){3, 4, 3});
    config = config_make(4);
    expect_counts(&config, 30, 4, (const int[]){7, 8, 8, 7});
    config.decoder_first_pipeline_num_layers = 4;
    config.decoder_last_pipeline_num_layers = 4;
    expect_counts(&config, 17, 4, (const int[]){4, 5, 4, 4});
    config = config_make(4);
    snprintf(config.pipeline_model_parallel_layout, TRI_OPTION_TEXT, "1, 2,2,3");
    expect_counts(&config, 8, 4, (const int[]){1, 2, 2, 3});
    config = config_make(2);
    config.num_layers_per_virtual_pipeline_stage = 2;
    expect_counts(&config, 8, 4, (const int[]){2, 2, 2, 2});
}

/* Refused with a message that holds every word of words ('|' between). */
static void expect_refusal(const struct tri_placement_config *config, int64_t num_layers,
                           const char *words)
{
    tri_arena *arena = tri_arena_create();
    tri_error *err = tri_error_create();
    struct tri_layout layout;
    assert_int_not_equal(tri_layout_plan(config, num_layers, arena, err, &layout), TRI_OK);
    assert_true(tri_error_count(err) > 0);
    char *copy = strdup(words), *rest = copy, *word;
    while ((word = strsep(&rest, "|")))
        if (!strstr(tri_error_message(err, 0), word))
            fail_msg("'%s' does not say '%s'", tri_error_message(err, 0), word);
    free(copy);
    tri_error_destroy(&err);
    tri_arena_destroy(&arena);
}

static void test_refusals(void **state)
{
    (void)state;
    struct tri_placement_config config = config_make(2);
    config.num_layers_per_virtual_pipeline_stage = 1;
    expect_refusal(&config, 5, "5 layers|2 stages|'num_layers_per_virtual_pipeline_stage' 1");
    config.virtual_pipeline_model_parallel_size = 2;
    expect_refusal(&config, 4, "set one");
    config = config_make(1);
    config.decoder_last_pipeline_num_layers = 1;
    expect_refusal(&config, 4, "'decoder_last_pipeline_num_layers' 1|4 layers|1 stages");
    config = config_make(1);
    config.virtual_pipeline_model_parallel_size = 2;
    expect_refusal(&config, 4, "'pipeline_model_parallel_size'|at least 2");
    config = config_make(2);
    config.decoder_first_pipeline_num_layers = 4;
    expect_refusal(&config, 4, "leave 0 of 4 layers");
    config = config_make(2);
    static const char *const texts[][2] = {
        {"Ett|ttm|L", "prediction layer 'm'"},
        {"E t|tttL", "has a ' '"},
        {"E((t)*2)*2|L", "has a '('"},
        {"Et*3*2|L", "has a '*'"},
        {"E(t|", "has a '('"},
        {"Ett|tt", "0 L"},
        {"ttE|ttL", "E must come first"},
        {"Ett|t", "exactly one L last"},
        {"Ett|t|tL", "3 slices"},
        {"Ett|ttL|", "exactly one L last"},
        {"2,1", "places 3 layers"},
        {"2,,2", "no list"},
        {"(t*99999)*99999", "longer than"},
        {"E(t)*99999999999999999999|L", "longer than"},
        {"2,2,", "no list"},
        {"99999999999999999999,1", "no list"},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        snprintf(config.pipeline_model_parallel_layout, TRI_OPTION_TEXT, "%s", texts[i][0]);
        expect_refusal(&config, 4, texts[i][1]);
    }
    snprintf(config.pipeline_model_parallel_layout, TRI_OPTION_TEXT, "Ett|ttL");
    config.decoder_first_pipeline_num_layers = 2;
    expect_refusal(&config, 4, "leave out");
    config.decoder_first_pipeline_num_layers = TRI_UNSET;
    config.virtual_pipeline_model_parallel_size = 2;
    expect_refusal(&config, 4, "1 slices per stage|is 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_equal_megatron),
        cmocka_unit_test(test_any_layers_on_any_slices),
        cmocka_unit_test(test_uneven_counts),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
