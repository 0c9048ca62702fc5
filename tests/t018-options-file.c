/* SPDX-License-Identifier: Apache-2.0 */
/* The run file: values, every problem at once with its place, and the round trip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "options_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void test_good_file(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    const char *text = "# a comment\n"
                       "shape: {num_layers: 12, hidden_size: 4ki, add_bias_linear: no}\n"
                       "train:\n"
                       "  lr: 3e-4\n"
                       "  min_lr: .1e-4\n"
                       "  train_iters: 1e2\n"
                       "  save: \"out: \\u00e9\"\n"
                       "  data_path: [30, corpus a, \"x\\ty\"]\n"
                       "  override: {\"decoder.layers[*].self_attention\": plain, b: 2}\n"
                       "  save_interval: null\n";
    assert_int_equal(toy_read(&toy, text), TRI_OK);
    assert_int_equal(tri_error_count(toy.err), 0);
    assert_int_equal(toy.shape.num_layers, 12);
    assert_int_equal(toy.shape.hidden_size, 4096);
    assert_false(toy.shape.add_bias_linear);
    assert_true(toy.train.lr == 3e-4 && toy.train.min_lr == 1e-5);
    assert_int_equal(toy.train.train_iters, 100);
    assert_string_equal(toy.train.save, "out: \xc3\xa9");
    assert_string_equal(toy.train.data_path, "30\ncorpus a\nx\ty");
    assert_string_equal(toy.train.override, "decoder.layers[*].self_attention=plain\nb=2");
    assert_int_equal(toy.train_origin[0], 1);
    assert_int_equal(toy.train_origin[2], 0);
    assert_int_equal(toy_read(&toy, "shape: 24\n"), TRI_OK);
    assert_int_equal(toy.shape.num_layers, 24);
    assert_int_equal(toy_read(&toy, ""), TRI_OK);
    assert_int_equal(toy_read(&toy, "# nothing\n"), TRI_OK);
    assert_int_equal(toy_read(&toy, "shape:\ntrain: ~\n"), TRI_OK);
    toy_fini(&toy);
}

/* Reads text and expects exactly the messages given, the last followed by NULL. */
static void check_problems(const char *text, const char *const *messages)
{
    struct toy toy;
    toy_init(&toy);
    assert_int_equal(toy_read(&toy, text), TRI_INVALID);
    int num = 0;
    for (; messages[num]; num++)
        assert_string_equal(tri_error_message(toy.err, num), messages[num]);
    assert_string_equal(tri_error_message(toy.err, num), "");
    toy_fini(&toy);
}

static void test_all_problems_at_once(void **state)
{
    (void)state;
    check_problems("shape:\n"
                   "  num_layer: 12\n"
                   "  hidden_size: 4\n"
                   "  lr: 3e-4\n"
                   "  hidden_size: 64\n"
                   "train:\n"
                   "  clip_grad: -1\n"
                   "  train_iters: [1, 2]\n"
                   "  zzzzzz: 1\n"
                   "  ranks: 2\n"
                   "  save: {a: b}\n"
                   "  override: {a: [1]}\n"
                   "  [x]: 1\n"
                   "  use_flash_attn: true\n"
                   "swiglu: true\n"
                   "use_flash: true\n",
                   (const char *const[]){
                       "run.yaml:2:3: unknown key 'num_layer', did you mean 'num_layers'?",
                       "run.yaml:3:16: 'hidden_size' is 4; use a number from 8 to 65536",
                       "run.yaml:4:3: 'lr' belongs to section 'train', not to 'shape'",
                       "run.yaml:5:3: 'hidden_size' is given twice, first in line 3; keep one",
                       "run.yaml:7:14: 'clip_grad' is -1; use a number 0 or more",
                       "run.yaml:8:16: 'train_iters' is a list; use one value",
                       "run.yaml:9:3: unknown key 'zzzzzz'; see --help for the known ones",
                       "run.yaml:10:3: 'ranks' is not for a run file; give it as a flag",
                       "run.yaml:11:9: 'save' is a map; use one value",
                       "run.yaml:12:17: 'override' has a list as an item; use a number or a text",
                       "run.yaml:13:3: a key is a list; use a name",
                       "run.yaml:14:3: 'use_flash_attn' is known to Megatron-LM, not to trine (it "
                       "chooses GPU kernels); leave it out",
                       "run.yaml:15:1: 'swiglu' is known to Megatron-LM, not to trine (use "
                       "activation_func); leave it out",
                       "run.yaml:16:1: unknown key 'use_flash', did you mean 'use_flash_attn', "
                       "which Megatron-LM has and trine has not (it chooses GPU kernels)?",
                       NULL});
}

static void test_sections(void **state)
{
    (void)state;
    check_problems("shap: {num_layers: 1}\n"
                   "trains:\n"
                   "num_layers: 3\n"
                   "somewhere: {lr: 1}\n"
                   "shape: [1]\n"
                   "train: out\n"
                   "train: {lr: 1}\n",
                   (const char *const[]){
                       "run.yaml:1:1: unknown section 'shap', did you mean 'shape'?",
                       "run.yaml:2:1: unknown section 'trains', did you mean 'train'?",
                       "run.yaml:3:1: 'num_layers' stands outside a section; put it into 'shape'",
                       "run.yaml:4:1: unknown section 'somewhere'; use one of shape, train",
                       "run.yaml:5:8: section 'shape' is a list; write its keys below it, one per "
                       "line",
                       "run.yaml:6:8: section 'train' is one value; write its keys below it, one "
                       "per line",
                       "run.yaml:7:1: 'train' is given twice, first in line 6; keep one", NULL});
    check_problems("just a text\n",
                   (const char *const[]){"run.yaml:1:1: the file holds no map of sections; write "
                                         "'shape:' and its keys below it",
                                         NULL});
    check_problems("train:\n  override: {a: 1, b: 2, a: 3}\n",
                   (const char *const[]){
                       "run.yaml:2:26: 'a' is given twice, first in line 2; keep one", NULL});
    check_problems("shape:\n \tnum_layers: 1\n",
                   (const char *const[]){"run.yaml:2:2: not YAML: found character that cannot "
                                         "start any token; indent with blanks, not with tabs",
                                         NULL});
    check_problems("shape: {num_layers: 1}\n---\ntrain: {lr: 1}\n",
                   (const char *const[]){
                       "run.yaml:3:1: a second document starts here; use one per file", NULL});
}

static void test_numbers_of_the_field(void **state)
{
    (void)state;
    check_problems("train:\n"
                   "  train_iters: 1.5\n"
                   "  lr: 10x\n"
                   "  clip_grad: .nan\n"
                   "  hidden_dropout: 1.0\n"
                   "  log_loss: maybe\n",
                   (const char *const[]){
                       "run.yaml:2:16: 'train_iters' is 1.5; use a whole number",
                       "run.yaml:3:7: 'lr' is '10x'; use a number, as 0.1, 3e-4 or 10k",
                       "run.yaml:4:14: 'clip_grad' is '.nan'; use a number, as 0.1, 3e-4 or 10k",
                       "run.yaml:5:19: 'hidden_dropout' is 1.0; use a number from 0 to 0.999",
                       "run.yaml:6:13: 'log_loss' is 'maybe'; use true or false", NULL});
}

static void check_not_yaml(const char *text, const char *start)
{
    struct toy toy;
    toy_init(&toy);
    assert_int_equal(toy_read(&toy, text), TRI_INVALID);
    assert_int_equal(tri_error_count(toy.err), 1);
    const char *message = tri_error_message(toy.err, 0);
    if (strncmp(message, start, strlen(start)) != 0)
        fail_msg("%s", message);
    toy_fini(&toy);
}

static void test_broken_yaml(void **state)
{
    (void)state;
    check_not_yaml("shape: {num_layers: 1\n", "run.yaml:2:1: not YAML: ");
    check_not_yaml("shape:\n\tnum_layers: 1\n", "run.yaml:2:1: not YAML: ");
    check_not_yaml("a: \xff\xfe\n", "run.yaml: byte 3: not YAML: ");
    check_not_yaml("a: *b\n", "run.yaml:1:4: not YAML: ");
    check_not_yaml("train: {save: \"a\\0b\"}\n", "run.yaml:1:15: 'save' is a text with a zero");
    char deep[4000];
    memset(deep, '[', sizeof(deep));
    struct toy toy;
    toy_init(&toy);
    assert_int_equal(
        tri_option_read_text(deep, sizeof(deep), "run.yaml", toy.bindings, 3, NULL, toy.err),
        TRI_INVALID);
    toy_fini(&toy);
}

static char *print_toy(const struct toy *toy, bool only_changed)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    tri_option_print_file(out, toy->bindings, 3, only_changed);
    fclose(out);
    return text;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct toy toy, back;
    toy_init(&toy);
    toy_init(&back);
    char *text = print_toy(&toy, true);
    assert_string_equal(text, "");
    free(text);
    const char *source =
        "shape: {num_layers: 7, position_embedding_type: none, layer_widths: [1, 2, 3]}\n"
        "train: {lr: 0.1234567890123, save: \"no\", data_path: [\"0.3\", \"a\\nb\", \"~\", x/y.z, "
        "'it''s \"q\"', \"\xc3\xa9 \\x01\"], override: {a.b: '[1, 2]', '0': 'x=y'}, log_loss: "
        "on}\n";
    assert_int_equal(toy_read(&toy, source), TRI_INVALID); /* the item with a line break */
    source = "shape: {num_layers: 7, position_embedding_type: none, layer_widths: [1, 2, 3]}\n"
             "train: {lr: 0.1234567890123, save: \"no\", data_path: [\"0.3\", \"~\", x/y.z, "
             "'it''s \"q\"', \"\xc3\xa9 \\x01 \\x9f\\N\\L\\uFEFF\"], "
             "override: {a.b: '[1, 2]', '0': 'x=y'}, log_loss: on}\n";
    assert_int_equal(toy_read(&toy, source), TRI_OK);
    for (int only_changed = 0; only_changed < 2; only_changed++) {
        text = print_toy(&toy, only_changed);
        assert_int_equal(toy_read(&back, text), TRI_OK);
        assert_memory_equal(&back.shape, &toy.shape, sizeof(toy.shape));
        assert_memory_equal(&back.train, &toy.train, sizeof(toy.train));
        free(text);
    }
    text = print_toy(&toy, true);
    assert_string_equal(text, "shape:\n"
                              "  num_layers: 7\n"
                              "  position_embedding_type: none\n"
                              "  layer_widths: [1, 2, 3]\n"
                              "train:\n"
                              "  lr: 0.1234567890123\n"
                              "  save: \"no\"\n"
                              "  data_path: [\"0.3\", \"~\", x/y.z, \"it's \\\"q\\\"\", "
                              "\"\xc3\xa9 \\x01 \\x9f\\x85\\u2028\\ufeff\"]\n"
                              "  override: {a.b: \"[1, 2]\", \"0\": \"x=y\"}\n"
                              "  log_loss: true\n");
    free(text);
    toy_fini(&toy);
    toy_fini(&back);
}

static void test_from_disk(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    char path[] = "/tmp/trine-options-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    const char *text = "train: {lr: 0.5}\n";
    assert_int_equal(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
    close(descriptor);
    assert_int_equal(tri_option_read_file(path, toy.bindings, 3, NULL, toy.err), TRI_OK);
    assert_true(toy.train.lr == 0.5);
    unlink(path);
    assert_int_equal(tri_option_read_file(path, toy.bindings, 3, NULL, toy.err), TRI_IO);
    assert_non_null(strstr(tri_error_message(toy.err, 0), "cannot open '/tmp/trine-options-"));
    tri_error_clear(toy.err);
    assert_int_equal(tri_option_read_file("/tmp", toy.bindings, 3, NULL, toy.err), TRI_IO);
    assert_string_equal(tri_error_message(toy.err, 0), "cannot read '/tmp': Is a directory");
    toy_fini(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_file),   cmocka_unit_test(test_all_problems_at_once),
        cmocka_unit_test(test_sections),    cmocka_unit_test(test_numbers_of_the_field),
        cmocka_unit_test(test_broken_yaml), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_from_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
