/* SPDX-License-Identifier: Apache-2.0 */
/* The tree, the default decision, overrides by path, and what is printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-sizing.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static struct tri_spec_config spec_config(const char *override)
{
    struct tri_spec_config config;
    tri_option_set_defaults(&tri_spec_options, &config);
    snprintf(config.override, sizeof(config.override), "%s", override);
    return config;
}

static struct tri_model_spec *make(const char *override, tri_error *err)
{
    struct tri_gpt_config shape = shape_gpt2(5, 48, 4, 101, 40);
    struct tri_spec_config config = spec_config(override);
    struct tri_model_spec *spec = NULL;
    tri_error_clear(err);
    tri_model_spec_create(&shape, &config, err, &spec);
    return spec;
}

static const struct tri_module_spec *at(const struct tri_model_spec *spec, int layer,
                                        const char *slot, const char *inner)
{
    const struct tri_module_spec *node = tri_module_spec_child(&spec->units[layer + 1], slot);
    return inner ? tri_module_spec_child(node, inner) : node;
}

static void test_default(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_model_spec *spec = make("", err);
    assert_int_equal(spec->num_units, 7);
    assert_string_equal(spec->unit_path[6], "head");
    assert_string_equal(spec->shape.family, "gpt2");
    const struct tri_module_spec *node = at(spec, 4, "mlp", "linear_fc1");
    assert_string_equal(node->module, "column_linear");
    assert_string_equal(node->implementation, "fused");
    assert_string_equal(node->reason, "transformer_impl fused");
    assert_null(tri_module_spec_child(node, "nothing"));
    tri_model_spec_destroy(&spec);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

static void test_overrides(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_model_spec *spec = make("decoder.layers[*].self_attention.core_attention=plain\n"
                                       "decoder.layers[1:3].mlp=local\n"
                                       "decoder.layers[2].mlp.linear_fc2=fused\n"
                                       "decoder.layers.4.input_layernorm=plain\n"
                                       "decoder.final_layernorm=plain",
                                       err);
    assert_non_null(spec);
    for (int layer = 0; layer < 5; layer++) {
        const char *mlp = layer == 1 || layer == 2 ? "plain" : "fused";
        assert_string_equal(at(spec, layer, "self_attention", "core_attention")->implementation,
                            "plain");
        assert_string_equal(at(spec, layer, "self_attention", "linear_qkv")->implementation,
                            "fused");
        assert_string_equal(at(spec, layer, "mlp", NULL)->implementation, mlp);
        assert_string_equal(at(spec, layer, "mlp", "linear_fc1")->implementation, mlp);
        assert_string_equal(at(spec, layer, "mlp", "linear_fc2")->implementation,
                            layer == 1 ? "plain" : "fused");
        assert_string_equal(at(spec, layer, "input_layernorm", NULL)->implementation,
                            layer == 4 ? "plain" : "fused");
    }
    assert_string_equal(at(spec, 1, "mlp", "linear_fc1")->reason,
                        "override decoder.layers[1:3].mlp");
    assert_string_equal(tri_module_spec_child(&spec->units[6], "final_layernorm")->implementation,
                        "plain");
    tri_model_spec_destroy(&spec);
    spec = make("decoder.layers[:2].*=plain\noutput_layer=plain", err);
    assert_string_equal(at(spec, 1, "self_attn_bda", NULL)->implementation, "plain");
    assert_string_equal(at(spec, 2, "self_attn_bda", NULL)->implementation, "fused");
    assert_string_equal(spec->units[2].implementation, "fused"); /* the layer itself */
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

static void test_bad_overrides(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    assert_null(make("decoder.layers[*].mlp.fc1=plain\ndecoder.layers[7].mlp=plain\n"
                     "decoder.layers[x].mlp=plain\nmlp=fast\nhead\n..=plain",
                     err));
    assert_int_equal(tri_error_count(err), 6);
    assert_true(error_says(err, "pattern 'decoder.layers[*].mlp.fc1' matches no module of the 5 "
                                "layers 0 to 4; near are 'decoder.layers[*].mlp'"));
    assert_true(error_says(err, "'decoder.layers[*].mlp.linear_fc1'"));
    assert_true(error_says(err, "pattern 'decoder.layers[7].mlp' matches no module"));
    assert_true(error_says(err, "pattern 'decoder.layers[x].mlp' is not a path like"));
    assert_true(
        error_says(err, "implementation 'fast', which is not in this build; use fused or plain"));
    assert_true(error_says(err, "item 'head' names no implementation"));
    assert_true(error_says(err, "pattern '..' is not a path like"));
    tri_error_destroy(&err);
}

static void test_refused(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_gpt2(5, 48, 5, 101, 40);
    struct tri_spec_config config = spec_config("");
    struct tri_model_spec *spec = NULL;
    config.transformer_impl = TRI_IMPL_INFERENCE_OPTIMIZED;
    assert_int_equal(tri_model_spec_create(&shape, &config, err, &spec), TRI_INVALID);
    assert_true(
        error_says(err, "layer spec 'inference_optimized', which 'transformer_impl' asks for, is "
                        "not in this build; leave that out and use 'transformer_impl' fused "
                        "or plain"));
    assert_true(error_says(err, "'num_attention_heads' 5 does not divide 'hidden_size' 48"));
    tri_error_clear(err);
    shape = shape_gpt2(1, 48, 4, 101, 40);
    snprintf(shape.family, sizeof(shape.family), "%s", "bloom");
    assert_int_equal(tri_model_spec_create(&shape, NULL, err, &spec), TRI_INVALID);
    assert_true(error_says(err, "'family' 'bloom' is not known; use gpt2, llama, "));
    assert_null(spec);
    tri_error_clear(err);
    shape = shape_gpt2(1, 48, 4, 101, 40);
    shape.transformer.normalization = TRI_NORM_RMSNORM;
    assert_int_equal(tri_model_spec_create(&shape, NULL, err, &spec), TRI_OK);
    assert_true(error_notes(err, "no Hugging Face family in this build (gpt2, llama, "));
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

/* The printed tree, for the caller to free(). */
static char *printed(const struct tri_model_spec *spec, bool json)
{
    char *text = NULL;
    size_t bytes = 0;
    tri_error *err = tri_error_create();
    FILE *out = open_memstream(&text, &bytes);
    struct tri_sizing_input input = sizing_input(spec, 1, false);
    assert_int_equal(json ? tri_model_spec_print_json(out, spec, &input, err)
                          : tri_model_spec_print(out, spec, &input, err),
                     TRI_OK);
    fclose(out);
    tri_error_destroy(&err);
    return text;
}

static void test_print(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_model_spec *spec = make("decoder.layers[2].mlp.activation=plain", err);
    char *text = printed(spec, false);
    assert_non_null(strstr(text, "\ndecoder.layers[0:2,3:5] "));
    assert_non_null(strstr(text, "\ndecoder.layers.2 "));
    assert_non_null(strstr(text, "override decoder.layers[2].mlp.activation  function gelu_tanh, "
                                 "size 192\n"));
    assert_non_null(strstr(text, "  in 48, out 144, bias, init 0.02, q 48, k 48, v 48\n"));
    assert_non_null(strstr(text, "  tokens 101, size 48, positions 40, dropout 0.1, init 0.02\n"));
    assert_non_null(strstr(text, "embedding 4848, positions 1920,"));
    free(text);
    tri_model_spec_destroy(&spec);
    /* the label of layers that are the same is a pattern */
    spec =
        make("decoder.layers[0:2,3:5].mlp=plain\ndecoder.layers[2,4].input_layernorm=plain", err);
    assert_string_equal(at(spec, 1, "mlp", NULL)->implementation, "plain");
    assert_string_equal(at(spec, 2, "mlp", NULL)->implementation, "fused");
    assert_string_equal(at(spec, 4, "mlp", NULL)->implementation, "plain");
    assert_string_equal(at(spec, 4, "input_layernorm", NULL)->implementation, "plain");
    assert_string_equal(at(spec, 3, "input_layernorm", NULL)->implementation, "fused");
    tri_model_spec_destroy(&spec);
    assert_null(make("decoder.layers[0:2,].mlp=plain\ndecoder.layers[0,2.mlp=plain", err));
    assert_int_equal(tri_error_count(err), 2);
    assert_true(error_says(err, "'decoder.layers[0:2,].mlp' is not a path like"));
    tri_error_destroy(&err);
}

/* What one layer may have and its neighbours not: each is seen, and where it is. */
static void windows(struct tri_gpt_config *shape)
{
    shape->transformer.attention.window_size = (struct tri_option_list){.num = 2, .value = {6, 0}};
    shape->transformer.attention.window_attn_skip_freq =
        (struct tri_option_list){.num = 1, .value = {3}};
}
static void layers_without_rope(struct tri_gpt_config *shape)
{
    shape->transformer.attention.no_rope_freq =
        (struct tri_option_list){.num = 6, .value = {0, 0, 1, 0, 0, 1}};
}
static void local_base(struct tri_gpt_config *shape)
{
    windows(shape);
    shape->rotary_base_local = 500;
    shape->transformer.attention.window_size.value[0] =
        63; /* longer than the sample: no other flops */
}
static void own_groups(struct tri_gpt_config *shape)
{
    shape->transformer.layer_query_groups =
        (struct tri_option_list){.num = 6, .value = {2, 2, 4, 2, 2, 4}};
}
static void own_widths(struct tri_gpt_config *shape)
{
    shape->transformer.layer_ffn_sizes =
        (struct tri_option_list){.num = 6, .value = {80, 80, 96, 80, 80, 96}};
}
static void own_kinds(struct tri_gpt_config *shape)
{
    shape->transformer.layer_ffn_sizes =
        (struct tri_option_list){.num = 6, .value = {-1, -1, 0, -1, -1, 0}};
}

static void test_different_layers(void **state)
{
    (void)state;
    static const struct {
        void (*change)(struct tri_gpt_config *shape);
        const char *here, *there; /* what layers 0, 1, 3, 4 say, and layers 2 and 5 */
        const char *json;
    } kinds[] = {
        {windows, "scale 0.2886751346, window 7\n", "scale 0.2886751346\n", "\"window\": 7"},
        {layers_without_rope, "rope plain, turning 12, base 10000\n", "rope none\n",
         "\"rope\": \"none\""},
        {local_base, "base 500\n", "base 10000\n", "\"base\": 500"},
        {own_groups, "heads 4, groups 2,", "heads 4, groups 4,", "\"groups\": 4"},
        {own_widths, "function silu, gated, size 80\n", "function silu, gated, size 96\n",
         "\"size\": 96"},
        {own_kinds, "whole_linear", "  input_layernorm", "\"kind\": \"whole_linear\""},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct tri_gpt_config shape = shape_llama(6, 48, 4, 2, 80, 101);
        shape.transformer.attention_dropout = 0;
        kinds[i].change(&shape);
        struct tri_model_spec *spec = spec_of(&shape);
        char *text = printed(spec, false), *json = printed(spec, true);
        const char *first = strstr(text, "\ndecoder.layers[0:2,3:5] ");
        const char *second = strstr(text, "\ndecoder.layers[2,5] ");
        const char *here = strstr(text, kinds[i].here);
        if (!first || !second || !here || here < first || here > second ||
            !strstr(second, kinds[i].there) || !strstr(json, kinds[i].json))
            fail_msg("kind %zu: layers are not told apart:\n%s", i, text);
        free(text);
        free(json);
        tri_model_spec_destroy(&spec);
    }
}

/* Megatron-LM's num_floating_point_operations() worked out for whole batches (its vocabulary is padded). */
static void test_flops(void **state)
{
    (void)state;
    static const struct {
        int64_t layers, hidden, heads, groups, ffn, vocab, length, batch;
        bool gated, has_output_gate;
        double flops;
    } known[] = {
        {24, 1024, 16, 16, 4096, 50304, 1024, 512, false, false, 1191183409741824.0},
        {32, 4096, 32, 8, 14336, 128256, 8192, 128, true, false, 53970627761012736.0},
        {32, 4096, 32, 8, 14336, 128256, 8192, 128, true, true, 57348327481540608.0},
        {2, 16, 4, 4, 64, 128, 8, 4, false, false, 1622016.0},
        {2, 16, 4, 2, 48, 128, 8, 4, true, false, 1622016.0},
    };
    tri_error *err = tri_error_create();
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct tri_gpt_config shape = shape_llama(known[i].layers, known[i].hidden, known[i].heads,
                                                  known[i].groups, known[i].ffn, known[i].vocab);
        shape.transformer.gated_linear_unit = known[i].gated;
        shape.transformer.attention.attention_output_gate = known[i].has_output_gate;
        shape.max_position_embeddings = known[i].length;
        shape.untie_embeddings_and_output_weights = i % 2 == 1; /* counts the same */
        struct tri_model_spec *spec = spec_of(&shape);
        double flops;
        assert_int_equal(tri_model_flops_per_token(spec, known[i].length, err, &flops), TRI_OK);
        flops *= (double)(known[i].length * known[i].batch);
        if (fabs(flops / known[i].flops - 1) > 1e-12)
            fail_msg("model %zu: %.17g flops, by the formula %.17g", i, flops, known[i].flops);
        tri_model_spec_destroy(&spec);
    }
    tri_error_destroy(&err);
}

/* Sums of a printed tree's numbers, and the node at path. */
static void sum_nodes(const json_t *node, const char *path, double sums[2], const json_t **found)
{
    const json_t *child;
    size_t i;
    sums[0] += json_number_value(json_object_get(node, "parameters"));
    sums[1] += json_number_value(json_object_get(node, "flops_forward"));
    if (strcmp(json_string_value(json_object_get(node, "path")), path) == 0)
        *found = node;
    json_array_foreach(json_object_get(node, "modules"), i, child)
        sum_nodes(child, path, sums, found);
}

static void check_node(const json_t *root, const char *path, double parameters, double flops)
{
    const json_t *unit, *node = NULL;
    double sums[2] = {0, 0};
    size_t i;
    json_array_foreach(json_object_get(root, "units"), i, unit) sum_nodes(unit, path, sums, &node);
    if (!node)
        fail_msg("no node %s", path);
    assert_float_equal(json_number_value(json_object_get(node, "parameters")), parameters, 0);
    assert_float_equal(json_number_value(json_object_get(node, "flops_forward")), flops, 1e-6);
    assert_float_equal(sums[0], json_number_value(json_object_get(root, "parameters")), 0);
    double tokens = 16, all = json_number_value(json_object_get(root, "flops_per_token"));
    assert_float_equal(sums[1], all / 3 * tokens, 1e-3);
}

/* What the tree says of each node, by hand: h 48, 4 heads and 2 groups of width 10, sample of 16. */
static void test_sizes_by_hand(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_llama(3, 48, 4, 2, 72, 101);
    struct tri_model_spec *spec = NULL;
    char *text = NULL;
    size_t bytes = 0;
    shape.seq_length = 16;
    shape.make_vocab_size_divisible_by = 1;
    shape.transformer.kv_channels = 10;
    shape.transformer.add_qkv_bias = true;
    shape.transformer.attention.window_size = (struct tri_option_list){.num = 2, .value = {4, 0}};
    shape.transformer.attention.window_attn_skip_freq =
        (struct tri_option_list){.num = 3, .value = {1, 0, 1}};
    assert_int_equal(tri_model_spec_create(&shape, NULL, err, &spec), TRI_OK);
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(tri_model_spec_print_json(out, spec, NULL, err), TRI_OK);
    fclose(out);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    const double s = 16, h = 48, q = 40, kv = 20, F = 72;
    check_node(root, "embedding", 101 * h, 0);
    check_node(root, "decoder.layers.0.self_attention.linear_qkv", (h + 1) * (q + 2 * kv),
               2 * s * h * (q + 2 * kv));
    /* 5 keys of 16: the triangle without the one behind the window, 128 - 11 * 11 / 2 pairs */
    check_node(root, "decoder.layers.0.self_attention.core_attention", 0,
               4 * q * (16.0 * 16 / 2 - 11.0 * 11 / 2));
    check_node(root, "decoder.layers.1.self_attention.core_attention", 0, 4 * q * 16 * 16 / 2);
    check_node(root, "decoder.layers.1.self_attention.linear_proj", q * h, 2 * s * q * h);
    check_node(root, "decoder.layers.2.mlp.linear_fc1", h * 2 * F, 2 * s * h * 2 * F);
    check_node(root, "decoder.layers.2.mlp.linear_fc2", F * h, 2 * s * F * h);
    check_node(root, "decoder.layers.2.input_layernorm", h, 0);
    check_node(root, "output_layer", 101 * h, 2 * s * 101 * h);
    json_decref(root);
    free(text);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),       cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_bad_overrides), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_print),         cmocka_unit_test(test_different_layers),
        cmocka_unit_test(test_flops),         cmocka_unit_test(test_sizes_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
