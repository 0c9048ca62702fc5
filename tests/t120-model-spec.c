/* SPDX-License-Identifier: Apache-2.0 */
/* The tree, the default decision, overrides by path, and what is printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-sizing.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),       cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_bad_overrides), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_print),         cmocka_unit_test(test_different_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
