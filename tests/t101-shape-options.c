/* SPDX-License-Identifier: Apache-2.0 */
/* The option rows of section shape: defaults, short forms, both levels in one section. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-shapes.h"

#include <math.h>

static void test_defaults(void **state)
{
    (void)state;
    struct tri_gpt_config c;
    tri_gpt_config_set_defaults(&c);
    const struct tri_transformer_config *t = &c.transformer;
    assert_int_equal(t->num_layers, TRI_UNSET);
    assert_int_equal(t->num_query_groups, TRI_UNSET);
    assert_int_equal(t->normalization, TRI_NORM_LAYERNORM);
    assert_int_equal(t->activation_func, TRI_ACT_GELU_TANH);
    assert_true(t->add_bias_linear && !t->add_qkv_bias && !t->gated_linear_unit);
    assert_true(t->layernorm_epsilon == 1e-5 && t->init_method_std == 0.02);
    assert_true(t->hidden_dropout == 0.1 && t->attention_dropout == 0.1);
    assert_int_equal(c.position_embedding_type, TRI_POSITION_LEARNED);
    assert_true(c.rotary_base == 10000 && c.rotary_percent == 1);
    assert_int_equal(c.make_vocab_size_divisible_by, 128);
    assert_int_equal(c.bos_token_id, TRI_UNSET);
    assert_string_equal(c.family, "");
}

/* Reads a run file's shape section into all three tables, and applies short forms. */
static tri_status read_shape(const char *text, struct tri_gpt_config *config, tri_error *err)
{
    static unsigned char transformer_origin[64], attention_origin[64], gpt_origin[64];
    struct tri_shape_short given;
    memset(transformer_origin, 0, sizeof(transformer_origin));
    memset(attention_origin, 0, sizeof(attention_origin));
    memset(gpt_origin, 0, sizeof(gpt_origin));
    tri_gpt_config_set_defaults(config);
    tri_option_set_defaults(&tri_shape_short_options, &given);
    struct tri_option_binding bindings[] = {
        {&tri_transformer_options, &config->transformer, transformer_origin, NULL},
        {&tri_attention_options, &config->transformer.attention, attention_origin, NULL},
        {&tri_gpt_options, config, gpt_origin, NULL},
        {&tri_shape_short_options, &given, NULL, NULL},
    };
    TRI_TRY(tri_option_read_text(text, strlen(text), "run.yaml", bindings, 4, NULL, err));
    const struct tri_shape_origins origins = {transformer_origin, attention_origin, gpt_origin};
    return tri_shape_apply_short(&given, &origins, config, err);
}

static void test_short_forms(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    assert_int_equal(read_shape("shape:\n  num_layers: 2\n  vocab_size: 32k\n  swiglu: true\n"
                                "  normalization: rmsnorm\n  disable_bias_linear: true\n"
                                "  use_rotary_position_embeddings: true\n  norm_epsilon: 1e-6\n"
                                "  group_query_attention: true\n  num_query_groups: 4\n",
                                &c, err),
                     TRI_OK);
    assert_int_equal(c.vocab_size, 32000);
    assert_int_equal(c.transformer.activation_func, TRI_ACT_SILU);
    assert_true(c.transformer.gated_linear_unit && !c.transformer.add_bias_linear);
    assert_int_equal(c.transformer.normalization, TRI_NORM_RMSNORM);
    assert_int_equal(c.position_embedding_type, TRI_POSITION_ROPE);
    assert_true(c.transformer.layernorm_epsilon == 1e-6);
    assert_int_equal(c.transformer.num_query_groups, 4);
    assert_int_equal(read_shape("shape: {no_position_embedding: true, openai_gelu: true,\n"
                                "  yarn_original_max_position_embeddings: 4k, yarn_beta_fast: 16,\n"
                                "  yarn_beta_slow: 2}\n",
                                &c, err),
                     TRI_OK);
    assert_int_equal(c.position_embedding_type, TRI_POSITION_NONE);
    assert_int_equal(c.transformer.activation_func, TRI_ACT_GELU_TANH);
    assert_int_equal(c.transformer.attention.original_max_position_embeddings, 4000);
    assert_true(c.transformer.attention.beta_fast == 16 && c.transformer.attention.beta_slow == 2);
    assert_int_equal(read_shape("shape: {group_query_attention: true}", &c, err), TRI_OK);
    assert_int_equal(c.transformer.num_query_groups, 1); /* as in Megatron-LM */
    tri_error_destroy(&err);
}

static void test_short_forms_that_clash(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    assert_int_equal(read_shape("shape: {swiglu: true, activation_func: gelu, norm_epsilon: 1e-6, "
                                "layernorm_epsilon: 1e-5, disable_bias_linear: true, "
                                "add_bias_linear: false, yarn_beta_fast: 3, beta_fast: 4, "
                                "yarn_original_max_position_embeddings: 1.5, "
                                "no_position_embedding: true, "
                                "position_embedding_type: learned_absolute}",
                                &c, err),
                     TRI_INVALID);
    assert_int_equal(tri_error_count(err), 5);
    assert_true(error_says(err, "'yarn_beta_fast' means 'beta_fast' 3, but 'beta_fast' 4 was"));
    assert_true(error_says(err, "'original_max_position_embeddings' is 1.5; use a whole number"));
    assert_true(
        error_says(err, "'no_position_embedding' means 'position_embedding_type' none, but"));
    assert_true(error_says(err, "'swiglu' means 'activation_func' silu, but 'activation_func' gelu "
                                "was given as well"));
    assert_true(error_says(err, "'norm_epsilon' means 'layernorm_epsilon'"));
    tri_error_destroy(&err);
}

static void test_short_forms_that_contradict_each_other(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"shape: {swiglu: true, squared_relu: true}",
         "'squared_relu' means 'activation_func' squared_relu, but 'swiglu' means silu; leave one "
         "of them out"},
        {"shape: {quick_geglu: true, swiglu: true}",
         "'quick_geglu' means 'activation_func' quick_gelu, but 'swiglu' means silu"},
        {"shape: {squared_relu: true, openai_gelu: true}",
         "'openai_gelu' means 'activation_func' gelu_tanh, but 'squared_relu' means squared_relu"},
    };
    struct tri_gpt_config c;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tri_error *err = tri_error_create();
        assert_int_equal(read_shape(bad[i].text, &c, err), TRI_INVALID);
        assert_int_equal(tri_error_count(err), 1);
        assert_true(error_says(err, bad[i].says));
        tri_error_destroy(&err);
    }
}

/* Megatron-LM's own Llama scripts give both: the one asks for rotary positions, the other for no table. */
static void test_no_position_embedding_beside_others(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    assert_int_equal(
        read_shape("shape: {use_rotary_position_embeddings: true, no_position_embedding: true}", &c,
                   err),
        TRI_OK);
    assert_int_equal(c.position_embedding_type, TRI_POSITION_ROPE);
    assert_int_equal(
        read_shape("shape: {no_position_embedding: true, position_embedding_type: yarn}", &c, err),
        TRI_OK);
    assert_int_equal(c.position_embedding_type, TRI_POSITION_YARN);
    tri_error_destroy(&err);
}

/* A JSON text of many layers is no short text; beside its file it is one thing said twice. */
static void test_long_json(void **state)
{
    (void)state;
    enum { LAYERS = 96 };
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    fprintf(out, "shape: {hidden_size: 64, num_attention_heads: 4,\n"
                 "  heterogeneous_layers_config_encoded_json: '{\"block_configs\": [");
    for (int i = 0; i < LAYERS; i++)
        fprintf(out,
                "%s{\"attention\": {\"no_op\": false, \"window_length\": null, \"sparsify\": null},"
                " \"ffn\": {\"ffn_hidden_size\": %d, \"no_op\": false, \"sparsify\": null}}%60s",
                i ? "," : "", i + 1, "");
    fprintf(out, "]}'}\n");
    fclose(out);
    assert_true(bytes > 2 * TRI_OPTION_LONG_TEXT);
    assert_int_equal(read_shape(text, &c, err), TRI_OK);
    assert_int_equal(c.transformer.num_layers, LAYERS);
    assert_int_equal(c.transformer.layer_ffn_sizes.value[LAYERS - 1], LAYERS);
    free(text);
    assert_int_equal(read_shape("shape: {heterogeneous_layers_config_encoded_json: '{}',\n"
                                "  heterogeneous_layers_config_path: a.json}",
                                &c, err),
                     TRI_INVALID);
    assert_true(error_says(err, "'heterogeneous_layers_config_path' and "
                                "'heterogeneous_layers_config_encoded_json' say the same"));
    tri_error_clear(err);
    assert_int_equal(
        read_shape("shape: {heterogeneous_layers_config_encoded_json: {a: 1}}", &c, err),
        TRI_INVALID);
    assert_true(error_says(err, "run.yaml:1:51: 'heterogeneous_layers_config_encoded_json' is a "
                                "map; use its text in quotes"));
    tri_error_destroy(&err);
}

static void test_bad_rows(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    assert_int_equal(read_shape("shape: {num_layers: 0, vocab_size: 3g, normalization: BatchNorm, "
                                "hidden_size: 1.5, rotary_base: -1}",
                                &c, err),
                     TRI_INVALID);
    assert_int_equal(tri_error_count(err), 5);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_short_forms),
        cmocka_unit_test(test_short_forms_that_clash),
        cmocka_unit_test(test_short_forms_that_contradict_each_other),
        cmocka_unit_test(test_no_position_embedding_beside_others),
        cmocka_unit_test(test_long_json),
        cmocka_unit_test(test_bad_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
