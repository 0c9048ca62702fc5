/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where layers come from and what becomes of them: the decision list, a spec or a function of the user, an
 * implementation from outside, one module replaced, layers of different sizes, initial values, JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-shapes.h"

#include "base/json.h"
#include "shape/heterogeneous.h"
#include "shape/mup.h"
#include "spec/describe.h"
#include "spec/layer.h"
#include "spec/model_spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tri_sizing_input uncut(const struct tri_model_spec *spec)
{
    return (struct tri_sizing_input){.shape = &spec->shape,
                                     .split = {.tp = 1, .sp = 1, .cp = 1, .ep = 1, .etp = 1},
                                     .micro_batch_size = 2,
                                     .seq_length = 8,
                                     .team_size = 1,
                                     .shared_head = true};
}

static struct tri_spec_config fused(void)
{
    struct tri_spec_config config = {.num_extensions = 0};
    tri_option_set_defaults(&tri_spec_options, &config);
    return config;
}

static void test_rules_refuse_by_name(void **state)
{
    (void)state;
    static const char *const order[] = {"inference_optimized",
                                        "quantised",
                                        "attention_variant",
                                        "moe_block",
                                        "heterogeneous",
                                        "fused",
                                        "plain"};
    for (int i = 0; i < 7; i++)
        assert_string_equal(tri_layer_rule_get(i), order[i]);
    assert_null(tri_layer_rule_get(7));
    for (int i = 0; i < 7; i++)
        assert_int_equal(tri_layer_rule_is_built(i), i >= 4);
    tri_error *err = tri_error_create();
    struct tri_model_spec *spec = NULL;
    for (int i = 0; i < 4; i++) {
        struct tri_gpt_config shape = shape_gpt2(2, 32, 4, 101, 16);
        struct tri_spec_config config = fused();
        char text[64];
        if (i == 0)
            config.transformer_impl = TRI_IMPL_INFERENCE_OPTIMIZED;
        if (i == 1)
            config.restore_modelopt_state = true;
        if (i == 2)
            snprintf(config.experimental_attention_variant,
                     sizeof(config.experimental_attention_variant), "gated_delta_net");
        if (i == 3)
            shape.transformer.num_experts = 8;
        tri_error_clear(err);
        assert_int_equal(tri_model_spec_create(&shape, &config, err, &spec), TRI_UNSUPPORTED);
        snprintf(text, sizeof(text), "layer spec '%s'", order[i]);
        assert_true(error_says(err, text));
    }
    tri_error_destroy(&err);
}

/* Notes the places that it was told and makes layer 1's MLP plain. */
struct told {
    int64_t layers;
    int stages[4], virtual_stages[4];
};
static tri_status make_layer(void *user, const struct tri_gpt_config *shape,
                             const struct tri_layer_place *place, tri_error *err,
                             struct tri_module_spec *layer)
{
    (void)shape;
    struct told *told = user;
    told->stages[told->layers] = place->stage;
    told->virtual_stages[told->layers++] = place->virtual_stage;
    return place->layer == 1 ? tri_layer_spec_override(layer, "mlp", "plain", err) : TRI_OK;
}

static void test_function_makes_layers(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_gpt2(3, 32, 4, 101, 16);
    const struct tri_layer_place places[] = {{0, 0, 0}, {1, 1, 0}, {2, 0, 1}};
    struct told told = {.layers = 0};
    struct tri_layer_source source = {.make = make_layer, .user = &told, .places = places};
    struct tri_model_spec *spec = NULL;
    assert_int_equal(tri_model_spec_create_layers(&shape, NULL, &source, err, &spec), TRI_OK);
    assert_int_equal(told.layers, 3);
    assert_int_equal(told.stages[1], 1);
    assert_int_equal(told.virtual_stages[2], 1);
    const struct tri_module_spec *mlp =
        tri_module_spec_child(tri_model_spec_get_layer(spec, 1), "mlp");
    assert_string_equal(tri_module_spec_child(mlp, "linear_fc2")->implementation, "plain");
    assert_string_equal(tri_model_spec_get_layer(spec, 1)->implementation, "fused");
    assert_string_equal(
        tri_module_spec_child(tri_model_spec_get_layer(spec, 2), "mlp")->implementation, "fused");

    /* a spec: layer 1 of that model, for every layer of another, which are numbered anew */
    struct tri_layer_source copies = {.spec = tri_model_spec_get_layer(spec, 1)};
    struct tri_model_spec *copied = NULL;
    assert_int_equal(tri_model_spec_create_layers(&shape, NULL, &copies, err, &copied), TRI_OK);
    for (int64_t i = 0; i < 3; i++) {
        const struct tri_module_spec *layer = tri_model_spec_get_layer(copied, i);
        const struct tri_bda_params *bda = tri_module_spec_child(layer, "mlp_bda")->params;
        assert_string_equal(tri_module_spec_child(layer, "mlp")->implementation, "plain");
        assert_int_equal(((const struct tri_layer_params *)layer->params)->layer, i);
        assert_int_equal(bda->layer, i);
    }
    tri_model_spec_destroy(&copied);
    shape.transformer.hidden_size = 48;
    assert_int_equal(tri_model_spec_create_layers(&shape, NULL, &copies, err, &copied),
                     TRI_INVALID);
    assert_int_equal(tri_error_count(err), 3);
    assert_true(error_says(err, "the spec of 'decoder.layers.2' is of a model with 'hidden_size' "
                                "32, this one has 48; use the same number"));
    tri_model_spec_destroy(&spec);
    tri_error_clear(err);
    struct tri_module_spec none = {.module = "mlp"};
    assert_int_equal(tri_layer_spec_override(&none, "linear_fc3", "plain", err), TRI_INVALID);
    assert_true(error_says(err, "'linear_fc3' of path 'linear_fc3' is no part of module 'mlp'"));
    tri_error_destroy(&err);
}

static tri_status make_unknown(void *user, const struct tri_gpt_config *shape,
                               const struct tri_layer_place *place, tri_error *err,
                               struct tri_module_spec *layer)
{
    (void)user;
    (void)shape;
    return place->layer == 1 ? tri_layer_spec_override(layer, "mlp.linear_fc2", "fast", err)
                             : TRI_OK;
}

static void test_function_asks_for_what_is_not_there(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_gpt2(3, 32, 4, 101, 16);
    struct tri_layer_source source = {.make = make_unknown};
    struct tri_model_spec *spec = NULL;
    assert_int_equal(tri_model_spec_create_layers(&shape, NULL, &source, err, &spec),
                     TRI_UNSUPPORTED);
    assert_int_equal(tri_error_count(err), 1);
    assert_true(error_says(err, "the layer's spec asks for implementation 'fast' of "
                                "'decoder.layers.1.mlp.linear_fc2' (module 'row_linear'), which is "
                                "not in this build; use fused or plain"));
    assert_null(spec);
    tri_error_destroy(&err);
}

static void same_but(const struct tri_module_spec *a, const struct tri_module_spec *b,
                     const char *changed, int *num)
{
    assert_string_equal(a->module, b->module);
    struct tri_settings of_a, of_b;
    tri_module_spec_settings(a, &of_a);
    tri_module_spec_settings(b, &of_b);
    assert_true(tri_settings_equal(&of_a, &of_b));
    assert_int_equal(a->num_children, b->num_children);
    if (strcmp(a->implementation, b->implementation) != 0) {
        assert_string_equal(a->slot, changed);
        (*num)++;
    }
    for (int i = 0; i < a->num_children; i++)
        same_but(&a->children[i], &b->children[i], changed, num);
}

/* Replacing core_attention in one layer changes nothing else: neither tree nor record of any unit; nor, in
   t861-layers, any other module's bits. */
static void test_surgery(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_gpt2(3, 32, 4, 101, 16);
    struct tri_model_spec *before = NULL, *after = NULL;
    assert_int_equal(tri_model_spec_create(&shape, NULL, err, &before), TRI_OK);
    assert_int_equal(tri_model_spec_create(&shape, NULL, err, &after), TRI_OK);
    assert_int_equal(tri_model_spec_override(
                         after, "decoder.layers[1].self_attention.core_attention", "plain", err),
                     TRI_OK);
    int num = 0;
    tri_arena *arena = tri_arena_create();
    for (int unit = 0; unit < before->num_units; unit++) {
        int here = num;
        same_but(&before->units[unit], &after->units[unit], "core_attention", &num);
        assert_true(num == here || unit == 2);
        struct tri_sizing_input input = uncut(before);
        struct tri_unit_size a, b;
        assert_int_equal(tri_size_unit(before, unit, &input, arena, err, &a), TRI_OK);
        assert_int_equal(tri_size_unit(after, unit, &input, arena, err, &b), TRI_OK);
        assert_int_equal(a.num_rows, b.num_rows);
        for (int i = 0; i < a.num_rows; i++)
            assert_int_equal(a.rows[i].offset, b.rows[i].offset);
        assert_int_equal(a.num_params, b.num_params);
        for (int i = 0; i < a.num_params; i++) {
            assert_string_equal(a.params[i].name, b.params[i].name);
            assert_int_equal(a.params[i].dims[0], b.params[i].dims[0]);
            assert_int_equal(a.params[i].dims[1], b.params[i].dims[1]);
            assert_int_equal(a.params[i].init, b.params[i].init);
            assert_true(a.params[i].init_std == b.params[i].init_std);
        }
        assert_int_equal(a.work_bytes, b.work_bytes);
    }
    assert_int_equal(num, 1);
    tri_arena_destroy(&arena);
    tri_model_spec_destroy(&before);
    tri_model_spec_destroy(&after);
    tri_error_destroy(&err);
}

static void own_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    (void)node;
    tri_sizer_row2(sizer, TRI_ROW_SAVED_INPUT, "own", 3, 5);
}

static void test_extension_is_sized(void **state)
{
    (void)state;
    static const struct tri_module_row row = {.name = "activation", .describe = own_describe};
    static const struct tri_extension extension = {.implementation = "mine", .module_row = &row};
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_gpt2(2, 32, 4, 101, 16);
    struct tri_spec_config config = fused();
    struct tri_model_spec *spec = NULL;
    config.extensions = &extension;
    config.num_extensions = 1;
    snprintf(config.override, sizeof(config.override), "decoder.layers[1]=mine");
    assert_int_equal(tri_model_spec_create(&shape, &config, err, &spec), TRI_OK);
    tri_arena *arena = tri_arena_create();
    struct tri_sizing_input input = uncut(spec);
    int found[2] = {0, 0};
    for (int layer = 0; layer < 2; layer++) {
        struct tri_unit_size size;
        assert_int_equal(tri_size_unit(spec, layer + 1, &input, arena, err, &size), TRI_OK);
        for (int i = 0; i < size.num_rows; i++)
            found[layer] += strcmp(size.rows[i].name, "own") == 0;
    }
    assert_int_equal(found[0], 0);
    assert_int_equal(found[1], 1); /* the activation, and nothing else of the layer */
    tri_arena_destroy(&arena);
    tri_model_spec_destroy(&spec);
    snprintf(config.override, sizeof(config.override), "decoder.layers[*].self_attention=mine");
    assert_int_equal(tri_model_spec_create(&shape, &config, err, &spec), TRI_INVALID);
    assert_true(error_says(err, "matches no module 'activation', which is what implementation "
                                "'mine' is of"));
    tri_error_destroy(&err);
}

static void read_blocks(const char *text, struct tri_transformer_config *t, tri_error *err,
                        tri_status expected)
{
    char path[] = "/tmp/t121-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    tri_error_clear(err);
    assert_int_equal(tri_heterogeneous_read(path, t, err), expected);
    unlink(path);
}

static void test_heterogeneous(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_llama(4, 8192, 64, 8, 28672, 101);
    struct tri_transformer_config t = shape.transformer;
    read_blocks("{\"block_configs\": ["
                "{\"attention\": {\"n_heads_in_group\": 16}, \"ffn\": {\"ffn_mult\": 2.625}},"
                "{\"attention\": {\"no_op\": true}, \"ffn\": {\"ffn_mult\": null}},"
                "{\"attention\": {\"replace_with_linear\": true}, \"mlp\": {\"no_op\": true}},"
                "{\"attention\": {}, \"ffn\": {\"ffn_hidden_size\": 77}}]}",
                &t, err, TRI_OK);
    static const int64_t groups[] = {4, 0, -1, 8}, widths[] = {14336, 28672, 0, 77};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(tri_layer_query_groups(&t, i), groups[i]);
        assert_int_equal(tri_layer_ffn_size(&t, i), widths[i]);
    }
    shape.transformer = t;
    struct tri_model_spec *spec = NULL;
    assert_int_equal(tri_model_spec_create(&shape, NULL, err, &spec), TRI_OK);
    assert_string_equal(spec->rule, "heterogeneous");
    assert_null(tri_module_spec_child(tri_model_spec_get_layer(spec, 1), "input_layernorm"));
    assert_string_equal(
        tri_module_spec_child(tri_model_spec_get_layer(spec, 2), "self_attention")->module,
        "whole_linear");
    assert_int_equal(tri_model_spec_get_layer(spec, 2)->num_children, 3);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

/* The text itself says what its file would; its faults are those of the request and name the option. */
static void test_heterogeneous_text(void **state)
{
    (void)state;
    static const char good[] = "{\"block_configs\": [{\"attention\": {\"no_op\": true}}, {}]}";
    static const char *const bad[][2] = {
        {"{\"block_configs\": [{}]}", "'block_configs' has 1 layers but 'num_layers' is 2"},
        {"{\"block_configs\": [{\"ffn\": 3}, {}]}", "'ffn' of layer 0 must be an object"},
        {"{\"block_configs\": [{}, {}", "not JSON"},
        {"[]", "'block_configs' must be a list"},
    };
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_llama(2, 64, 8, 4, 96, 101);
    struct tri_transformer_config of_file = shape.transformer, t = shape.transformer;
    read_blocks(good, &of_file, err, TRI_OK);
    assert_int_equal(tri_heterogeneous_read_text(good, &t, err), TRI_OK);
    assert_memory_equal(&t.layer_query_groups, &of_file.layer_query_groups,
                        sizeof(t.layer_query_groups));
    assert_memory_equal(&t.layer_ffn_sizes, &of_file.layer_ffn_sizes, sizeof(t.layer_ffn_sizes));
    assert_int_equal(tri_heterogeneous_read_text(good, &t, err), TRI_INVALID);
    assert_true(error_says(err, "'heterogeneous_layers_config_encoded_json' and "
                                "'layer_query_groups' or 'layer_ffn_sizes' say the same"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        t = shape.transformer;
        tri_error_clear(err);
        assert_int_equal(tri_heterogeneous_read_text(bad[i][0], &t, err), TRI_INVALID);
        assert_true(error_says(err, bad[i][1]));
        assert_true(error_says(err, "heterogeneous_layers_config_encoded_json:"));
    }
    tri_error_destroy(&err);
}

/* The keys of nvidia/Llama-3_3-Nemotron-Super-49B-v1's file, with what of them it leaves empty. */
#define NAS_ATTENTION(group, no_op, linear)                                                        \
    "\"attention\": {\"n_heads_in_group\": " group ", \"no_op\": " no_op                           \
    ", \"num_sink_tokens\": null, \"replace_with_linear\": " linear                                \
    ", \"sparsify\": null, \"unshifted_sink\": false, "                                            \
    "\"use_prefill_window_in_sink_attention\": false, \"window_length\": null}"
#define NAS_FFN(mult, no_op, linear)                                                               \
    "\"ffn\": {\"ffn_mult\": " mult ", \"no_op\": " no_op ", \"replace_with_linear\": " linear     \
    ", \"sparsify\": null}"

static void test_nemotron_nas(void **state)
{
    (void)state;
    static const char text[] =
        "{\"architectures\": [\"DeciLMForCausalLM\"], \"block_configs\": [{" NAS_ATTENTION("8", "false", "false") "," NAS_FFN(
            "5.25", "false",
            "false") "},"
                     "{" NAS_ATTENTION("null", "true", "false") "," NAS_FFN(
                         "2.625", "false",
                         "false") "},"
                                  "{" NAS_ATTENTION("null", "false", "true") "," NAS_FFN(
                                      "1.3125", "false",
                                      "false") "},"
                                               "{" NAS_ATTENTION("16", "false", "false") "," NAS_FFN(
                                                   "1.0", "false",
                                                   "false") "},"
                                                            "{" NAS_ATTENTION("32", "false", "false") "," NAS_FFN(
                                                                "0.5", "false",
                                                                "false") "},"
                                                                         "{" NAS_ATTENTION("64", "false", "false") "," NAS_FFN(
                                                                             "null", "false",
                                                                             "true") "},"
                                                                                     "{" NAS_ATTENTION(
                                                                                         "8",
                                                                                         "false",
                                                                                         "false") "," NAS_FFN("null",
                                                                                                              "true",
                                                                                                              "false") "}],"
                                                                                                                       "\"intermediate_size\": null, \"num_key_value_heads\": null}";
    /* int(2 x mult x 8192 / 3), up to a multiple of 256: 28672, 14336, 7168, 5461, 2730 */
    static const int64_t groups[] = {8, 0, -1, 4, 2, 1, 8};
    static const int64_t widths[] = {28672, 14336, 7168, 5632, 2816, -1, 0};
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_llama(7, 8192, 64, TRI_UNSET, TRI_UNSET, 128256);
    read_blocks(text, &shape.transformer, err, TRI_OK);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(tri_layer_query_groups(&shape.transformer, i), groups[i]);
        assert_int_equal(tri_layer_ffn_size(&shape.transformer, i), widths[i]);
    }
    struct tri_model_spec *spec = NULL;
    struct tri_param_count count;
    assert_int_equal(tri_model_spec_create(&shape, NULL, err, &spec), TRI_OK);
    assert_int_equal(tri_model_count_params(spec, err, &count), TRI_OK);
    int64_t expected = 0, h = 8192, d = 128;
    for (int i = 0; i < 7; i++) {
        expected += groups[i] > 0 ? h + 2 * h * h + 2 * h * groups[i] * d : 0;
        expected += groups[i] < 0 ? h + h * h : 0;
        expected += widths[i] > 0 ? h + 3 * h * widths[i] : widths[i] < 0 ? h + h * h : 0;
    }
    assert_int_equal(count.layers, expected);
    tri_model_spec_destroy(&spec);

    /* 4096 x 1.3: 3549.87 becomes 3549, then 3584; a gated width that is not set is Megatron-LM's */
    struct tri_transformer_config t = shape_llama(3, 4096, 32, 8, TRI_UNSET, 101).transformer;
    read_blocks("{\"block_configs\": [{\"ffn\": {\"ffn_mult\": 1.3}}, {}, {\"mlp\": "
                "{\"ffn_mult\": 9, \"ffn_hidden_size\": 48}}]}",
                &t, err, TRI_OK);
    assert_int_equal(tri_layer_ffn_size(&t, 0), 3584);
    assert_int_equal(tri_layer_ffn_size(&t, 1), 10880);
    assert_int_equal(tri_layer_ffn_size(&t, 2), 48);
    tri_error_destroy(&err);
}

static void test_bad_blocks(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    static const struct {
        const char *block, *says;
    } blocks[] = {
        {"{\"attention\": {\"n_heads_in_group\": 3}}",
         "'attention.n_heads_in_group' 3 of layer 0 does not divide 'num_attention_heads' 8; use "
         "one of its divisors"},
        {"{\"attention\": {\"n_heads_in_group\": 4, \"no_op\": true}}",
         "'attention' of layer 0 has more than one of a size, 'no_op' and 'replace_with_linear'; "
         "leave one"},
        {"{\"mlp\": {\"no_op\": true, \"replace_with_linear\": true}}",
         "'mlp' of layer 0 has more than one of a size, 'no_op' and 'replace_with_linear'"},
        {"{\"attention\": {\"n_heads_in_group\": 4, \"num_query_groups\": 4}}",
         "'attention.n_heads_in_group' 4 and 'num_query_groups' 4 of layer 0 do not make 8 heads; "
         "leave one of them out"},
        {"{\"ffn\": {\"ffn_mult\": -1}}",
         "'ffn.ffn_mult' of layer 0 must be a number above 0, or null"},
        {"{\"ffn\": {\"ffn_mult\": \"2\"}}",
         "'ffn.ffn_mult' of layer 0 must be a number above 0, or null"},
        {"{\"ffn\": {\"ffn_hidden_size\": 77.5}}",
         "'ffn.ffn_hidden_size' of layer 0 must be a whole number above 0, or null"},
        {"{\"attention\": {\"num_query_groups\": 2.5}}",
         "'attention.num_query_groups' of layer 0 must be a whole number above 0, or null"},
        {"{\"attention\": {\"no_op\": 1}}",
         "'attention.no_op' of layer 0 must be true, false or null"},
        {"{\"attention\": {\"window_length\": 4096}}",
         "'attention.window_length' of layer 0 is not known and may change the model; leave it "
         "null, or out"},
        {"{\"ffn\": {\"sparsify\": [\"relu\"]}}",
         "'ffn.sparsify' of layer 0 is not known and may change the model"},
        {"{\"ffn\": {\"ffn_mult\": 1}, \"mlp\": {\"ffn_mult\": 2}}",
         "layer 0 has both 'ffn' and 'mlp', which are the same; leave one"},
        {"{\"attention\": 7}", "'attention' of layer 0 must be an object"},
        {"[]", "layer 0 must be an object"},
    };
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        char text[512];
        struct tri_transformer_config t = shape_llama(1, 64, 8, 8, 128, 101).transformer;
        snprintf(text, sizeof(text), "{\"block_configs\": [%s]}", blocks[i].block);
        read_blocks(text, &t, err, TRI_IO);
        assert_int_equal(tri_error_count(err), 1);
        assert_true(error_says(err, blocks[i].says));
    }
    struct tri_transformer_config t = shape_llama(2, 64, 8, 8, 128, 101).transformer;
    read_blocks("{\"block_configs\": [{\"attention\": {\"n_heads_in_group\": 3, \"no_op\": true}},"
                "{\"ffn\": {\"ffn_mult\": -1}}]}",
                &t, err, TRI_IO);
    assert_int_equal(tri_error_count(err), 3); /* all at once */
    t = shape_llama(3, 64, 8, 8, 128, 101).transformer;
    read_blocks("{\"block_configs\": [{}]}", &t, err, TRI_IO);
    assert_true(error_says(err, "has 1 layers but 'num_layers' is 3; use the same number"));
    read_blocks("{}", &t, err, TRI_IO);
    assert_true(error_says(err, "'block_configs' must be a list"));
    t.hidden_size = TRI_UNSET;
    read_blocks("{\"block_configs\": [{}]}", &t, err, TRI_INVALID);
    assert_true(error_says(err, "needs 'hidden_size' and 'num_attention_heads'"));
    tri_error_destroy(&err);
}

static const struct tri_param_spec *find_param(const struct tri_unit_size *size, const char *end)
{
    for (int i = 0; i < size->num_params; i++) {
        size_t length = strlen(size->params[i].name), tail = strlen(end);
        if (length >= tail && strcmp(size->params[i].name + length - tail, end) == 0)
            return &size->params[i];
    }
    fail_msg("no parameter ends in %s", end);
    return NULL;
}

static void check_init(const struct tri_gpt_config *shape, int unit, const char *name,
                       enum tri_init init, double value, double divisor)
{
    tri_error *err = tri_error_create();
    tri_arena *arena = tri_arena_create();
    struct tri_model_spec *spec = NULL;
    struct tri_unit_size size;
    assert_int_equal(tri_model_spec_create(shape, NULL, err, &spec), TRI_OK);
    struct tri_sizing_input input = uncut(spec);
    assert_int_equal(tri_size_unit(spec, unit, &input, arena, err, &size), TRI_OK);
    const struct tri_param_spec *param = find_param(&size, name);
    assert_int_equal(param->init, init);
    assert_true(fabs(param->init_std - value) <= 1e-12);
    assert_true((param->lr_divisor > 0 ? param->lr_divisor : 1) == divisor);
    tri_model_spec_destroy(&spec);
    tri_arena_destroy(&arena);
    tri_error_destroy(&err);
}

/* Megatron-LM's rules, with its own example numbers where it gives them. */
static void test_initial_values(void **state)
{
    (void)state;
    struct tri_gpt_config shape = shape_gpt2(2, 64, 4, 101, 16);
    shape.untie_embeddings_and_output_weights = true;
    check_init(&shape, 1, "linear_fc1.weight", TRI_INIT_NORMAL, 0.02, 1);
    check_init(&shape, 1, "linear_fc2.weight", TRI_INIT_NORMAL, 0.01, 1);
    shape.transformer.embedding_init_method_std = 0.5;
    check_init(&shape, 0, "word_embeddings.weight", TRI_INIT_NORMAL, 0.5, 1);
    check_init(&shape, 3, "output_layer.weight", TRI_INIT_NORMAL, 0.02, 1);
    shape.transformer.init_method_xavier_uniform = true;
    check_init(&shape, 1, "linear_qkv.weight", TRI_INIT_UNIFORM, sqrt(6.0 / (64 + 192)), 1);
    check_init(&shape, 1, "linear_fc2.weight", TRI_INIT_UNIFORM, sqrt(6.0 / (64 + 256)), 1);
    check_init(&shape, 0, "word_embeddings.weight", TRI_INIT_NORMAL, 0.5, 1);
    check_init(&shape, 1, "linear_fc2.bias", TRI_INIT_ZERO, 0, 1);
    shape.transformer.init_method_xavier_uniform = false;
    shape.transformer.use_mup = true;
    shape.transformer.mup_base_hidden_size = 16; /* width multiplier 4 */
    check_init(&shape, 1, "linear_qkv.weight", TRI_INIT_NORMAL, 0.01, 4);
    check_init(&shape, 1, "linear_proj.weight", TRI_INIT_NORMAL, 0.005, 4);
    check_init(&shape, 1, "linear_proj.bias", TRI_INIT_ZERO, 0, 1);
    check_init(&shape, 0, "word_embeddings.weight", TRI_INIT_NORMAL, 0.5, 1);
    check_init(&shape, 3, "output_layer.weight", TRI_INIT_NORMAL, 0.5, 1);
    assert_true(tri_logits_factor(&shape) == 0.25);
    tri_gpt_config_resolve(&shape);
    assert_true(fabs(tri_mup_attention_scale(&shape) - 1.0 / 16) < 1e-15);
    shape.transformer.kv_channels = 128;
    shape.transformer.mup_base_head_dim = 64;
    assert_true(fabs(tri_mup_attention_scale(&shape) - 0.0625) < 1e-15);
}

static void test_json(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_gpt2(2, 32, 4, 101, 16);
    struct tri_model_spec *spec = NULL;
    char *text = NULL;
    size_t bytes = 0;
    json_t *root = NULL;
    assert_int_equal(tri_model_spec_create(&shape, NULL, err, &spec), TRI_OK);
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(tri_model_spec_print_json(out, spec, NULL, err), TRI_OK);
    fclose(out);
    assert_int_equal(tri_json_read_text(text, bytes, "spec", err, &root), TRI_OK);
    const json_t *units = json_object_get(root, "units"), *layer = json_array_get(units, 1);
    assert_int_equal(json_array_size(units), 4);
    assert_string_equal(json_string_value(json_object_get(root, "rule")), "fused");
    assert_int_equal(json_array_size(json_object_get(root, "rules")), 7);
    assert_string_equal(json_string_value(json_object_get(layer, "path")), "decoder.layers.0");
    const json_t *mlp = json_array_get(json_object_get(layer, "modules"), 4);
    const json_t *fc1 = json_array_get(json_object_get(mlp, "modules"), 0);
    assert_string_equal(json_string_value(json_object_get(fc1, "kind")), "column_linear");
    assert_int_equal(json_integer_value(json_object_get(fc1, "parameters")), 32 * 128 + 128);
    assert_true(json_number_value(json_object_get(fc1, "flops_forward")) == 2.0 * 16 * 32 * 128);
    assert_non_null(json_object_get(fc1, "why"));
    json_decref(root);
    free(text);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_refuse_by_name),
        cmocka_unit_test(test_function_makes_layers),
        cmocka_unit_test(test_function_asks_for_what_is_not_there),
        cmocka_unit_test(test_surgery),
        cmocka_unit_test(test_extension_is_sized),
        cmocka_unit_test(test_heterogeneous),
        cmocka_unit_test(test_heterogeneous_text),
        cmocka_unit_test(test_nemotron_nas),
        cmocka_unit_test(test_bad_blocks),
        cmocka_unit_test(test_initial_values),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
