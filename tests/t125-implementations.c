/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implementations of a module besides those that all modules have, in the registry and from outside: which row
 * stands behind a node and whose operations it takes, what an override may ask for, and what is said about it.
 * That such a one runs, and that nothing else changes, is in t861-layers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* This program's registry has two rows more. */
#define TRI_MORE_MODULES(X) X(tiled) X(fused_tanh)
#include "spec/registry.c"

#include "t1-shapes.h"

#include "base/json.h"
#include "spec/implementation.h"
#include "spec/layer.h"
#include "spec/model_spec.h"

#include <stdlib.h>

static void one_row(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    (void)node;
    tri_sizer_row2(sizer, TRI_ROW_SAVED_INPUT, "one", 3, 5);
}

static void two_rows(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    one_row(sizer, node);
    tri_sizer_row2(sizer, TRI_ROW_SAVED_INPUT, "two", 3, 5);
}

/* One with a name of its own, and one for a name that all modules have. */
const struct tri_module_row tri_spec_tiled = {
    .name = "row_linear", .implementation = "tiled", .kernels = "fused", .describe = one_row};
const struct tri_module_row tri_spec_fused_tanh = {
    .name = "activation", .implementation = "fused", .describe = one_row};

static const struct tri_module_row mine = {.name = "activation", .describe = two_rows};
static const struct tri_module_row mine_linear = {
    .name = "row_linear", .kernels = "fused", .describe = two_rows};
static const struct tri_extension extensions[] = {
    {.implementation = "mine", .module_row = &mine},
    {.implementation = "tiled", .module_row = &mine_linear},
};

static struct tri_spec_config overridden(const char *text, int num_extensions)
{
    struct tri_spec_config config = {.num_extensions = 0};
    tri_option_set_defaults(&tri_spec_options, &config);
    config.extensions = extensions;
    config.num_extensions = num_extensions;
    snprintf(config.override, sizeof(config.override), "%s", text);
    return config;
}

static void test_extensions_then_the_own_row_then_the_default(void **state)
{
    (void)state;
    static const struct {
        const char *module, *implementation;
        int num_extensions;
        const struct tri_module_row *row;
        const char *kernels;
        bool exists;
    } cases[] = {
        {"row_linear", "plain", 0, &tri_spec_row_linear, "plain", true},
        {"row_linear", "fused", 2, &tri_spec_row_linear, "fused", true},
        {"row_linear", "tiled", 0, &tri_spec_tiled, "fused", true},
        {"row_linear", "tiled", 2, &mine_linear, "fused", true},
        {"row_linear", "mine", 2, &tri_spec_row_linear, "mine", false},
        {"activation", "fused", 0, &tri_spec_fused_tanh, "fused", true},
        {"activation", "plain", 0, &tri_spec_activation, "plain", true},
        {"activation", "mine", 2, &mine, "plain", true},
        {"activation", "mine", 0, &tri_spec_activation, "mine", false},
        {"activation", "tiled", 2, &tri_spec_activation, "tiled", false},
        {"no module", "fused", 2, NULL, "fused", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct tri_module_spec node = {.module = cases[i].module,
                                             .implementation = cases[i].implementation};
        int num = cases[i].num_extensions;
        assert_ptr_equal(tri_implementation_row(extensions, num, &node), cases[i].row);
        assert_string_equal(tri_implementation_kernels(extensions, num, &node), cases[i].kernels);
        assert_int_equal(tri_implementation_exists(extensions, num, &node), cases[i].exists);
    }
    assert_ptr_equal(tri_module_row_find("activation", NULL), &tri_spec_activation);
    assert_null(tri_module_row_get(-1));
}

static void check_list(const char *module, int num_extensions, const char *expected)
{
    char text[128];
    tri_implementation_format(extensions, num_extensions, module, text, sizeof(text));
    assert_string_equal(text, expected);
}

static void test_what_a_module_has(void **state)
{
    (void)state;
    check_list("mlp", 2, "fused or plain");
    check_list("activation", 0, "fused or plain");
    check_list("activation", 2, "fused, plain or mine");
    check_list("row_linear", 2, "fused, plain or tiled");
    check_list(NULL, 0, "fused, plain or tiled");
    check_list(NULL, 2, "fused, plain, tiled or mine");
    check_list("no module", 2, "");
}

static const char *implementation_at(const struct tri_model_spec *spec, int layer, const char *slot)
{
    const struct tri_module_spec *mlp =
        tri_module_spec_child(tri_model_spec_get_layer(spec, layer), "mlp");
    return slot ? tri_module_spec_child(mlp, slot)->implementation : mlp->implementation;
}

static int saved_rows(const struct tri_model_spec *spec, int layer, const char *name)
{
    tri_arena *arena = tri_arena_create();
    tri_error *err = tri_error_create();
    struct tri_sizing_input input = {.shape = &spec->shape,
                                     .split = {.tp = 1, .sp = 1, .cp = 1, .ep = 1, .etp = 1},
                                     .micro_batch_size = 2,
                                     .seq_length = 8,
                                     .team_size = 1};
    struct tri_unit_size size;
    assert_int_equal(tri_size_unit(spec, layer + 1, &input, arena, err, &size), TRI_OK);
    int count = 0;
    for (int i = 0; i < size.num_rows; i++)
        count += strcmp(size.rows[i].name, name) == 0;
    tri_arena_destroy(&arena);
    tri_error_destroy(&err);
    return count;
}

/* A name goes to the modules that have it, and to no other. */
static void test_an_override_goes_where_it_can(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_gpt2(2, 32, 4, 101, 16);
    struct tri_spec_config config =
        overridden("decoder.layers[*]=plain\ndecoder.layers[1].mlp=tiled", 0);
    struct tri_model_spec *spec = NULL;
    assert_int_equal(tri_model_spec_create(&shape, &config, err, &spec), TRI_OK);
    assert_string_equal(implementation_at(spec, 0, "linear_fc2"), "plain");
    assert_string_equal(implementation_at(spec, 1, "linear_fc2"), "tiled");
    assert_string_equal(implementation_at(spec, 1, "linear_fc1"), "plain");
    assert_string_equal(implementation_at(spec, 1, "activation"), "plain");
    assert_string_equal(implementation_at(spec, 1, NULL), "plain");
    assert_int_equal(saved_rows(spec, 0, "one"), 0);
    assert_int_equal(saved_rows(spec, 1, "one"), 1);
    tri_model_spec_destroy(&spec);

    config = overridden("decoder.layers[0].mlp=tiled\ndecoder.layers[1]=mine", 2);
    assert_int_equal(tri_model_spec_create(&shape, &config, err, &spec), TRI_OK);
    assert_string_equal(implementation_at(spec, 0, "linear_fc2"), "tiled");
    assert_string_equal(implementation_at(spec, 1, "activation"), "mine");
    assert_int_equal(saved_rows(spec, 0, "two"), 1); /* the extension's row, not the registry's */
    assert_int_equal(saved_rows(spec, 1, "two"), 1);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

static void check_refused(const struct tri_gpt_config *shape, const char *text, tri_status status,
                          int count, const char *message)
{
    tri_error *err = tri_error_create();
    struct tri_spec_config config = overridden(text, 2);
    struct tri_model_spec *spec = NULL;
    assert_int_equal(tri_model_spec_create(shape, &config, err, &spec), status);
    assert_null(spec);
    assert_int_equal(tri_error_count(err), count);
    if (!error_says(err, message))
        fail_msg("'%s' is not said but '%s'", message, tri_error_message(err, count - 1));
    tri_error_destroy(&err);
}

static void test_what_a_module_has_not_is_refused(void **state)
{
    (void)state;
    struct tri_gpt_config shape = shape_gpt2(2, 32, 4, 101, 16);
    check_refused(&shape, "decoder.layers[*].mlp.linear_fc2=mine", TRI_INVALID, 1,
                  "'override' pattern 'decoder.layers[*].mlp.linear_fc2' matches no module "
                  "'activation', which is what implementation 'mine' is of; module 'row_linear' "
                  "has fused, plain or tiled");
    check_refused(&shape, "decoder.layers[0].self_attention.core_attention=tiled", TRI_INVALID, 1,
                  "matches no module 'row_linear', which is what implementation 'tiled' is of; "
                  "module 'dot_product_attention' has fused or plain");
    check_refused(&shape, "decoder.layers[*].mlp.activatoin=mine", TRI_INVALID, 1,
                  "matches no module of the 2 layers 0 to 1; near are "
                  "'decoder.layers[*].mlp.activation'");
    check_refused(&shape, "decoder.layers[*].mlp=quick", TRI_UNSUPPORTED, 1,
                  "asks for implementation 'quick', which is not in this build; use fused, plain, "
                  "tiled or mine");
    check_refused(&shape, "decoder.layers[.mlp=quick", TRI_UNSUPPORTED, 2,
                  "'override' pattern 'decoder.layers[.mlp' is not a path");
}

/* What needs no shape is said beside what is wrong with the shape; the rest waits for one. */
static void test_faults_are_said_beside_those_of_the_shape(void **state)
{
    (void)state;
    struct tri_gpt_config shape = shape_gpt2(2, 32, 4, 101, 16), family = shape;
    shape.transformer.num_attention_heads = 5;
    const char *text = "decoder.layers[*].mlp=quick\ndecoder.=plain\nhead=\n"
                       "decoder.layers[7].mlp=plain\nhead=mine";
    check_refused(&shape, text, TRI_INVALID, 4, "'num_attention_heads' 5");
    check_refused(&shape, text, TRI_INVALID, 4, "asks for implementation 'quick'");
    check_refused(&shape, text, TRI_INVALID, 4, "'override' pattern 'decoder.' is not a path");
    check_refused(&shape, text, TRI_INVALID, 4, "'override' item 'head=' names no implementation");
    snprintf(family.family, sizeof(family.family), "gpt5");
    check_refused(&family, "head=quick", TRI_INVALID, 2, "'family' 'gpt5' is not known");
    check_refused(&family, "head=quick", TRI_INVALID, 2, "asks for implementation 'quick'");
    family = shape_gpt2(2, 32, 4, 101, 16);
    family.transformer.num_experts = 8;
    check_refused(&family, "head=quick", TRI_UNSUPPORTED, 2, "layer spec 'moe_block'");
    check_refused(&family, "head=quick", TRI_UNSUPPORTED, 2, "asks for implementation 'quick'");
}

/* A layer's function may name what its module has. */
static tri_status make_layer(void *user, const struct tri_gpt_config *shape,
                             const struct tri_layer_place *place, tri_error *err,
                             struct tri_module_spec *layer)
{
    (void)shape;
    return place->layer == 1 ? tri_layer_spec_override(layer, user, "tiled", err) : TRI_OK;
}

static void test_a_function_names_one(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_gpt2(2, 32, 4, 101, 16);
    struct tri_layer_source source = {.make = make_layer, .user = "mlp.linear_fc2"};
    struct tri_model_spec *spec = NULL;
    assert_int_equal(tri_model_spec_create_layers(&shape, NULL, &source, err, &spec), TRI_OK);
    assert_string_equal(implementation_at(spec, 1, "linear_fc2"), "tiled");
    tri_model_spec_destroy(&spec);
    source.user = "mlp";
    assert_int_equal(tri_model_spec_create_layers(&shape, NULL, &source, err, &spec),
                     TRI_UNSUPPORTED);
    assert_int_equal(tri_error_count(err), 1);
    assert_true(error_says(err, "the layer's spec asks for implementation 'tiled' of "
                                "'decoder.layers.1.mlp' (module 'mlp'), which is not in this "
                                "build; use fused or plain"));
    tri_error_destroy(&err);
}

static const json_t *part(const json_t *node, const char *slot)
{
    size_t i;
    const json_t *child;
    json_array_foreach(json_object_get(node, "modules"), i,
                       child) if (strcmp(json_string_value(json_object_get(child, "slot")), slot) ==
                                  0) return child;
    fail_msg("no part '%s'", slot);
    return NULL;
}

static void test_it_is_printed_with_why(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_gpt2(2, 32, 4, 101, 16);
    struct tri_spec_config config = overridden("decoder.layers[1].mlp.activation=mine", 2);
    struct tri_model_spec *spec = NULL;
    char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(tri_model_spec_create(&shape, &config, err, &spec), TRI_OK);
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(tri_model_spec_print(out, spec, NULL, err), TRI_OK);
    fclose(out);
    const char *line = strstr(text, "activation             mine ");
    assert_non_null(line);
    assert_ptr_equal(strstr(line, "override decoder.layers[1].mlp.activation, operations plain"),
                     strstr(line, "override"));
    free(text);

    json_t *root = NULL;
    out = open_memstream(&text, &bytes);
    assert_int_equal(tri_model_spec_print_json(out, spec, NULL, err), TRI_OK);
    fclose(out);
    assert_int_equal(tri_json_read_text(text, bytes, "spec", err, &root), TRI_OK);
    const json_t *mlp = part(json_array_get(json_object_get(root, "units"), 2), "mlp");
    const json_t *node = part(mlp, "activation");
    assert_string_equal(json_string_value(json_object_get(node, "implementation")), "mine");
    assert_string_equal(json_string_value(json_object_get(node, "operations")), "plain");
    assert_string_equal(json_string_value(json_object_get(mlp, "operations")), "fused");
    json_decref(root);
    free(text);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extensions_then_the_own_row_then_the_default),
        cmocka_unit_test(test_what_a_module_has),
        cmocka_unit_test(test_an_override_goes_where_it_can),
        cmocka_unit_test(test_what_a_module_has_not_is_refused),
        cmocka_unit_test(test_faults_are_said_beside_those_of_the_shape),
        cmocka_unit_test(test_a_function_names_one),
        cmocka_unit_test(test_it_is_printed_with_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
