/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows: defaults, one value from text, values as text, names that are near, help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/options_inner.h"
#include "options_table.h"

#include <stdio.h>
#include <stdlib.h>

static void test_defaults(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    assert_true(toy.shape.num_layers == TRI_UNSET);
    assert_int_equal(toy.shape.hidden_size, 1000);
    assert_int_equal(toy.shape.position, 1);
    assert_true(toy.shape.add_bias_linear);
    assert_int_equal(toy.shape.layer_widths.num, 2);
    assert_int_equal(toy.shape.layer_widths.value[1], 5);
    assert_true(isnan(toy.train.lr));
    assert_true(toy.train.clip_grad == 1.0);
    assert_true(toy.train.save_interval == TRI_UNSET);
    assert_string_equal(toy.train.save, "");
    assert_string_equal(toy.train.data_path, "");
    assert_false(toy.train.log_loss);
    for (int b = 0; b < 3; b++) {
        for (int i = 0; i < toy.bindings[b].table->num_rows; i++)
            assert_true(
                tri_option_is_default(&toy.bindings[b].table->rows[i], toy.bindings[b].config));
    }
    toy_fini(&toy);
}

/* Sets one row from text; the first message must be 'message', or none if that is NULL. */
static void check_set(struct toy *toy, const char *name, const char *text, const char *message)
{
    tri_error_clear(toy->err);
    const struct tri_option *row = tri_option_find(&toy_train_table, name);
    void *config = &toy->train;
    if (!row) {
        row = tri_option_find(&toy_shape_table, name);
        config = &toy->shape;
    }
    assert_non_null(row);
    tri_status status = tri_option_set(row, config, text, "a.yaml:3:9", toy->err);
    bool is_full = message && strstr(message, "has more than");
    assert_int_equal(status, is_full ? TRI_UNSUPPORTED : message ? TRI_INVALID : TRI_OK);
    assert_string_equal(tri_error_message(toy->err, 0), message ? message : "");
}

static void test_numbers(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    check_set(&toy, "lr", "3e-4", NULL);
    assert_true(toy.train.lr == 3e-4);
    check_set(&toy, "min_lr", ".1e-4", NULL);
    assert_true(toy.train.min_lr == 1e-5);
    check_set(&toy, "train_iters", "1e2", NULL);
    assert_int_equal(toy.train.train_iters, 100);
    check_set(&toy, "train_iters", "010", NULL);
    assert_int_equal(toy.train.train_iters, 10);
    check_set(&toy, "train_iters", "1.5", "a.yaml:3:9: 'train_iters' is 1.5; use a whole number");
    check_set(&toy, "train_iters", "10x",
              "a.yaml:3:9: 'train_iters' is '10x', which is no number; use a whole number, as 100, "
              "1e2 or 10k");
    check_set(&toy, "train_iters", "1e30",
              "a.yaml:3:9: 'train_iters' is 1e30, which does not fit into 64 bits");
    check_set(&toy, "train_iters", "-1", "a.yaml:3:9: 'train_iters' is -1; use a number 0 or more");
    assert_int_equal(toy.train.train_iters, 10);
    check_set(&toy, "clip_grad", "0", NULL);
    check_set(&toy, "clip_grad", "-1", "a.yaml:3:9: 'clip_grad' is -1; use a number 0 or more");
    check_set(&toy, "clip_grad", ".nan",
              "a.yaml:3:9: 'clip_grad' is '.nan'; use a number, as 0.1, 3e-4 or 10k");
    check_set(&toy, "clip_grad", "inf", "a.yaml:3:9: 'clip_grad' is inf; use a number 0 or more");
    check_set(&toy, "clip_grad", "none",
              "a.yaml:3:9: 'clip_grad' is 'none'; use a number, as 0.1, 3e-4 or 10k");
    check_set(&toy, "lr", "0", "a.yaml:3:9: 'lr' is 0; use a number greater than 0");
    check_set(&toy, "lr", "1e999", "a.yaml:3:9: 'lr' is 1e999, which is too large for a number");
    check_set(&toy, "hidden_dropout", "1",
              "a.yaml:3:9: 'hidden_dropout' is 1; use a number from 0 to 0.999");
    check_set(&toy, "hidden_size", "4",
              "a.yaml:3:9: 'hidden_size' is 4; use a number from 8 to 65536");
    check_set(&toy, "save_interval", "5", NULL);
    check_set(&toy, "save_interval", "none", NULL);
    assert_true(toy.train.save_interval == TRI_UNSET);
    toy_fini(&toy);
}

static void test_other_types(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    static const char *const yes[] = {"true", "yes", "on", "TRUE"};
    static const char *const no[] = {"false", "no", "off", "False"};
    for (int i = 0; i < 4; i++) {
        check_set(&toy, "log_loss", yes[i], NULL);
        assert_true(toy.train.log_loss);
        check_set(&toy, "log_loss", no[i], NULL);
        assert_false(toy.train.log_loss);
    }
    check_set(&toy, "log_loss", "1", "a.yaml:3:9: 'log_loss' is '1'; use true or false");
    check_set(&toy, "position_embedding_type", "learned_absolute", NULL);
    assert_int_equal(toy.shape.position, 0);
    check_set(&toy, "position_embedding_type", "none", NULL);
    assert_int_equal(toy.shape.position, 2);
    check_set(&toy, "position_embedding_type", "ropes",
              "a.yaml:3:9: 'position_embedding_type' is 'ropes', did you mean 'rope'? use learned, "
              "rope or none");
    check_set(&toy, "position_embedding_type", "alibi",
              "a.yaml:3:9: 'position_embedding_type' is 'alibi'; use learned, rope or none");
    check_set(&toy, "save", "out/x y", NULL);
    assert_string_equal(toy.train.save, "out/x y");
    char long_text[TRI_OPTION_TEXT + 1];
    memset(long_text, 'l', sizeof(long_text));
    long_text[TRI_OPTION_TEXT] = '\0';
    check_set(&toy, "save", long_text, "a.yaml:3:9: 'save' has 1024 bytes; the limit is 1023");
    static const char *const not_utf8[] = {
        "a\xff", "\xc3", "\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"};
    for (size_t i = 0; i < sizeof(not_utf8) / sizeof(not_utf8[0]); i++) {
        const char *message = "a.yaml:3:9: 'save' is no UTF-8 text; use a name in UTF-8";
        check_set(&toy, "save", not_utf8[i], message);
    }
    check_set(&toy, "save", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xed\x9f\xbf", NULL);
    check_set(&toy, "data_path", "a\nb\xfe",
              "a.yaml:3:9: 'data_path' is no UTF-8 text; use a name in UTF-8");
    check_set(&toy, "layer_widths", "1, 2k,3", NULL);
    assert_int_equal(toy.shape.layer_widths.num, 3);
    assert_int_equal(toy.shape.layer_widths.value[1], 2000);
    check_set(&toy, "layer_widths", "[7,8]", NULL);
    assert_int_equal(toy.shape.layer_widths.num, 2);
    check_set(&toy, "layer_widths", "[7,x]",
              "a.yaml:3:9: 'layer_widths' is 'x', which is no number; use a whole number, as 100, "
              "1e2 or 10k");
    check_set(&toy, "data_path", "a b\nc", NULL);
    assert_string_equal(toy.train.data_path, "a b\nc");
    check_set(&toy, "override", "{decoder.x: plain, 'y z': fused}", NULL);
    assert_string_equal(toy.train.override, "decoder.x=plain\ny z=fused");
    check_set(&toy, "override", "nothing",
              "a.yaml:3:9: 'override' has the item 'nothing'; use "
              "KEY=VALUE");
    toy_fini(&toy);
}

static void test_list_limits(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    char *text = malloc(TRI_OPTION_LONG_TEXT + 2);
    memset(text, 'a', TRI_OPTION_LONG_TEXT + 1);
    text[TRI_OPTION_LONG_TEXT] = '\0';
    check_set(&toy, "data_path", text, "a.yaml:3:9: 'data_path' has more than 8191 bytes in all");
    text[TRI_OPTION_LONG_TEXT - 1] = '\0';
    check_set(&toy, "data_path", text, NULL);
    assert_string_equal(toy.train.data_path, text);
    for (int i = 0; i < 2 * (TRI_OPTION_MAX_ITEMS + 1); i++)
        text[i] = i % 2 ? ',' : '7';
    text[2 * (TRI_OPTION_MAX_ITEMS + 1)] = '\0';
    check_set(&toy, "layer_widths", text, "a.yaml:3:9: 'layer_widths' has more than 512 items");
    text[2 * TRI_OPTION_MAX_ITEMS - 1] = '\0';
    check_set(&toy, "layer_widths", text, NULL);
    assert_int_equal(toy.shape.layer_widths.num, TRI_OPTION_MAX_ITEMS);
    free(text);
    toy_fini(&toy);
}

static void test_format(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    char text[64];
    const struct tri_option *lr = tri_option_find(&toy_train_table, "lr");
    const struct tri_option *paths = tri_option_find(&toy_train_table, "data-path");
    tri_option_format(lr, &toy.train, text, sizeof(text));
    assert_string_equal(text, "none");
    toy.train.lr = 6e-4;
    tri_option_format(lr, &toy.train, text, sizeof(text));
    assert_string_equal(text, "0.0006");
    assert_false(tri_option_is_default(lr, &toy.train));
    check_set(&toy, "data_path", "30\nA b\nno", NULL);
    tri_option_format(paths, &toy.train, text, sizeof(text));
    assert_string_equal(text, "[\"30\", \"A b\", \"no\"]");
    tri_option_format(paths, &toy.train, text, 8);
    assert_string_equal(text, "[\"30\", ");
    tri_option_format(tri_option_find(&toy_shape_table, "layer_widths"), &toy.shape, text,
                      sizeof(text));
    assert_string_equal(text, "[4, 5]");
    toy_fini(&toy);
}

static void test_nearest(void **state)
{
    (void)state;
    struct toy toy;
    toy_init(&toy);
    assert_string_equal(tri_option_nearest("num_layer", toy.bindings, 3), "num_layers");
    assert_string_equal(tri_option_nearest("hiden-size", toy.bindings, 3), "hidden_size");
    assert_string_equal(tri_option_nearest("rank", toy.bindings, 3), "ranks");
    assert_null(tri_option_nearest("completely_different", toy.bindings, 3));
    assert_null(tri_option_nearest("", toy.bindings, 3));
    char long_name[300];
    memset(long_name, 'n', sizeof(long_name));
    long_name[299] = '\0';
    assert_null(tri_option_nearest(long_name, toy.bindings, 3));
    toy_fini(&toy);
}

static const struct tri_option_table *const all_tables[] = {&toy_shape_table, &toy_train_table,
                                                            &toy_flag_table};

static void test_help(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    tri_option_print_help(out, all_tables, 3, true);
    fclose(out);
    assert_non_null(strstr(text, "  --hidden-size N"));
    assert_non_null(strstr(text, "width of the residual stream [1k]\n"));
    assert_null(strstr(text, "--layer-widths"));
    free(text);
    out = open_memstream(&text, &bytes);
    tri_option_print_help(out, all_tables, 3, false);
    fclose(out);
    assert_non_null(strstr(text, "  --layer-widths N..."));
    assert_non_null(strstr(text, "whole number from 8 to 65536; default 1k\n"));
    assert_non_null(strstr(text, "choice of learned, rope, none; default rope\n"));
    assert_non_null(strstr(text, "whole number 0 or more, in steps; default none\n"));
    assert_non_null(strstr(text, "; default none; only with save and without log_loss\n"));
    assert_non_null(strstr(text, "\nflags:\n"));
    free(text);
}

static void format_owner(const struct tri_option_table *table, const struct tri_option *row,
                         char *buffer, size_t bytes)
{
    snprintf(buffer, bytes, "%s's %s", table->section, row->name);
}

static void test_markdown(void **state)
{
    (void)state;
    static const struct tri_option_column columns[] = {{"shape", "owner", format_owner},
                                                       {NULL, NULL, NULL}};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    tri_option_print_markdown(out, all_tables, 3, columns);
    fclose(out);
    assert_non_null(strstr(text, "## shape\n\n| name | type | default | range | unit | owner | "
                                 "meaning |\n|---|---|---|---|---|---|---|\n"));
    assert_non_null(strstr(text, "| `num_layers` | whole number | none | greater than 0 |  | "
                                 "shape's num_layers | transformer layers |\n"));
    assert_non_null(strstr(text, "\n\n## train\n\n| name | type | default | range | unit | meaning "
                                 "|\n|---|---|---|---|---|---|\n"));
    assert_non_null(strstr(text,
                           "| `hidden_dropout` | number | 0.1 | from 0 to 0.999 |  | share of "
                           "zeroed \\| activations |\n"));
    assert_non_null(strstr(text, "| Smallest learning rate. Only with lr. |\n"));
    assert_non_null(strstr(text, "| steps between two checkpoints; only with save and without "
                                 "log_loss |\n"));
    free(text);
}

static bool has_effect(struct toy *toy, const char *name, char *cause)
{
    struct tri_option_found found = tri_option_lookup(name, NULL, toy->bindings, 3);
    assert_non_null(found.row);
    snprintf(cause, 256, "nothing");
    return tri_option_has_effect(found.row, toy->bindings, 3, cause, 256);
}

static void test_conditions(void **state)
{
    (void)state;
    struct toy toy;
    char cause[256];
    toy_init(&toy);
    assert_true(has_effect(&toy, "lr", cause));
    assert_string_equal(cause, "");
    assert_false(has_effect(&toy, "layer_widths", cause));
    assert_string_equal(cause, "add_bias_linear is true and hidden_size is 1000");
    toy.shape.add_bias_linear = false;
    assert_true(has_effect(&toy, "layer_widths", cause));
    toy.shape.add_bias_linear = true;
    toy.shape.hidden_size = 2001;
    assert_true(has_effect(&toy, "layer_widths", cause));
    assert_false(has_effect(&toy, "min_lr", cause));
    assert_string_equal(cause, "lr is none");
    assert_false(has_effect(&toy, "log_loss", cause)); /* what is not bound is no obstacle */
    assert_string_equal(cause, "save is none");
    snprintf(toy.train.save, sizeof(toy.train.save), "out");
    assert_true(has_effect(&toy, "log_loss", cause));
    assert_true(has_effect(&toy, "save_interval", cause));
    toy.train.log_loss = true;
    assert_false(has_effect(&toy, "save_interval", cause));
    assert_string_equal(cause, "log_loss is true");
    assert_false(tri_option_has_effect(tri_option_find(&toy_train_table, "save_interval"),
                                       toy.bindings, 3, NULL, 0));
    toy_fini(&toy);
}

static void test_condition_texts(void **state)
{
    (void)state;
    char text[256];
    tri_option_when_text(tri_option_find(&toy_shape_table, "layer_widths"), text, sizeof(text));
    assert_string_equal(text, "only with position_embedding_type learned, rope or none and without "
                              "add_bias_linear, or with hidden_size above 2000");
    tri_option_when_text(tri_option_find(&toy_train_table, "save_interval"), text, sizeof(text));
    assert_string_equal(text, "only with save and without log_loss");
    tri_option_when_text(tri_option_find(&toy_train_table, "lr"), text, sizeof(text));
    assert_string_equal(text, "");
}

/* What is noted has its place, or is a flag; nothing else is. */
static void test_notes(void **state)
{
    (void)state;
    struct toy toy;
    char *flags[] = {"--log-loss", "--save-interval=4"};
    const char *words[2];
    int num_words = 0;
    toy_init(&toy);
    assert_int_equal(toy_read(&toy, "train:\n  clip_grad: 2\n\n  min_lr: 0.5\n"), TRI_OK);
    tri_option_drop_idle(toy.bindings, 3, toy.err);
    assert_int_equal(tri_error_note_count(toy.err), 1);
    assert_string_equal(tri_error_note_message(toy.err, 0),
                        "run.yaml:4: 'min_lr' has no effect: lr is none");
    assert_int_equal(toy_read(&toy, "train: {lr: 0.7}"), TRI_OK);
    tri_option_read_flags(2, flags, toy.bindings, 3, NULL, words, &num_words, toy.err);
    tri_option_drop_idle(toy.bindings, 3, toy.err);
    assert_int_equal(tri_error_note_count(toy.err), 1);
    assert_string_equal(tri_error_note_message(toy.err, 0),
                        "'--save-interval', '--log-loss' have no effect: save is none");
    toy_fini(&toy);
}

/* Megatron-LM's name when it is the nearer one. */
static void test_guess(void **state)
{
    (void)state;
    static const char theirs[] = "which Megatron-LM has and trine has not (it chooses GPU kernels)";
    struct toy toy;
    char text[256], wanted[256];
    toy_init(&toy);
    assert_true(tri_option_guess("num-layer", toy.bindings, 3, &toy_megatron, text, sizeof(text)));
    assert_string_equal(text, "'num_layers'");
    assert_true(tri_option_guess("--num_layer", toy.bindings, 3, NULL, text, sizeof(text)));
    assert_string_equal(text, "'--num-layers'");
    snprintf(wanted, sizeof(wanted), "'use_flash_attn', %s", theirs);
    assert_true(tri_option_guess("use_flash_atn", toy.bindings, 3, &toy_megatron, text, 256));
    assert_string_equal(text, wanted);
    snprintf(wanted, sizeof(wanted), "'--use-flash-attn', %s", theirs);
    assert_true(tri_option_guess("--use_flash_atn", toy.bindings, 3, &toy_megatron, text, 256));
    assert_string_equal(text, wanted);
    assert_false(tri_option_guess("--use_flash_atn", toy.bindings, 3, NULL, text, sizeof(text)));
    assert_true(tri_option_guess("log_lossi", toy.bindings, 3, &toy_megatron, text, sizeof(text)));
    assert_string_equal(text, "'log_loss'"); /* both are as near */
    assert_true(tri_option_guess("log_lossyy", toy.bindings, 3, &toy_megatron, text, sizeof(text)));
    assert_string_equal(text, "'log_lossy', which Megatron-LM has and trine has not (it is another "
                              "loss)");
    assert_false(tri_option_guess("zzzzzzzz", toy.bindings, 3, &toy_megatron, text, sizeof(text)));
    toy_fini(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),    cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_other_types), cmocka_unit_test(test_list_limits),
        cmocka_unit_test(test_format),      cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_help),        cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_conditions),  cmocka_unit_test(test_condition_texts),
        cmocka_unit_test(test_notes),       cmocka_unit_test(test_guess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
