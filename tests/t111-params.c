/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters: counts of known models, names, cuts, initial values and decay; the family's file tensors name
 * every one of them exactly once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-sizing.h"

#include "spec/family.h"

#include <math.h>
#include <stdlib.h>

static int64_t count_total(const struct tri_gpt_config *shape, int64_t *tensors)
{
    struct tri_model_spec *spec = spec_of(shape);
    struct tri_param_count count;
    assert_int_equal(tri_model_count_params(spec, NULL, &count), TRI_OK);
    assert_int_equal(count.total, count.embedding + count.positions + count.layers + count.head);
    if (tensors)
        *tensors = count.tensors;
    tri_model_spec_destroy(&spec);
    return count.total;
}

static void test_known_models(void **state)
{
    (void)state;
    struct tri_gpt_config gpt2 = shape_gpt2(12, 768, 12, 50257, 1024);
    struct tri_gpt_config llama2 = shape_llama(32, 4096, 32, 32, 11008, 32000);
    assert_int_equal(count_total(&gpt2, NULL), 124439808);
    assert_int_equal(count_total(&llama2, NULL), 6738415616);
    struct tri_model_spec *spec = spec_of(&gpt2);
    double flops;
    assert_int_equal(tri_model_flops_per_token(spec, 512, NULL, &flops), TRI_OK);
    assert_true(flops == 6.0 * (12 * 12.0 * 768 * 768 + 50304.0 * 768) + 6.0 * 12 * 768 * 512);
    tri_model_spec_destroy(&spec);
}

static void test_golden_cases(void **state)
{
    (void)state;
    struct tri_gpt_config config;
    assert_int_equal(tri_gpt_config_read_hf("golden/shape/gpt2.json", NULL, &config), TRI_OK);
    assert_int_equal(count_total(&config, NULL), 29728);
    assert_int_equal(tri_gpt_config_read_hf("golden/shape/llama.json", NULL, &config), TRI_OK);
    assert_int_equal(count_total(&config, NULL), 28512);
}

static const struct tri_param_spec *find_param(const struct tri_unit_size *size, const char *name)
{
    for (int i = 0; i < size->num_params; i++)
        if (strcmp(size->params[i].name, name) == 0)
            return &size->params[i];
    return NULL;
}

static void test_layer_cuts(void **state)
{
    (void)state;
    struct tri_gpt_config shape = shape_llama(2, 48, 4, 2, 72, 131);
    shape.transformer.add_qkv_bias = true;
    struct tri_model_spec *spec = spec_of(&shape);
    tri_arena *arena = tri_arena_create();
    struct tri_sizing_input input = sizing_input(spec, 2, true);
    struct tri_unit_size size;
    assert_int_equal(tri_size_unit(spec, 2, &input, arena, NULL, &size), TRI_OK);
    const struct tri_param_spec *p =
        find_param(&size, "decoder.layers.1.self_attention.linear_qkv.weight");
    assert_int_equal(p->num_parts, 3);
    assert_string_equal(p->parts[1].name, "k");
    assert_int_equal(p->parts[1].first, 48);
    assert_int_equal(p->parts[1].rows, 24);
    assert_int_equal(p->dims[0], 96);
    assert_int_equal(p->local_dims[0], 48);
    assert_int_equal(p->local_dims[1], 48);
    assert_true(p->init == TRI_INIT_NORMAL && p->init_std == 0.02 && p->weight_decay);
    p = find_param(&size, "decoder.layers.1.self_attention.linear_qkv.bias");
    assert_int_equal(p->num_parts, 3);
    assert_int_equal(p->local_dims[0], 48);
    assert_true(p->init == TRI_INIT_ZERO && !p->weight_decay && p->num_dims == 1);
    p = find_param(&size, "decoder.layers.1.mlp.linear_fc1.weight");
    assert_string_equal(p->parts[0].name, "gate");
    assert_int_equal(p->parts[1].first, 72);
    p = find_param(&size, "decoder.layers.1.mlp.linear_fc2.weight");
    assert_int_equal(p->cut_dim, 1);
    assert_int_equal(p->local_dims[0], 48);
    assert_int_equal(p->local_dims[1], 36);
    assert_true(fabs(p->init_std - 0.01) < 1e-15);
    assert_null(find_param(&size, "decoder.layers.1.mlp.linear_fc2.bias"));
    p = find_param(&size, "decoder.layers.1.input_layernorm.weight");
    assert_int_equal(p->cut_dim, -1);
    assert_int_equal(p->sum_axes, TRI_AXES(TRI_AXIS_TP));
    assert_true(p->init == TRI_INIT_ONE && !p->weight_decay);
    input = sizing_input(spec, 2, false);
    assert_int_equal(tri_size_unit(spec, 2, &input, arena, NULL, &size), TRI_OK);
    assert_int_equal(find_param(&size, "decoder.layers.1.input_layernorm.weight")->sum_axes, 0);
    tri_arena_destroy(&arena);
    tri_model_spec_destroy(&spec);
}

/* Gates lie behind the queries and are cut like them; what is held twice comes last. */
static void test_gate_cuts(void **state)
{
    (void)state;
    struct tri_gpt_config shape = shape_llama(1, 48, 4, 2, 72, 131);
    shape.transformer.attention.attention_output_gate = true;
    struct tri_model_spec *spec = spec_of(&shape);
    tri_arena *arena = tri_arena_create();
    struct tri_sizing_input input = sizing_input(spec, 4, false);
    struct tri_unit_size size;
    int64_t first;
    static const char *const names[] = {"q", "gate", "k", "v"};
    static const int64_t firsts[] = {0, 48, 96, 120}, shares[] = {12, 12, 12, 12};
    assert_int_equal(tri_size_unit(spec, 1, &input, arena, NULL, &size), TRI_OK);
    const struct tri_param_spec *p =
        find_param(&size, "decoder.layers.0.self_attention.linear_qkv.weight");
    assert_int_equal(p->dims[0], 144);
    assert_int_equal(p->num_parts, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(p->parts[i].name, names[i]);
        assert_int_equal(p->parts[i].first, firsts[i]);
        assert_int_equal(tri_part_share(&p->parts[i], 4), shares[i]);
        assert_int_equal(tri_part_copies(&p->parts[i]), i < 2 ? 1 : 2);
    }
    assert_int_equal(p->local_dims[0], 48);
    assert_int_equal(tri_param_copies(p, 4, &first), 2);
    assert_int_equal(first, 24);
    tri_arena_destroy(&arena);
    tri_model_spec_destroy(&spec);
}

static void test_tables(void **state)
{
    (void)state;
    struct tri_gpt_config shape = shape_gpt2(1, 48, 4, 101, 40);
    struct tri_model_spec *spec = spec_of(&shape);
    tri_arena *arena = tri_arena_create();
    struct tri_sizing_input input = sizing_input(spec, 2, true);
    struct tri_unit_size size;
    const char *words = "embedding.word_embeddings.weight";
    assert_int_equal(tri_size_unit(spec, 0, &input, arena, NULL, &size), TRI_OK);
    const struct tri_param_spec *p = find_param(&size, words);
    assert_int_equal(p->dims[0], 101);
    assert_int_equal(p->padded_rows, 256);
    assert_int_equal(p->local_dims[0], 128);
    assert_int_equal(p->num_parts, 1);
    assert_int_equal(p->parts[0].rows, 256);
    p = find_param(&size, "embedding.position_embeddings.weight");
    assert_int_equal(p->cut_dim, -1);
    assert_int_equal(p->sum_axes, TRI_AXES(TRI_AXIS_TP));
    assert_int_equal(tri_size_unit(spec, 2, &input, arena, NULL, &size), TRI_OK);
    assert_int_equal(size.num_params, 2); /* the final norm's; the table is the embedding's */
    assert_string_equal(size.params[0].name, "decoder.final_layernorm.weight");
    input.shared_head = false;
    assert_int_equal(tri_size_unit(spec, 2, &input, arena, NULL, &size), TRI_OK);
    assert_true(find_param(&size, words)->tied_copy);
    tri_model_spec_destroy(&spec);
    shape.untie_embeddings_and_output_weights = true;
    spec = spec_of(&shape);
    input = sizing_input(spec, 2, true);
    assert_int_equal(tri_size_unit(spec, 2, &input, arena, NULL, &size), TRI_OK);
    p = find_param(&size, "output_layer.weight");
    assert_int_equal(p->padded_rows, 256);
    assert_false(p->tied_copy);
    tri_arena_destroy(&arena);
    tri_model_spec_destroy(&spec);
}

/* Adds up what the family's table says about one logical parameter: parts that it names, or all of it. */
static void check_in_files(const struct tri_family *family, const struct tri_param_spec *param)
{
    char pattern[256];
    int64_t layer = 0, rows = 0;
    snprintf(pattern, sizeof(pattern), "%s", param->name);
    char *number = strstr(pattern, "layers.");
    if (number) {
        char *rest;
        number += strlen("layers.");
        layer = strtoll(number, &rest, 10);
        char tail[256];
        snprintf(tail, sizeof(tail), "%s", rest);
        snprintf(number, sizeof(pattern) - (size_t)(number - pattern), "{}%s", tail);
    }
    for (int i = 0; i < family->files->num_tensors; i++) {
        if (strcmp(family->files->tensors[i].logical, pattern) != 0)
            continue;
        if (!family->files->tensors[i].part)
            rows += param->dims[0];
        for (int j = 0; family->files->tensors[i].part && j < param->num_parts; j++)
            if (strcmp(param->parts[j].name, family->files->tensors[i].part) == 0)
                rows += param->parts[j].rows;
    }
    assert_true(layer >= 0);
    assert_int_equal(rows, param->dims[0]);
}

static void test_every_parameter_is_in_the_files(void **state)
{
    (void)state;
    struct tri_gpt_config shapes[] = {shape_gpt2(2, 48, 4, 101, 40),
                                      shape_llama(2, 48, 4, 2, 72, 131), shape_gpt2(1, 8, 1, 9, 4),
                                      shape_llama(1, 48, 4, 2, 72, 131)};
    shapes[2].untie_embeddings_and_output_weights = true;
    shapes[3].transformer.add_bias_linear = true;
    tri_arena *arena = tri_arena_create();
    for (int i = 0; i < 4; i++) {
        struct tri_model_spec *spec = spec_of(&shapes[i]);
        struct tri_sizing_input input = sizing_input(spec, 1, false);
        for (int unit = 0; unit < spec->num_units; unit++) {
            struct tri_unit_size size;
            assert_int_equal(tri_size_unit(spec, unit, &input, arena, NULL, &size), TRI_OK);
            for (int j = 0; j < size.num_params; j++)
                check_in_files(tri_family_find(spec->shape.family), &size.params[j]);
        }
        tri_model_spec_destroy(&spec);
    }
    tri_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_models), cmocka_unit_test(test_golden_cases),
        cmocka_unit_test(test_layer_cuts),   cmocka_unit_test(test_tables),
        cmocka_unit_test(test_gate_cuts),    cmocka_unit_test(test_every_parameter_is_in_the_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
