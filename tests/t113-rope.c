/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotary frequencies against transformers' own (golden/rope.json), from a config.json through the options
 * to the numbers that a layer turns by, at small and very late positions; sections, layers that do not
 * turn, windows by layer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shape/attention.h"
#include "spec/family.h"
#include "spec/modules.h"
#include "t1-sizing.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* Reads a llama config.json of 2 layers with these settings. */
static tri_status read_config(json_t *rope, double base, int64_t width, int64_t longest,
                              bool is_newer, tri_error *err, struct tri_gpt_config *config)
{
    json_t *root = json_pack(
        "{ss si sI sI si si si sI}", "model_type", "llama", "num_hidden_layers", 2, "hidden_size",
        (json_int_t)(2 * width), "head_dim", (json_int_t)width, "intermediate_size", 8,
        "num_attention_heads", 2, "vocab_size", 11, "max_position_embeddings", (json_int_t)longest);
    json_t *object = json_deep_copy(rope);
    json_object_set_new(is_newer ? object : root, "rope_theta", json_real(base));
    json_object_set_new(root, is_newer ? "rope_parameters" : "rope_scaling", object);
    char *text = json_dumps(root, 0);
    tri_status status = tri_hf_config_read(tri_family_find("llama")->config, text, strlen(text),
                                           "config.json", err, config);
    free(text);
    json_decref(root);
    return status;
}

/* What layer turns by in the model that config describes. */
static struct tri_rope_spec rope_of(const struct tri_gpt_config *config, int layer)
{
    struct tri_model_spec *spec = spec_of(config);
    const struct tri_module_spec *node =
        tri_module_spec_child(&spec->units[1 + layer], "self_attention");
    struct tri_rope_spec rope = ((const struct tri_self_attention_params *)node->params)->rope;
    tri_model_spec_destroy(&spec);
    return rope;
}

/* Cosines and sines where the frequency has the reference's bits; one unit in the last place of it is more
   than a turn at late positions. */
static void check_tables(const json_t *golden, const json_t *positions, const float *frequency,
                         float factor, int64_t i)
{
    size_t p;
    json_t *position;
    json_array_foreach(positions, p, position)
    {
        float angle = (float)json_integer_value(position) * frequency[i];
        const json_t *c = json_array_get(json_object_get(golden, "cos"), p);
        const json_t *s = json_array_get(json_object_get(golden, "sin"), p);
        double cosine = json_number_value(json_array_get(c, (size_t)i));
        double sine = json_number_value(json_array_get(s, (size_t)i));
        assert_float_equal((double)((float)cos((double)angle) * factor), cosine, 3e-7);
        assert_float_equal((double)((float)sin((double)angle) * factor), sine, 3e-7);
    }
}

static void check_case(json_t *golden, const json_t *positions, bool is_newer)
{
    tri_error *err = tri_error_create();
    struct tri_gpt_config config;
    int64_t width = (int64_t)number(golden, "width"), length = (int64_t)number(golden, "length");
    json_t *scaling = json_object_get(golden, "rope");
    assert_int_equal(read_config(scaling, number(golden, "base"), width,
                                 (int64_t)number(golden, "max_position_embeddings"), is_newer, err,
                                 &config),
                     TRI_OK);
    struct tri_rope_spec rope = rope_of(&config, 0);
    assert_int_equal(rope.width, width);
    float *frequency = malloc((size_t)width * sizeof(float));
    tri_rope_frequencies(&rope, length, frequency);
    double factor = tri_rope_attention_factor(&rope);
    assert_true(fabs(factor - number(golden, "attention_factor")) < 1e-12);
    int64_t num_others = 0;
    for (int64_t i = 0; i < width / 2; i++) {
        const json_t *list = json_object_get(golden, "frequency");
        float want = (float)json_number_value(json_array_get(list, (size_t)i));
        assert_true(fabsf(frequency[i] - want) <= want * 1.2e-7f);
        if (frequency[i] == want)
            check_tables(golden, positions, frequency, (float)factor, i);
        else
            num_others++;
    }
    assert_true(num_others <= width / 32); /* powers are correct to the last place but one */
    free(frequency);
    tri_error_destroy(&err);
}

static void every_kind_is_that_of_the_reference(void **state)
{
    json_t *root = json_load_file("golden/rope.json", 0, NULL), *golden;
    assert_non_null(root);
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, golden)
    {
        check_case(golden, json_object_get(root, "positions"), true);
        check_case(golden, json_object_get(root, "positions"), false);
    }
    json_decref(root);
    (void)state;
}

/* What is read is written and read again. */
static void scaling_survives_the_trip(void **state)
{
    json_t *root = json_load_file("golden/rope.json", 0, NULL), *golden;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, golden)
    {
        tri_error *err = tri_error_create();
        struct tri_gpt_config config, back;
        char *text = NULL;
        assert_int_equal(read_config(json_object_get(golden, "rope"), number(golden, "base"),
                                     (int64_t)number(golden, "width"),
                                     (int64_t)number(golden, "max_position_embeddings"), true, err,
                                     &config),
                         TRI_OK);
        assert_int_equal(tri_gpt_config_write_hf(&config, "float32", NULL, err, &text), TRI_OK);
        assert_int_equal(tri_hf_config_read(tri_family_find("llama")->config, text, strlen(text),
                                            "config.json", err, &back),
                         TRI_OK);
        struct tri_rope_spec a = rope_of(&config, 1), b = rope_of(&back, 1);
        assert_memory_equal(&a, &b, sizeof(a));
        free(text);
        tri_error_destroy(&err);
    }
    json_decref(root);
    (void)state;
}

static void expect_refused(const char *rope, const char *message)
{
    tri_error *err = tri_error_create();
    struct tri_gpt_config config;
    json_t *object = json_loads(rope, 0, NULL);
    assert_non_null(object);
    assert_int_not_equal(read_config(object, 10000, 8, 64, true, err, &config), TRI_OK);
    assert_true(error_says(err, message));
    json_decref(object);
    tri_error_destroy(&err);
}

static void bad_scalings_are_refused(void **state)
{
    expect_refused("{\"rope_type\":\"linear\"}",
                   "'rope_scaling.factor' is missing; rope_type \"linear\" needs it");
    expect_refused("{\"rope_type\":\"linear\",\"factor\":0}",
                   "'rope_parameters.factor' is 0; it must");
    expect_refused("{\"rope_type\":\"linear\",\"factor\":\"2\"}",
                   "'rope_parameters.factor' is \"2\"; it");
    expect_refused("{\"rope_type\":\"llama3\",\"factor\":8}",
                   "'rope_scaling.low_freq_factor' is missing");
    expect_refused(
        "{\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,\"high_freq_factor\":1,"
        "\"original_max_position_embeddings\":64}",
        "'rope_low_freq_factor' 4 must be below 'rope_high_freq_factor' 1");
    expect_refused("{\"rope_type\":\"su\",\"factor\":8}",
                   "'rope_type' \"su\" is not in this build");
    expect_refused("{\"rope_type\":7}", "must be a text");
    expect_refused("{\"rope_type\":\"yarn\",\"type\":\"linear\",\"factor\":2}",
                   "and 'type' differ");
    expect_refused("{\"rope_type\":\"yarn\",\"factor\":2,\"original_max_position_embeddings\":1.5}",
                   "'original_max_position_embeddings' 1.5 is no number of positions");
    expect_refused("{\"rope_type\":\"yarn\",\"factor\":2,\"beta_fast\":1,\"beta_slow\":2}",
                   "'beta_slow' 2 must not be above 'beta_fast' 1");
    expect_refused("{\"rope_type\":\"default\",\"short_factor\":[1]}",
                   "'rope_parameters.short_factor' [1] is not in this build");
    expect_refused("{\"rope_type\":\"dynamic\",\"factor\":0.5}",
                   "'rope_dynamic_factor' 0.5 needs to be 1");
    expect_refused(
        "{\"mrope_section\":[1,2,3]}",
        "'mrope_section' has 3 numbers that add up to 6; mrope needs three that add up to 4");
    expect_refused("{\"mrope_section\":[1,2]}", "three whole numbers");
    (void)state;
}

static void sections_and_layers_without_positions(void **state)
{
    struct tri_gpt_config c = shape_llama(4, 32, 4, 2, 64, 11);
    struct tri_attention_config *a = &c.transformer.attention;
    a->no_rope_freq = (struct tri_option_list){.num = 1, .value = {4}};
    a->mrope_section = (struct tri_option_list){.num = 3, .value = {1, 2, 1}};
    c.position_embedding_type = TRI_POSITION_MROPE;
    tri_gpt_config_resolve(&c);
    assert_int_equal(tri_gpt_config_check(&c, NULL), TRI_OK);
    assert_int_equal(rope_of(&c, 2).width, 8);
    assert_int_equal(rope_of(&c, 2).sections[1], 2);
    assert_int_equal(rope_of(&c, 3).width, 0);
    a->no_rope_freq = (struct tri_option_list){.num = 4, .value = {1, 0, 1, 0}};
    assert_int_equal(rope_of(&c, 0).width, 0);
    assert_int_equal(rope_of(&c, 1).width, 8);
    (void)state;
}

static void windows_by_layer(void **state)
{
    tri_error *err = tri_error_create();
    struct tri_gpt_config c = shape_llama(4, 32, 4, 2, 64, 11);
    struct tri_attention_config *a = &c.transformer.attention;
    a->window_size = (struct tri_option_list){.num = 1, .value = {6}};
    tri_gpt_config_resolve(&c);
    for (int i = 0; i < 4; i++)
        assert_int_equal(tri_layer_window(&c, i), 7);
    a->window_attn_skip_freq = (struct tri_option_list){.num = 1, .value = {2}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(tri_layer_window(&c, i), i % 2 == 0 ? 7 : 0);
    a->window_attn_skip_freq = (struct tri_option_list){.num = 4, .value = {0, 0, 1, 1}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(tri_layer_window(&c, i), i >= 2 ? 7 : 0);
    a->window_attn_skip_freq = (struct tri_option_list){.num = 3};
    a->window_size.value[1] = 1;
    a->no_rope_freq = (struct tri_option_list){.num = 1, .value = {3}};
    assert_int_equal(tri_gpt_config_check(&c, err), TRI_INVALID);
    assert_int_equal(tri_error_count(err), 3);
    assert_true(error_says(err, "'window_attn_skip_freq' has 3 entries for 4 layers"));
    assert_true(error_says(err, "'window_size' 6,1 would look ahead"));
    assert_true(error_says(err, "'no_rope_freq' 3 does not divide 'num_layers' 4"));
    tri_error_destroy(&err);
    (void)state;
}

/* The rows of qwen2's keys (N-09). */
static void check_qwen2(const char *keys, int num_layers, const int64_t *windows,
                        const char *message)
{
    tri_error *err = tri_error_create();
    struct tri_gpt_config c, back;
    char text[1024], *written = NULL;
    const struct tri_hf_family *family = tri_family_find("qwen2")->config;
    snprintf(text, sizeof(text),
             "{\"model_type\":\"qwen2\",\"hidden_size\":16,\"num_attention_heads\":2,"
             "\"num_key_value_heads\":2,\"intermediate_size\":8,\"vocab_size\":11,"
             "\"max_position_embeddings\":8,\"num_hidden_layers\":%d,%s}",
             num_layers, keys);
    tri_status status = tri_hf_config_read(family, text, strlen(text), "config.json", err, &c);
    if (message) {
        assert_int_not_equal(status, TRI_OK);
        assert_true(error_says(err, message));
        tri_error_destroy(&err);
        return;
    }
    assert_int_equal(status, TRI_OK);
    for (int i = 0; i < num_layers; i++)
        assert_int_equal(tri_layer_window(&c, i), windows[i]);
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        assert_int_equal(
            tri_gpt_config_write_hf(&c, "float32", is_kept ? text : NULL, err, &written), TRI_OK);
        assert_int_equal(
            tri_hf_config_read(family, written, strlen(written), "config.json", err, &back),
            TRI_OK);
        for (int i = 0; i < num_layers; i++)
            assert_int_equal(tri_layer_window(&back, i), windows[i]);
        free(written);
    }
    tri_error_destroy(&err);
}

static void windows_that_are_switched_off(void **state)
{
    check_qwen2("\"sliding_window\":2,\"use_sliding_window\":false", 1, (int64_t[]){0}, NULL);
    check_qwen2("\"sliding_window\":2,\"use_sliding_window\":true,\"max_window_layers\":0", 1,
                (int64_t[]){2}, NULL);
    check_qwen2("\"sliding_window\":2,\"use_sliding_window\":true,\"max_window_layers\":1", 1,
                (int64_t[]){0}, NULL);
    check_qwen2("\"sliding_window\":5,\"use_sliding_window\":true,\"max_window_layers\":1", 3,
                (int64_t[]){0, 5, 5}, NULL);
    check_qwen2("\"sliding_window\":5,\"use_sliding_window\":true,\"max_window_layers\":1,"
                "\"layer_types\":[\"sliding_attention\",\"full_attention\",\"sliding_attention\"]",
                3, (int64_t[]){5, 0, 5}, NULL);
    check_qwen2("\"sliding_window\":0,\"use_sliding_window\":true", 1, NULL,
                "'sliding_window' is 0");
    check_qwen2("\"sliding_window\":null,\"layer_types\":[\"sliding_attention\"]", 1, NULL,
                "'layer_types' has \"sliding_attention\", but 'sliding_window' is off");
    check_qwen2("\"sliding_window\":4,\"use_sliding_window\":true,\"layer_types\":[\"chunked\"]", 1,
                NULL, "'layer_types' is [\"chunked\"]");
    check_qwen2("\"sliding_window\":4,\"use_sliding_window\":true,\"layer_types\":[]", 1, NULL,
                "'layer_types' is []");
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_that_of_the_reference),
        cmocka_unit_test(scaling_survives_the_trip),
        cmocka_unit_test(bad_scalings_are_refused),
        cmocka_unit_test(sections_and_layers_without_positions),
        cmocka_unit_test(windows_by_layer),
        cmocka_unit_test(windows_that_are_switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
