/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.json: round trips of the golden configs, both rotary spellings (N-01), class defaults, what is
 * refused, and hostile files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-shapes.h"

#include "shape/hf_config.h"
#include "spec/family.h"

#include <jansson.h>

#include <stdlib.h>
#include <unistd.h>

static tri_status read_text(const char *family, const char *text, tri_error *err,
                            struct tri_gpt_config *config)
{
    tri_error_clear(err);
    return tri_hf_config_read(tri_family_find(family)->config, text, strlen(text), "config.json",
                              err, config);
}

static char *slurp(const char *path)
{
    char *text = NULL;
    size_t bytes;
    assert_int_equal(tri_hf_config_load(path, NULL, &text, &bytes), TRI_OK);
    return text;
}

/* Every key of the original, as it was spelled. */
static void check_round_trip(const char *path, const char *family)
{
    tri_error *err = tri_error_create();
    struct tri_gpt_config config, again;
    char *original = slurp(path), *text = NULL, *second = NULL;
    assert_int_equal(tri_gpt_config_read_hf(path, err, &config), TRI_OK);
    assert_int_equal(tri_error_note_count(err), 0);
    assert_string_equal(config.family, family);
    assert_int_equal(tri_gpt_config_write_hf(&config, "float32", original, err, &text), TRI_OK);
    json_t *got = json_loads(text, 0, NULL), *wanted = json_loads(original, 0, NULL);
    assert_true(json_equal(got, wanted));
    assert_int_equal(read_text(family, text, err, &again), TRI_OK);
    assert_int_equal(tri_gpt_config_write_hf(&again, "float32", text, err, &second), TRI_OK);
    assert_string_equal(text, second);
    json_decref(got);
    json_decref(wanted);
    free(original);
    free(text);
    free(second);
    tri_error_destroy(&err);
}

static void test_round_trips(void **state)
{
    (void)state;
    check_round_trip("golden/shape/gpt2.json", "gpt2");
    check_round_trip("golden/shape/llama.json", "llama");
}

static void test_fields(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    assert_int_equal(tri_gpt_config_read_hf("golden/shape/gpt2.json", err, &c), TRI_OK);
    assert_int_equal(c.transformer.num_layers, 2);
    assert_int_equal(c.transformer.hidden_size, 32);
    assert_int_equal(c.transformer.ffn_hidden_size, 128);
    assert_int_equal(c.transformer.kv_channels, 8);
    assert_int_equal(c.transformer.activation_func, TRI_ACT_GELU_TANH);
    assert_true(c.transformer.add_bias_linear && c.transformer.hidden_dropout == 0);
    assert_int_equal(c.vocab_size, 101);
    assert_int_equal(c.seq_length, 32);
    assert_false(c.untie_embeddings_and_output_weights);
    assert_int_equal(c.eos_token_id, 2);
    assert_int_equal(tri_gpt_config_read_hf("golden/shape/llama.json", err, &c), TRI_OK);
    assert_int_equal(c.transformer.num_query_groups, 2);
    assert_int_equal(c.transformer.ffn_hidden_size, 72);
    assert_true(c.transformer.gated_linear_unit && !c.transformer.add_bias_linear);
    assert_int_equal(c.transformer.normalization, TRI_NORM_RMSNORM);
    assert_int_equal(c.position_embedding_type, TRI_POSITION_ROPE);
    assert_true(c.rotary_base == 10000 && c.transformer.layernorm_epsilon == 1e-5);
    assert_true(c.untie_embeddings_and_output_weights);
    tri_error_destroy(&err);
}

#define SMALL                                                                                      \
    "\"hidden_size\":16,\"num_attention_heads\":2,\"num_hidden_layers\":1,\"intermediate_size\":"  \
    "24,"                                                                                          \
    "\"vocab_size\":11,\"max_position_embeddings\":8"

static void test_rotary_base(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    const char *v5 =
        "{" SMALL ",\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":500000}}";
    const char *v4 = "{" SMALL ",\"rope_theta\":500000.0,\"rope_scaling\":null}";
    const char *both =
        "{" SMALL ",\"rope_theta\":10000,\"rope_parameters\":{\"rope_theta\":500000}}";
    const char *same = "{" SMALL ",\"rope_theta\":5e5,\"rope_parameters\":{\"rope_theta\":500000}}";
    assert_int_equal(read_text("llama", v5, err, &c), TRI_OK);
    assert_true(c.rotary_base == 500000);
    assert_int_equal(read_text("llama", v4, err, &c), TRI_OK);
    assert_true(c.rotary_base == 500000);
    assert_int_equal(read_text("llama", same, err, &c), TRI_OK);
    assert_int_equal(read_text("llama", both, err, &c), TRI_INVALID);
    assert_true(
        error_says(err, "'rope_theta' 10000 and 'rope_parameters.rope_theta' 500000 differ"));
    assert_int_equal(read_text("llama", "{" SMALL "}", err, &c), TRI_OK);
    assert_true(c.rotary_base == 10000);
    assert_true(error_notes(err, "rope_theta 10000.0"));
    tri_error_destroy(&err);
}

static void test_rotary_kinds(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    assert_int_equal(read_text("llama",
                               "{" SMALL ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":2.0}}",
                               err, &c),
                     TRI_OK);
    assert_true(c.transformer.attention.rotary_seq_len_interpolation_factor == 2);
    assert_int_equal(
        read_text("llama", "{" SMALL ",\"rope_scaling\":{\"type\":\"longrope\",\"factor\":2.0}}",
                  err, &c),
        TRI_INVALID);
    assert_true(error_says(err, "'rope_type' \"longrope\" is not in this build; default, linear, "
                                "dynamic, llama3, yarn and mrope work"));
    assert_int_equal(tri_error_status(err), TRI_UNSUPPORTED);
    assert_int_equal(read_text("llama",
                               "{" SMALL ",\"rope_parameters\":{\"partial_rotary_factor\":0.5}}",
                               err, &c),
                     TRI_INVALID);
    assert_int_equal(read_text("llama", "{" SMALL ",\"rope_parameters\":[1]}", err, &c),
                     TRI_INVALID);
    tri_error_destroy(&err);
}

static void test_class_defaults(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    assert_int_equal(read_text("gpt2", "{}", err, &c), TRI_OK);
    assert_int_equal(c.vocab_size, 50257);
    assert_int_equal(c.transformer.ffn_hidden_size, 3072);
    assert_int_equal(c.eos_token_id, 50256);
    assert_false(c.untie_embeddings_and_output_weights);
    assert_true(error_notes(err, "n_embd 768"));
    assert_int_equal(read_text("llama", "{}", err, &c), TRI_OK);
    assert_int_equal(c.transformer.ffn_hidden_size, 11008);
    assert_int_equal(c.transformer.num_query_groups, 32);
    assert_true(c.untie_embeddings_and_output_weights && c.transformer.layernorm_epsilon == 1e-6);
    tri_error_destroy(&err);
}

/* Keys that ask for another function, several at once; keys that do not survive the trip. */
static void test_other_keys(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    char *text = NULL;
    assert_int_equal(read_text("llama",
                               "{" SMALL ",\"sliding_window\":7,\"attention_bias\":true,"
                               "\"quantization_config\":{\"bits\":4},\"hidden_act\":\"quick_gelu\","
                               "\"rope_interleaved\":true,\"mlp_bias\":false}",
                               err, &c),
                     TRI_INVALID);
    assert_int_equal(tri_error_count(err), 3);
    assert_true(error_says(err, "'sliding_window' 7 changes what the model computes"));
    assert_true(error_says(err, "'quantization_config' {\"bits\":4} changes"));
    assert_true(error_says(err, "'rope_interleaved' true changes"));
    assert_int_equal(read_text("gpt2", "{\"scale_attn_weights\":false}", err, &c), TRI_INVALID);
    assert_true(error_says(err, "'scale_attn_weights' is false; family 'gpt2'"));
    const char *original = "{" SMALL ",\"my_key\":{\"a\":[1,2.5]},\"eos_token_id\":[3,9],"
                           "\"sliding_window\":null,\"use_cache\":true,\"pad_token_id\":2,"
                           "\"layer_types\":[\"full_attention\"]}";
    assert_int_equal(read_text("llama", original, err, &c), TRI_OK);
    assert_true(error_notes(err, "'my_key' is not a key of family 'llama'; kept, not used"));
    assert_true(error_notes(err, "'pad_token_id' 2 keeps that row"));
    assert_int_equal(c.eos_token_id, 3);
    assert_int_equal(tri_gpt_config_write_hf(&c, "float16", original, err, &text), TRI_OK);
    assert_non_null(strstr(text, "\"my_key\": {\n    \"a\": [\n      1,\n      2.5\n"));
    assert_non_null(strstr(text, "\"eos_token_id\": [\n    3,\n    9\n  ]"));
    assert_non_null(strstr(text, "\"torch_dtype\": \"float16\""));
    assert_non_null(strstr(text, "\"sliding_window\": null"));
    free(text);
    tri_error_destroy(&err);
}

static void check_refused(const char *family, const char *text, const char *message)
{
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    memset(&c, 0x5a, sizeof(c));
    assert_int_equal(read_text(family, text, err, &c), TRI_INVALID);
    assert_true(error_says(err, message));
    assert_int_equal(((unsigned char *)&c)[17], 0x5a); /* outputs only on success */
    tri_error_destroy(&err);
}

static void test_hostile(void **state)
{
    (void)state;
    check_refused("llama", "", "config.json: not JSON: it is empty");
    check_refused("llama", "{\"hidden_size\": 16", "not JSON");
    check_refused("llama", "[1]", "expected an object");
    check_refused("llama", "{\"vocab_size\":1,\"vocab_size\":2}", "given twice");
    check_refused("llama", "{\"hidden_size\":\"16\"}",
                  "'hidden_size' is \"16\"; it must be a whole");
    check_refused("llama", "{\"hidden_size\":16.5}", "must be a whole number");
    check_refused("llama", "{\"hidden_size\":-16}", "'hidden_size' is -16");
    check_refused("llama", "{\"hidden_size\":9223372036854775807}", "9223372036854775807");
    check_refused("llama", "{\"hidden_size\":99999999999999999999999}", "not JSON");
    check_refused("llama", "{\"rms_norm_eps\":0}", "'rms_norm_eps' is 0");
    check_refused("llama", "{\"rms_norm_eps\":null}",
                  "'rms_norm_eps' is null; it must be a number");
    check_refused("llama", "{\"tie_word_embeddings\":1}", "must be true or false");
    check_refused("llama", "{\"eos_token_id\":[]}", "'eos_token_id' is []");
    check_refused("llama", "{\"eos_token_id\":[1,\"x\"]}", "'eos_token_id' is [1,\"x\"]");
    check_refused("llama", "{\"num_key_value_heads\":5}",
                  "config.json: 'num_key_value_heads' 5 must be at least 1 and divide "
                  "'num_attention_heads' 32");
    check_refused("llama", "{\"attention_dropout\":1.0}", "'attention_dropout' 1 must be");
    check_refused("gpt2", "{\"resid_pdrop\":0.1,\"embd_pdrop\":0.2}",
                  "'resid_pdrop' 0.1 and 'embd_pdrop' 0.2 differ");
}

/* What one family has and another has not. */
static void test_of_one_family(void **state)
{
    (void)state;
    check_refused("phi3",
                  "{\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1.0],"
                  "\"long_factor\":[2.0]}}",
                  "'rope_type' \"longrope\" is not in this build for this family; default works");
    check_refused("llama", "{\"rope_parameters\":{\"full_attention\":{\"rope_theta\":100.0}}}",
                  "'rope_parameters.full_attention' {\"rope_theta\":100.0} is not in this build");
    check_refused("gemma3_text", "{\"rope_parameters\":{\"rope_theta\":100.0}}",
                  "are those of 'full_attention' and of 'sliding_attention'; leave the rest out");
    check_refused("gemma3_text",
                  "{\"rope_parameters\":{\"sliding_attention\":{\"rope_type\":\"linear\","
                  "\"factor\":2.0}}}",
                  "'rope_parameters.sliding_attention.rope_type' \"linear\" is not in this build");
    check_refused("gemma3_text", "{\"sliding_window_pattern\":0}",
                  "'sliding_window_pattern' is 0; it must be a number of layers, 1 or more");
    check_refused("smollm3", "{\"no_rope_layer_interval\":0}",
                  "'no_rope_layer_interval' is 0; it must be a whole number above 0");
    check_refused("smollm3", "{\"no_rope_layers\":[1,0]}",
                  "'no_rope_layers' is [1,0]; it must be null or a list of 0 and 1");
    check_refused("gpt2", "{\"n_layer\":2,\"num_hidden_layers\":3}",
                  "'n_layer' 2 and 'num_hidden_layers' 3 differ");
    check_refused("gpt_neox", "{\"rope_theta\":5.0}",
                  "'rotary_emb_base' 10000 and 'rope_theta' 5 differ");
    check_refused("mistral", "{\"per_layer_config\":{\"1\":{\"hidden_act\":\"gelu\"}}}",
                  "'per_layer_config' {\"1\":{\"hidden_act\":\"gelu\"}} changes what the model");
    check_refused("llama",
                  "{\"original_max_position_embeddings\":64,\"rope_scaling\":{\"rope_type\":"
                  "\"yarn\",\"factor\":2.0,\"original_max_position_embeddings\":32}}",
                  "'original_max_position_embeddings' is 64 outside and 32 inside the rotary");
}

static void test_files(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c;
    assert_int_equal(tri_gpt_config_read_hf("golden/nowhere", err, &c), TRI_IO);
    assert_true(error_says(err, "cannot open 'golden/nowhere'"));
    tri_error_clear(err);
    assert_int_equal(tri_gpt_config_read_hf("golden/shape", err, &c), TRI_IO);
    assert_true(error_says(err, "cannot open 'golden/shape/config.json'"));
    tri_error_clear(err);
    char path[] = "/tmp/t103-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    const char text[] = "{\"model_type\":\"bert\"}";
    assert_int_equal(write(descriptor, text, strlen(text)), (int)strlen(text));
    close(descriptor);
    assert_int_equal(tri_gpt_config_read_hf(path, err, &c), TRI_UNSUPPORTED);
    assert_true(error_says(err, "'model_type' \"bert\" is not in this build; use gpt2, llama, "));
    unlink(path);
    tri_error_destroy(&err);
}

static bool fits(const struct tri_hf_family *family, const struct tri_gpt_config *config)
{
    return tri_hf_config_misfits(family, config, NULL, 0) == 0;
}

static void test_what_a_family_can_hold(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config gpt2 = shape_gpt2(1, 16, 2, 11, 8);
    struct tri_gpt_config llama = shape_llama(1, 16, 2, 1, 24, 11);
    char *text = NULL;
    tri_gpt_config_resolve(&gpt2);
    tri_gpt_config_resolve(&llama);
    const struct tri_hf_family *g = tri_family_find("gpt2")->config;
    const struct tri_hf_family *l = tri_family_find("llama")->config;
    assert_true(fits(g, &gpt2) && !fits(l, &gpt2));
    assert_true(fits(l, &llama) && !fits(g, &llama));
    gpt2.untie_embeddings_and_output_weights = true;
    gpt2.transformer.kv_channels = 8;
    assert_true(fits(g, &gpt2));
    llama.transformer.hidden_dropout = 0.1; /* of training only */
    llama.transformer.kv_channels = 10;
    assert_true(fits(l, &llama));
    llama.transformer.add_qkv_bias = true;
    assert_int_equal(tri_hf_config_write(l, &llama, "float32", NULL, err, &text), TRI_UNSUPPORTED);
    assert_true(
        error_says(err, "family 'llama' cannot hold 'add_qkv_bias' true; its models have false"));
    assert_null(text);
    char names[64];
    llama.transformer.attention.qk_layernorm = true;
    assert_int_equal(tri_hf_config_misfits(l, &llama, names, sizeof names), 2);
    assert_string_equal(names, "'add_qkv_bias', 'qk_layernorm'");
    assert_int_equal(tri_hf_config_misfits(l, &llama, names, 8), 2); /* cut */
    assert_string_equal(names, "'add_qk");
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),    cmocka_unit_test(test_fields),
        cmocka_unit_test(test_rotary_base),    cmocka_unit_test(test_rotary_kinds),
        cmocka_unit_test(test_class_defaults), cmocka_unit_test(test_other_keys),
        cmocka_unit_test(test_hostile),        cmocka_unit_test(test_of_one_family),
        cmocka_unit_test(test_files),          cmocka_unit_test(test_what_a_family_can_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
