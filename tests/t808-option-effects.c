/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row that has a condition: a value that a file or a flag gives is noted once, with its place and what
 * stands in its way, when one term of the condition does not hold, and not when all do; nor is a default, or a
 * value that nobody gave. What is noted is set back to its default. A row that is refused instead is not noted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t80-conditions.h"
#include "train/run_config.h"

#include <stdio.h>

struct request {
    struct tri_run_config config;
    struct tri_shape_short given;
    struct tri_run_facts facts;
    unsigned char origins[TRI_RUN_MAX_BINDINGS + 1][TRI_RUN_MAX_ROWS];
    struct tri_option_place places[TRI_RUN_MAX_BINDINGS + 1][TRI_RUN_MAX_ROWS];
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS + 2];
    int num; /* with the facts as the last one */
    tri_error *err;
};

static struct request request;

static void start(void)
{
    memset(&request, 0, sizeof request);
    tri_run_config_set_defaults(&request.config);
    tri_option_set_defaults(&tri_shape_short_options, &request.given);
    tri_option_set_defaults(&tri_run_fact_options, &request.facts);
    request.num = tri_run_bind(&request.config, request.bindings);
    request.bindings[request.num++] =
        (struct tri_option_binding){.table = &tri_shape_short_options, .config = &request.given};
    for (int i = 0; i < request.num; i++) {
        request.bindings[i].origin = request.origins[i];
        request.bindings[i].places = request.places[i];
    }
    request.bindings[request.num++] =
        (struct tri_option_binding){.table = &tri_run_fact_options, .config = &request.facts};
    request.err = tri_error_create();
}

static void give_in_file(const char *section, const char *name, const char *value)
{
    char text[256];
    snprintf(text, sizeof text, "\n%s:\n  %s: %s\n", section, name, value);
    if (tri_option_read_text(text, strlen(text), "run.yaml", request.bindings, request.num - 1,
                             NULL, request.err) != TRI_OK)
        fail_msg("%s", tri_error_message(request.err, 0));
}

/* A boolean's flag alone says its value. */
static void flag_of(const struct tri_option *row, const char *value, char *flag, size_t bytes)
{
    tri_option_flag_text(row, flag, bytes);
    if (row->type == TRI_OPTION_BOOL && strcmp(value, "false") == 0)
        snprintf(flag, bytes, "--no-%s", row->name);
    for (char *c = flag; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

static void give_by_flag(const struct tri_option *row, const char *value)
{
    char flag[TERM_TEXT];
    const char *words[2];
    int num_words = 0;
    flag_of(row, value, flag, sizeof flag);
    char *argv[] = {flag, (char *)(uintptr_t)value};
    if (tri_option_read_flags(row->type == TRI_OPTION_BOOL ? 1 : 2, argv, request.bindings,
                              request.num - 1, NULL, words, &num_words, request.err) != TRI_OK)
        fail_msg("%s", tri_error_message(request.err, 0));
}

enum way { BY_NOBODY, BY_FILE, BY_FLAG, AS_DEFAULT };

/* The notes that row gets with its condition broken at one term (-1: nowhere). */
static void give(const struct tri_option_table *table, const struct tri_option *row, int broken,
                 enum way way)
{
    char value[TERM_TEXT];
    start();
    set_terms(row, broken, 0, request.bindings, request.num);
    some_value(row, value, sizeof value);
    struct tri_option_found found =
        tri_option_lookup(row->name, NULL, request.bindings, request.num);
    if (way == BY_NOBODY)
        tri_option_set(row, found.binding->config, value, "", NULL);
    else if (way == BY_FILE)
        give_in_file(table->section, row->name, value);
    else if (way == BY_FLAG)
        give_by_flag(row, value);
    else if (row->default_text && row->default_text[0])
        give_in_file(table->section, row->name, row->default_text);
    tri_option_drop_idle(request.bindings, request.num, request.err);
}

static void expect_none(const char *name, const char *what)
{
    if (tri_error_note_count(request.err) != 0)
        fail_msg("'%s' %s: '%s'", name, what, tri_error_note_message(request.err, 0));
    tri_error_destroy(&request.err);
}

/* One note that begins with subject and names what is in the way. */
static void expect_note(const struct tri_option *row, const char *subject,
                        const struct condition_term *term)
{
    char start_text[512], cause[256];
    snprintf(start_text, sizeof start_text, "%.256s has no effect: ", subject);
    snprintf(cause, sizeof cause, "%.127s is ", term->name);
    const char *note = tri_error_note_message(request.err, 0);
    if (tri_error_note_count(request.err) != 1)
        fail_msg("'%s' has %d notes beside a wrong '%s', the first '%s'", row->name,
                 tri_error_note_count(request.err), term->name, note);
    if (strncmp(note, start_text, strlen(start_text)) != 0 || !strstr(note, cause))
        fail_msg("'%s': '%s' instead of '%s ... %s'", row->name, note, start_text, cause);
    tri_error_destroy(&request.err);
}

static const void *config_of(const struct tri_option *row)
{
    return tri_option_lookup(row->name, NULL, request.bindings, request.num).binding->config;
}

static void check_row(const struct tri_option_table *table, const struct tri_option *row)
{
    struct condition_term terms[MAX_TERMS];
    char place[256], flag[256], value[TERM_TEXT];
    int num = condition_terms(row, terms);
    some_value(row, value, sizeof value);
    snprintf(place, sizeof place, "run.yaml:3: '%s'", row->name);
    flag[0] = '\'';
    flag_of(row, value, flag + 1, sizeof flag - 2);
    strncat(flag, "'", 2);
    for (int broken = 0; broken < num; broken++) {
        for (enum way way = BY_NOBODY; way <= AS_DEFAULT; way++) {
            bool is_noted = (way == BY_FILE || way == BY_FLAG) && !(row->flags & TRI_OPTION_NEEDS);
            give(table, row, broken, way);
            if (is_noted && !tri_option_is_default(row, config_of(row)))
                fail_msg("'%s' is noted and kept", row->name);
            if ((way == BY_FILE || way == BY_FLAG) && !is_noted &&
                tri_option_is_default(row, config_of(row)))
                fail_msg("'%s' is not noted and set back", row->name);
            if (is_noted)
                expect_note(row, way == BY_FILE ? place : flag, &terms[broken]);
            else
                expect_none(row->name, "that nobody gave, or that is refused, is noted");
        }
    }
    give(table, row, -1, BY_FILE);
    expect_none(row->name, "in a file is noted where it acts");
    give(table, row, -1, BY_FLAG);
    expect_none(row->name, "by flag is noted where it acts");
}

static const struct tri_option_table *table_of(int i)
{
    return i < request.num - 1 ? request.bindings[i].table : NULL;
}

static void rows_are_noted_where_they_do_not_act(void **state)
{
    int num = 0;
    start();
    tri_error_destroy(&request.err);
    const struct tri_option_table *table;
    for (int t = 0; (table = table_of(t)); t++)
        for (int r = 0; r < table->num_rows; r++)
            if (table->rows[r].when) {
                check_row(table, &table->rows[r]);
                num++;
            }
    print_message("%d rows have a condition\n", num);
    assert_true(num > 50);
    (void)state;
}

/* ---- several at once ---- */

static void give_flags(int num, const char *const *flags)
{
    const char *words[16];
    int num_words = 0;
    assert_int_equal(tri_option_read_flags(num, (char **)(uintptr_t)flags, request.bindings,
                                           request.num - 1, NULL, words, &num_words, request.err),
                     TRI_OK);
}

/* Flags of one cause are told in one line, those of a file each with its own. */
static void one_cause_is_one_line(void **state)
{
    const char *const flags[] = {"--rotary-base",
                                 "500",
                                 "--save-interval",
                                 "3",
                                 "--rope-scaling-factor",
                                 "4",
                                 "--no-yarn-correction-range-round-to-int",
                                 "--keep-last",
                                 "2"};
    static const char *const notes[] = {
        "run.yaml:3: 'beta_fast' has no effect: position_embedding_type is learned_absolute",
        "run.yaml:3: 'ckpt_step' has no effect: load is none",
        "'--rope-scaling-factor', '--no-yarn-correction-range-round-to-int', '--rotary-base' have "
        "no effect: position_embedding_type is learned_absolute",
        "'--save-interval', '--keep-last' have no effect: save is none",
    };
    start();
    give_flags(9, flags);
    give_in_file("shape", "beta_fast", "3");
    give_in_file("checkpoint", "ckpt_step", "3");
    tri_option_drop_idle(request.bindings, request.num, request.err);
    assert_int_equal(tri_error_note_count(request.err), 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(tri_error_note_message(request.err, i), notes[i]);
    tri_error_destroy(&request.err);
    (void)state;
}

/* The short form --use-rotary-position-embeddings counts as what it stands for. */
static void short_forms_count(void **state)
{
    const char *const flags[] = {"--rotary-base", "500", "--use-rotary-position-embeddings"};
    for (int num = 2; num <= 3; num++) {
        start();
        give_flags(num, flags);
        tri_run_config_complete(request.bindings, request.num, &request.given, &request.config,
                                request.err);
        assert_int_equal(tri_error_note_count(request.err), num == 2 ? 1 : 0);
        tri_error_destroy(&request.err);
    }
    (void)state;
}

/* The size of the world decides about what only several replicas need. */
static void the_world_counts(void **state)
{
    char *words[] = {
        "--ddp-bucket-size", "1000", "--ranks", "4", "--tensor-model-parallel-size", "2"};
    static const struct {
        int num_words, num_processes, num_notes;
    } worlds[] = {{2, 0, 1}, {2, 1, 1}, {2, 2, 0}, {4, 0, 0}, {4, 1, 1}, {6, 0, 0}, {6, 2, 1}};
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++) {
        tri_error *err = tri_error_create();
        assert_int_equal(tri_run_config_read(worlds[i].num_words, words, worlds[i].num_processes,
                                             NULL, &request.config, err),
                         TRI_OK);
        assert_int_equal(tri_error_note_count(err), worlds[i].num_notes);
        tri_error_destroy(&err);
    }
    (void)state;
}

/* ---- what conditions say ---- */

/* A name that no table has would always hold. */
static void conditions_name_options(void **state)
{
    start();
    tri_error_destroy(&request.err);
    const struct tri_option_table *table;
    for (int t = 0; (table = table_of(t)); t++)
        for (int r = 0; r < table->num_rows; r++) {
            char text[512], *rest = text, *word;
            snprintf(text, sizeof text, "%s", table->rows[r].when ? table->rows[r].when : "");
            while ((word = strsep(&rest, " "))) {
                char *name = word + (word[0] == '!');
                char *values = strpbrk(name, "=>");
                if (!name[0] || strcmp(name, "or") == 0)
                    continue;
                if (values)
                    *values++ = '\0';
                struct tri_option_found found =
                    tri_option_lookup(name, NULL, request.bindings, request.num);
                if (!found.row)
                    fail_msg("'%s' asks for '%s', which is no option", table->rows[r].name, name);
                for (char *value; found.row->choices && (value = strsep(&values, "|"));)
                    if (tri_option_set(found.row, found.binding->config, value, "", NULL) != TRI_OK)
                        fail_msg("'%s' asks for '%s' %s", table->rows[r].name, name, value);
            }
        }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_noted_where_they_do_not_act),
        cmocka_unit_test(one_cause_is_one_line),
        cmocka_unit_test(short_forms_count),
        cmocka_unit_test(the_world_counts),
        cmocka_unit_test(conditions_name_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
