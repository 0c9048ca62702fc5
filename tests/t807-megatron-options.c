/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Megatron-LM's names beside the option rows: what it has and trine has not gets the same reason as a key of a
 * run file and as a flag, and where both have an option the default is the same, but for a list with reasons.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/options_inner.h"
#include "explain/megatron.h"
#include "t93-run.h"

#include <stdio.h>
#include <string.h>

static const char *const sections[] = {"shape", "spec", "placement", "train", "data", "checkpoint"};
enum { NUM_SECTIONS = sizeof sections / sizeof sections[0] };

/* The one message that text gets as a run file. */
static void one_message(struct explain_run *run, const char *text, tri_error *err)
{
    tri_error_clear(err);
    explain_run_init(run);
    tri_option_read_text(text, strlen(text), "run.yaml", run->bindings, run->num,
                         &tri_megatron_options, err);
    if (tri_error_count(err) != 1)
        fail_msg("%d messages for '%s', the first '%s'", tri_error_count(err), text,
                 tri_error_message(err, 0));
}

static void expect_message(struct explain_run *run, const char *text, const char *message,
                           tri_error *err)
{
    one_message(run, text, err);
    if (!strstr(tri_error_message(err, 0), message))
        fail_msg("'%s': '%s' instead of '%s'", text, tri_error_message(err, 0), message);
}

/* ---- Megatron-LM's names ---- */

/* What follows "is known" in the message that --name gets; "" when it is an option of trine's. */
static void flag_message(struct explain_run *run, const char *name, char *text, size_t bytes,
                         tri_error *err)
{
    char flag[160];
    const char *words[4];
    int num_words = 0;
    snprintf(flag, sizeof flag, "--%s", name);
    char *argv[] = {flag, NULL};
    tri_error_clear(err);
    explain_run_init(run);
    tri_option_read_flags(1, argv, run->bindings, run->num, &tri_megatron_options, words,
                          &num_words, err);
    const char *known = strstr(tri_error_message(err, 0), " is known to Megatron-LM");
    snprintf(text, bytes, "%s", known ? known : "");
}

static void check_word(struct explain_run *run, const char *name, const char *section,
                       tri_error *err, int *num)
{
    char of_flag[512], text[256], key[128];
    flag_message(run, name, of_flag, sizeof of_flag, err);
    if (!of_flag[0])
        return;
    snprintf(key, sizeof key, "%s", name);
    for (char *c = key; *c; c++)
        *c = *c == '-' ? '_' : *c;
    snprintf(text, sizeof text, "%s: {%s: 1}\n", section, key);
    expect_message(run, text, of_flag, err);
    ++*num;
}

/* Every name of Megatron-LM's that is no option here says the same as a flag and as a key. */
static void keys_get_the_reason_of_flags(void **state)
{
    static struct explain_run run;
    tri_error *err = tri_error_create();
    int num = 0;
    for (const struct tri_word_list *const *list = tri_megatron_words.lists; *list; list++)
        for (int i = 0; i < (*list)->num; i++)
            for (const char *names = (*list)->words[i].names; *names;) {
                char name[128];
                int length = (int)strcspn(names, " ");
                snprintf(name, sizeof name, "%.*s", length, names);
                check_word(&run, name, sections[i % NUM_SECTIONS], err, &num);
                names += length + (names[length] == ' ');
            }
    print_message("%d names of Megatron-LM's\n", num);
    assert_true(num > 600);
    expect_message(&run, "shape: {num_layer: 1}\n", "'num_layer', did you mean 'num_layers'?", err);
    expect_message(&run, "shape: {zzzzzzzzz: 1}\n", "unknown key 'zzzzzzzzz'; see --help", err);
    tri_error_destroy(&err);
    (void)state;
}

/* ---- Megatron-LM's defaults ---- */

/* Where trine's default is another: the reason why. */
static const char *const own_defaults[][2] = {
    {"num-query-groups", "1 in Megatron-LM, which looks at it with --group-query-attention only"},
    {"calculate-per-token-loss", "true here"},
    {"openai-gelu", "what Megatron-LM's fused GELU computes without it"},
    {"yarn-correction-range-round-to-int", "none in Megatron-LM, which takes that for true"},
};

static bool has_own_default(const char *word)
{
    for (size_t i = 0; i < sizeof own_defaults / sizeof own_defaults[0]; i++)
        if (strcmp(own_defaults[i][0], word) == 0)
            return true;
    return false;
}

/* True when text is the default of the option called name, or there is no such option. */
static bool is_default_text(struct explain_run *run, const char *name, const char *text)
{
    struct tri_option_found found = tri_option_lookup(name, NULL, run->bindings, run->num);
    if (!found.row)
        return true;
    explain_run_init(run);
    tri_option_set(found.row, found.binding->config, text, name, NULL);
    return tri_option_is_default(found.row, found.binding->config);
}

/* An argument's default is the option's; a flag sets what is not the default. */
static void check_default(struct explain_run *run, const struct tri_word *word, int *num)
{
    char name[128], option[128];
    bool is_flag = word->kind == TRI_WORD_FLAG || word->kind == TRI_WORD_NEGATED;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word->names, " "), word->names);
    if (!word->sets || strcmp(word->sets, "=") == 0 || has_own_default(name))
        return;
    snprintf(option, sizeof option, "%.*s", (int)strcspn(word->sets, "= "), word->sets);
    if (!tri_option_lookup(option, NULL, run->bindings, run->num).row)
        return;
    const char *value = is_flag ? strchr(word->sets, '=') + 1 : word->preset;
    if (!value)
        return;
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(value, is_flag ? " " : ""), value);
    if (is_default_text(run, option, text) == is_flag)
        fail_msg("'%s': %s is %sthe default of '%s'", name, text, is_flag ? "" : "not ", option);
    ++*num;
}

/* Of the arguments that Megatron-LM has now; older ones come from other defaults. */
static void defaults_are_megatrons(void **state)
{
    static const struct tri_word_list *const lists[] = {
        &tri_megatron_shape, &tri_megatron_spec,       &tri_megatron_placement, &tri_megatron_train,
        &tri_megatron_data,  &tri_megatron_checkpoint, &tri_megatron_logging};
    static struct explain_run run;
    int num = 0;
    explain_run_init(&run);
    for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++)
        for (int i = 0; i < lists[list]->num; i++)
            check_default(&run, &lists[list]->words[i], &num);
    print_message("%d defaults and flags\n", num);
    assert_true(num > 60);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_get_the_reason_of_flags),
        cmocka_unit_test(defaults_are_megatrons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
