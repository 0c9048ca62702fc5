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

static void test_print(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_model_spec *spec = make("decoder.layers[2].mlp.activation=plain", err);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    struct tri_sizing_input input = sizing_input(spec, 1, false);
    assert_int_equal(tri_model_spec_print(out, spec, &input, err), TRI_OK);
    fclose(out);
    assert_non_null(strstr(text, "\ndecoder.layers[0:2] "));
    assert_non_null(strstr(text, "\ndecoder.layers.2 "));
    assert_non_null(strstr(text, "\ndecoder.layers[3:5] "));
    assert_non_null(strstr(text, "override decoder.layers[2].mlp.activation\n"));
    assert_non_null(strstr(text, "embedding 4848, positions 1920,"));
    free(text);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),       cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_bad_overrides), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
