/* SPDX-License-Identifier: Apache-2.0 */
/* Options as flags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "options_table.h"

struct flags_result {
    const char *positional[64];
    int num_positional;
    tri_status status;
};

/* words ends with NULL. */
static struct flags_result read_flags(struct toy *toy, const char *const *words)
{
    struct flags_result result = {{0}, 0, TRI_OK};
    int argc = 0;
    while (words[argc])
        argc++;
    tri_error_clear(toy->err);
    result.status =
        tri_option_read_flags(argc, (char **)(uintptr_t)words, toy->bindings, 3, &toy_megatron,
                              result.positional, &result.num_positional, toy->err);
    return result;
}
#define READ(toy, ...) read_flags((toy), (const char *const[]){__VA_ARGS__, NULL})

static void test_good_flags(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    struct flags_result result =
        READ(&toy, "run.yaml", "--num-layers", "3", "--lr=1e-3", "--log-loss", "second",
             "--no-add-bias-linear", "--data-path", "0.3", "-A b", "0.7", "B", "--hidden_size",
             "64", "--override", "a.b=plain", "c=1", "--ranks", "4", "--", "--lr", "-x");
    assert_string_equal(tri_error_message(toy.err, 0), "");
    assert_int_equal(result.status, TRI_OK);
    assert_int_equal(result.num_positional, 4);
    assert_string_equal(result.positional[0], "run.yaml");
    assert_string_equal(result.positional[1], "second");
    assert_string_equal(result.positional[2], "--lr");
    assert_string_equal(result.positional[3], "-x");
    assert_int_equal(toy.shape.num_layers, 3);
    assert_int_equal(toy.shape.hidden_size, 64);
    assert_true(toy.train.lr == 1e-3 && toy.train.log_loss && !toy.shape.add_bias_linear);
    assert_string_equal(toy.train.data_path, "0.3\n-A b\n0.7\nB");
    assert_string_equal(toy.train.override, "a.b=plain\nc=1");
    assert_int_equal(toy.flags.ranks, 4);
    assert_int_equal(toy.train_origin[0], 2);
    assert_int_equal(toy.train_origin[1], 0);
    READ(&toy, "--lr", "0.25", "--layer-widths", "1", "2", "--log-loss=off", "--data-path", "one");
    assert_true(toy.train.lr == 0.25 && !toy.train.log_loss);
    assert_int_equal(toy.shape.layer_widths.num, 2);
    assert_string_equal(toy.train.data_path, "one");
    READ(&toy, "--layer-widths", "[5,6,7]", "--lr", "0.5", "--lr", "0.75");
    assert_int_equal(toy.shape.layer_widths.num, 3);
    assert_true(toy.train.lr == 0.75);
    toy_fini(&toy);
}

/* Maps of the file and of each flag are laid over one another, key by key, the later one at the end. */
static void test_maps_are_merged(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    assert_int_equal(toy_read(&toy, "train: {override: {a: 1, a.b: 2, c: 3}}\n"), TRI_OK);
    READ(&toy, "--override", "d=4");
    assert_string_equal(toy.train.override, "a=1\na.b=2\nc=3\nd=4");
    READ(&toy, "--override", "a=5", "--override", "d=6", "a=7=8", "--override={c: 9}");
    assert_string_equal(toy.train.override, "a.b=2\nd=6\na=7=8\nc=9");
    READ(&toy, "--override", "c=9");
    assert_string_equal(toy.train.override, "a.b=2\nd=6\na=7=8\nc=9");
    READ(&toy, "--override", "none", "--override", "e=1");
    assert_string_equal(toy.train.override, "e=1");
    READ(&toy, "--override=e=2");
    assert_string_equal(toy.train.override, "e=2");
    for (size_t i = strlen("e=2"); i < sizeof(toy.train.override); i++)
        assert_int_equal(toy.train.override[i], 0); /* structs are compared as bytes */
    READ(&toy, "--data-path", "x", "y", "--data-path", "z");
    assert_string_equal(toy.train.data_path, "z"); /* a list is not */
    toy_fini(&toy);
}

static void test_all_problems(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    struct flags_result result =
        READ(&toy, "--num-layer", "3", "--swiglu", "--use-flash-attn=1", "--clip-grad", "-1",
             "--train-iters", "1.5", "-q", "--zzzzzz", "--log-loss=maybe", "--data-path", "--lr",
             "--no-lr", "--train-iters=", "--layer-widths", "1", "x", "--use-flash", "--save");
    static const char *const messages[] = {
        "unknown option '--num-layer', did you mean '--num-layers'?",
        "'--swiglu' is known to Megatron-LM, not to trine (use activation_func); leave it out",
        "'--use-flash-attn' is known to Megatron-LM, not to trine (it chooses GPU kernels); leave "
        "it out",
        "'--clip-grad' is -1; use a number 0 or more",
        "'--train-iters' is 1.5; use a whole number",
        "unknown option '-q'; options begin with '--'",
        "unknown option '--zzzzzz'; see --help for the known ones",
        "'--log-loss' is 'maybe'; use true or false",
        "'--data-path' needs a value",
        "'--lr' needs a value",
        "unknown option '--no-lr'; see --help for the known ones",
        "'--train-iters' needs a value",
        "'--layer-widths' is 'x', which is no number; use a whole number, as 100, 1e2 or 10k",
        "unknown option '--use-flash', did you mean '--use-flash-attn', which Megatron-LM has and "
        "trine has not (it chooses GPU kernels)?",
        "'--save' needs a value",
    };
    int num = (int)(sizeof(messages) / sizeof(messages[0]));
    assert_int_equal(result.status, TRI_INVALID);
    for (int i = 0; i < num; i++)
        assert_string_equal(tri_error_message(toy.err, i), messages[i]);
    assert_int_equal(tri_error_count(toy.err), num);
    assert_int_equal(result.num_positional, 0);
    toy_fini(&toy);
}

static void test_long_flag(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    char word[400];
    memset(word, '-', sizeof(word));
    word[399] = '\0';
    struct flags_result result = READ(&toy, word, "file");
    assert_int_equal(result.status, TRI_INVALID);
    assert_int_equal(tri_error_count(toy.err), 1);
    toy_fini(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_flags), cmocka_unit_test(test_maps_are_merged),
        cmocka_unit_test(test_all_problems), cmocka_unit_test(test_long_flag)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
