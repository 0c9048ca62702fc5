/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a case of Megatron-LM's: keys that trine does not know or have, values that do not
 * fit, files that say something else than their form allows. Each change is made to a copy of golden's llama.
 */
#include "base/json.h"
#include "train/compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char golden[] = "golden/megatron/model_gpt";
static const char *const files[] = {"case.json", "expected.safetensors", "weights.safetensors"};
enum { NUM_FILES = sizeof files / sizeof files[0] };
static char dir[64];

static const char *path_of(const char *folder, const char *file)
{
    static char paths[4][160];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, file);
    return path;
}

static char *read_all(const char *path, size_t *bytes)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fseek(in, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(in);
    rewind(in);
    char *data = malloc(*bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, in), *bytes);
    fclose(in);
    data[*bytes] = '\0';
    return data;
}

static void write_all(const char *path, const char *data, size_t bytes)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, bytes, out), bytes);
    assert_int_equal(fclose(out), 0);
}

static int make_copy(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/trine-t832-XXXXXX");
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < NUM_FILES; i++) {
        size_t bytes;
        char from[64];
        snprintf(from, sizeof from, "%s/llama", golden);
        char *data = read_all(path_of(from, files[i]), &bytes);
        write_all(path_of(dir, files[i]), data, bytes);
        free(data);
    }
    (void)state;
    return 0;
}

static int remove_copy(void **state)
{
    for (int i = 0; i < NUM_FILES; i++)
        unlink(path_of(dir, files[i]));
    rmdir(dir);
    (void)state;
    return 0;
}

/* Gives the key of case.json another value, as JSON; "model.x" is x in "model". */
static void set_key(const char *key, const char *value)
{
    const char *path = path_of(dir, "case.json");
    json_t *root = json_load_file(path, 0, NULL), *object = root;
    assert_non_null(root);
    if (strncmp(key, "model.", 6) == 0) {
        object = json_object_get(root, "model");
        key += 6;
    }
    json_t *made = json_loads(value, JSON_DECODE_ANY, NULL);
    assert_non_null(made);
    assert_int_equal(json_object_set_new(object, key, made), 0);
    assert_int_equal(json_dump_file(root, path, JSON_INDENT(1)), 0);
    json_decref(root);
}

/* Writes bytes over element number i of a tensor in expected.safetensors. */
static void patch(const char *name, int64_t i, const void *value, size_t bytes)
{
    const char *path = path_of(dir, "expected.safetensors");
    tri_error *err = tri_error_create();
    tri_arena *arena = tri_arena_create();
    struct tri_safetensors file;
    assert_int_equal(tri_safetensors_open(path, arena, err, &file), TRI_OK);
    const struct tri_safetensors_tensor *tensor = tri_safetensors_find(&file, name);
    assert_non_null(tensor);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    off_t at = (off_t)(tensor->begin + i * (int64_t)bytes);
    assert_int_equal(pwrite(fd, value, bytes, at), (ssize_t)bytes);
    close(fd);
    tri_safetensors_close(&file);
    tri_arena_destroy(&arena);
    tri_error_destroy(&err);
}

/* Another name of the same length for a tensor. */
static void rename_tensor(const char *file, const char *from, const char *to)
{
    size_t bytes, length = strlen(from);
    char quoted[128];
    char *data = read_all(path_of(dir, file), &bytes);
    assert_int_equal(strlen(to), length);
    snprintf(quoted, sizeof quoted, "\"%s\"", from);
    char *at = strstr(data + 8, quoted); /* the header ends before the first zero byte */
    assert_non_null(at);
    memcpy(at + 1, to, length);
    write_all(path_of(dir, file), data, bytes);
    free(data);
}

static void expect(const tri_error *err, const char *message)
{
    for (int i = 0; i < tri_error_count(err); i++)
        if (strstr(tri_error_message(err, i), message))
            return;
    fail_msg("no problem says '%s'; the first of %d: %s", message, tri_error_count(err),
             tri_error_message(err, 0));
}

/* ---- keys ---- */

static void keys_are_refused_by_name(void **state)
{
    static const struct {
        const char *key, *value, *message;
    } faults[] = {
        {"mood", "3", "unknown key 'mood'"},
        {"model.speed", "3", "unknown key 'model.speed'"},
        {"model.config", "{\"warp\": 2}", "unknown key 'model.config.warp'"},
        {"model.config", "7", "'model.config' is no object"},
        {"model", "[1]", "'model' is no object"},
        {"model.config", "{\"num_moe_experts\": 4}",
         "trine has no 'model.config.num_moe_experts': mixture of experts is not built yet"},
        {"model.config", "{\"moe_z_loss_coeff\": 0.5}",
         "trine has no 'model.config.moe_z_loss_coeff': mixture of experts is not built yet"},
        {"model.config", "{\"mtp_num_layers\": 1}",
         "trine has no 'model.config.mtp_num_layers': multi-token prediction is not built yet"},
        {"model.document_mask", "true", "trine has no 'model.document_mask': a mask by documents"},
        {"model.tied", "1", "'model.tied' is neither true nor false"},
        {"model.tanh_gelu", "\"yes\"", "'model.tanh_gelu' is neither true nor false"},
        {"model.num_layers", "\"many\"", "'model.num_layers': 'num_layers'"},
        {"model.hidden_size", "-8", "'model.hidden_size': 'hidden_size'"},
        {"model.activation", "\"maxout\"", "'model.activation': 'activation_func'"},
        {"model.config", "{\"window_size\": \"wide\"}", "'model.config.window_size'"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct tri_gpt_config shape;
        tri_error *err = tri_error_create();
        make_copy(state);
        set_key(faults[i].key, faults[i].value);
        tri_gpt_config_set_defaults(&shape);
        assert_int_not_equal(tri_case_read_shape(path_of(dir, "case.json"), &shape, err), TRI_OK);
        expect(err, faults[i].message);
        expect(err, "case.json'");
        remove_copy(state);
        tri_error_destroy(&err);
    }
}

/* Megatron-LM's cases with parts that trine has not. */
static void later_parts_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"moe_softmax", "trine has no 'model.config.num_moe_experts': mixture of experts"},
        {"moe_sigmoid",
         "trine has no 'model.config.moe_router_score_function': mixture of experts"},
        {"mtp1", "trine has no 'model.config.mtp_num_layers': multi-token prediction"},
    };
    for (int i = 0; i < 3; i++) {
        char from[128];
        struct tri_run_config config;
        tri_error *err = tri_error_create();
        snprintf(from, sizeof from, "--shape-from=%s/%s/case.json", golden, cases[i][0]);
        char *words[] = {from, NULL};
        /* a fault of the file, not of the request */
        assert_int_equal(tri_run_config_read(1, words, 0, NULL, &config, err), TRI_IO);
        expect(err, cases[i][1]);
        for (int k = 0; k < tri_error_count(err); k++)
            assert_null(strstr(tri_error_message(err, k), "unknown key"));
        tri_error_destroy(&err);
    }
    (void)state;
}

static void every_key_sets_its_option(void **state)
{
    struct tri_gpt_config shape;
    tri_error *err = tri_error_create();
    set_key("model.kv_channels", "12");
    set_key("kv_channels", "12");
    set_key("model.qk_layernorm", "true");
    set_key("model.add_qkv_bias", "true");
    set_key("model.tied", "true");
    set_key("model.activation", "\"gelu\"");
    set_key("model.tanh_gelu", "true");
    set_key("model.rotary_percent", "0.5");
    set_key("model.rotary_base", "5000");
    set_key("model.rope_scaling", "true");
    set_key("model.rope_scaling_factor", "4.5");
    set_key("model.document_mask", "false");
    set_key("model.config", "{\"window_size\": [3, 0], \"hidden_dropout\": 0.25, "
                            "\"num_moe_experts\": null}");
    tri_gpt_config_set_defaults(&shape);
    if (tri_case_read_shape(path_of(dir, "case.json"), &shape, err) != TRI_OK)
        fail_msg("%s", tri_error_message(err, 0));
    const struct tri_transformer_config *t = &shape.transformer;
    const struct tri_attention_config *a = &t->attention;
    assert_int_equal(t->num_layers, 3);
    assert_int_equal(t->hidden_size, 32);
    assert_int_equal(t->num_attention_heads, 4);
    assert_int_equal(t->num_query_groups, 2);
    assert_int_equal(t->kv_channels, 12);
    assert_int_equal(t->ffn_hidden_size, 40);
    assert_int_equal(t->normalization, TRI_NORM_RMSNORM);
    assert_true(t->layernorm_epsilon == 1e-6);
    assert_int_equal(t->activation_func, TRI_ACT_GELU_TANH);
    assert_true(t->gated_linear_unit && !t->add_bias_linear && t->add_qkv_bias);
    assert_true(t->hidden_dropout == 0.25);
    assert_true(a->qk_layernorm && a->use_rope_scaling && a->rope_scaling_factor == 4.5);
    assert_int_equal(a->window_size.num, 2);
    assert_int_equal(a->window_size.value[0], 3);
    assert_int_equal(shape.vocab_size, 104);
    assert_int_equal(shape.seq_length, 16);
    assert_int_equal(shape.max_position_embeddings, 16);
    assert_int_equal(shape.position_embedding_type, TRI_POSITION_ROPE);
    assert_true(shape.rotary_percent == 0.5 && shape.rotary_base == 5000);
    assert_false(shape.untie_embeddings_and_output_weights);
    tri_error_destroy(&err);
    (void)state;
}

/* ---- files ---- */

static void expect_unread(const char *message)
{
    struct tri_case reference;
    tri_error *err = tri_error_create();
    assert_int_not_equal(tri_case_read(dir, err, &reference), TRI_OK);
    expect(err, message);
    tri_error_destroy(&err);
    remove_copy(NULL);
    make_copy(NULL);
}

static void inputs_of_another_form_are_refused(void **state)
{
    const float half = 0.5f, none[32] = {0};
    const int64_t seven = 7, negative = -1, vocabulary = 104;
    const unsigned char one = 1, zero = 0;
    patch("loss_mask", 3, &half, sizeof half);
    expect_unread("'loss_mask' holds 0.5; only 0 and 1 are read");
    patch("loss_mask", 0, none, sizeof none);
    expect_unread("no label of the batch counts");
    patch("position_ids", 18, &seven, sizeof seven);
    expect_unread("'position_ids' is 7 at position 2 of row 1; only positions counted from 0");
    patch("attention_mask", 256 + 5 * 16 + 3, &one, 1);
    expect_unread("'attention_mask' is 1 where position 5 sees 3 of row 1; only causal masks");
    patch("attention_mask", 1, &zero, 1);
    expect_unread("'attention_mask' is 0 where position 0 sees 1 of row 0");
    patch("tokens", 4, &vocabulary, sizeof vocabulary);
    expect_unread("'tokens' holds token 104, but the logits are those of 104");
    patch("tokens", 4, &negative, sizeof negative);
    expect_unread("'tokens' holds a negative number");
    rename_tensor("expected.safetensors", "logits", "lagits");
    expect_unread("has no tensor 'logits' [b, s, V]");
    rename_tensor("expected.safetensors", "labels", "lebals");
    expect_unread("has no tensor 'labels'");
    assert_int_equal(unlink(path_of(dir, "expected.safetensors")), 0);
    expect_unread("expected.safetensors'");
    assert_int_equal(unlink(path_of(dir, "case.json")), 0);
    expect_unread("case.json'");
    (void)state;
}

/* ---- runs ---- */

/* Runs the copy on one rank; *failed: something is outside its bounds. */
static tri_status run_copy(bool without_hidden, tri_error *err, bool *failed, char **text)
{
    struct tri_case reference;
    struct tri_run_config config;
    struct tri_case_form form;
    char from[128];
    size_t bytes;
    snprintf(from, sizeof from, "--shape-from=%s/case.json", dir);
    char *words[] = {from, NULL};
    assert_int_equal(tri_run_config_read(1, words, 0, NULL, &config, err), TRI_OK);
    assert_int_equal(tri_case_read(dir, err, &reference), TRI_OK);
    config.placement.team_size = 1;
    tri_case_fit(&reference, &config);
    form = *reference.form;
    if (without_hidden)
        form.hidden = NULL;
    reference.form = &form;
    struct tri_compare_request request = {.reference = &reference, .config = &config};
    request.out = open_memstream(text, &bytes);
    struct tri_launch launch = {.ranks = 1, .time_limit_seconds = 600};
    tri_status status = tri_launch_run(&launch, tri_compare, &request, &err);
    fclose(request.out);
    tri_case_fini(&reference);
    *failed = request.failed;
    return status;
}

static void expect_stop(bool without_hidden, const char *message)
{
    tri_error *err = tri_error_create();
    char *text = NULL;
    bool failed;
    assert_int_not_equal(run_copy(without_hidden, err, &failed, &text), TRI_OK);
    expect(err, message);
    free(text);
    tri_error_destroy(&err);
    remove_copy(NULL);
    make_copy(NULL);
}

static void what_cannot_be_compared_stops_the_run(void **state)
{
    expect_stop(true, "holds 'hidden.layer_0', with which nothing of this model can be compared");
    rename_tensor("expected.safetensors", "hidden.layer_2", "hidden.layer_7");
    expect_stop(false, "has no tensor 'hidden.layer_2' of 1024 elements");
    rename_tensor("expected.safetensors", "grad.output_layer.weight", "grad.output_later.weight");
    expect_stop(false, "has no tensor 'grad.output_layer.weight' of 3328 elements");
    rename_tensor("weights.safetensors", "output_layer.weight", "output_later.weight");
    expect_stop(false, "tensor 'output_layer.weight' [104, 32] is missing");
    rename_tensor("weights.safetensors", "output_layer.weight", "output_later.weight");
    expect_stop(false, "'output_later.weight' [104, 32] in 'weights.safetensors' is unexpected: "
                       "the model has none of this name");
    set_key("model.padded_vocab_size", "112");
    expect_stop(false, "has logits of 104 tokens, but vocab_size is 112");
    set_key("model.ffn_hidden_size", "48");
    set_key("ffn_hidden_size", "48");
    expect_stop(false, "'decoder.layers.0.mlp.linear_fc1.weight' in 'weights.safetensors' has "
                       "shape [80, 32], expected [96, 32]");
    (void)state;
}

/* A value that is none is past every bound, wherever it stands. */
static void nan_is_outside(void **state)
{
    static const char *const tensors[] = {"logits", "loss_per_token", "hidden.layer_1",
                                          "grad.decoder.final_layernorm.weight"};
    for (int i = 0; i < 4; i++) {
        tri_error *err = tri_error_create();
        const float nan = NAN;
        char *text = NULL;
        bool failed;
        patch(tensors[i], 1, &nan, sizeof nan);
        assert_int_equal(run_copy(false, err, &failed, &text), TRI_OK);
        assert_true(failed);
        assert_non_null(strstr(text, "OUTSIDE"));
        assert_non_null(strstr(text, "28 quantities of Megatron-LM compared, 1 outside"));
        free(text);
        tri_error_destroy(&err);
        remove_copy(state);
        make_copy(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_refused_by_name),
        cmocka_unit_test(later_parts_are_refused),
        cmocka_unit_test_setup_teardown(every_key_sets_its_option, make_copy, remove_copy),
        cmocka_unit_test_setup_teardown(inputs_of_another_form_are_refused, make_copy, remove_copy),
        cmocka_unit_test_setup_teardown(what_cannot_be_compared_stops_the_run, make_copy,
                                        remove_copy),
        cmocka_unit_test_setup_teardown(nan_is_outside, make_copy, remove_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
