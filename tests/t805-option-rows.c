/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All rows of all tables of a run: what is printed reads back to the same values, whatever the value, and an
 * option in a section that is not its own is told the right one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/options_inner.h"
#include "t93-run.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const sections[] = {"shape", "spec", "placement", "train", "data", "checkpoint"};
enum { NUM_SECTIONS = sizeof sections / sizeof sections[0] };

static void *field_of(const struct tri_option *row, void *config)
{
    return (char *)config + row->offset;
}

static bool same_field(const struct tri_option *row, void *a, void *b)
{
    const void *x = field_of(row, a), *y = field_of(row, b);
    switch (row->type) {
    case TRI_OPTION_BOOL:
        return *(const bool *)x == *(const bool *)y;
    case TRI_OPTION_INT:
    case TRI_OPTION_CHOICE:
        return *(const int64_t *)x == *(const int64_t *)y;
    case TRI_OPTION_DOUBLE:
        return (isnan(*(const double *)x) && isnan(*(const double *)y)) ||
               memcmp(x, y, sizeof(double)) == 0;
    case TRI_OPTION_STRING:
    case TRI_OPTION_STRINGS:
    case TRI_OPTION_JSON:
    case TRI_OPTION_MAP:
        return strcmp(x, y) == 0;
    case TRI_OPTION_INTS: {
        const struct tri_option_list *p = x, *q = y;
        return p->num == q->num &&
               memcmp(p->value, q->value, (size_t)p->num * sizeof p->value[0]) == 0;
    }
    }
    return false;
}

/* A choice among one has no other value. */
static bool has_values(const struct tri_option *row)
{
    return row->type != TRI_OPTION_CHOICE || row->choices[1];
}

/* ---- there and back ---- */

static char *print_config(const struct tri_run_config *config, bool only_changed)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    tri_run_config_print(out, config, only_changed);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void check_back(struct tri_run_config *config, const char *what, bool only_changed)
{
    static struct tri_run_config back;
    struct tri_option_binding own[TRI_RUN_MAX_BINDINGS], bindings[TRI_RUN_MAX_BINDINGS];
    tri_error *err = tri_error_create();
    char *text = print_config(config, only_changed);
    tri_run_config_set_defaults(&back);
    int num = tri_run_bind(&back, bindings);
    tri_run_bind(config, own);
    if (tri_option_read_text(text, strlen(text), "run.yaml", bindings, num, NULL, err) != TRI_OK)
        fail_msg("%s: %s\n%.2000s", what, tri_error_message(err, 0), text);
    for (int b = 0; b < num; b++)
        for (int r = 0; r < own[b].table->num_rows; r++)
            if (!same_field(&own[b].table->rows[r], own[b].config, bindings[b].config))
                fail_msg("%s: '%s' is another one once read back\n%.2000s", what,
                         own[b].table->rows[r].name, text);
    char *again = print_config(&back, only_changed);
    if (strcmp(text, again) != 0)
        fail_msg("%s: printed again it is another text", what);
    free(again);
    free(text);
    tri_error_destroy(&err);
}

/* Checks config once more when row has a value that no value before it was. */
static void check_value(struct tri_run_config *config, const struct tri_option *row)
{
    check_back(config, row->name, false);
    check_back(config, row->name, true);
}

static const char *const texts[] = {
    "a",
    "a b",
    " a ",
    "12",
    "1e3",
    "true",
    "NO",
    "off",
    "a: b # c",
    "\"q\" \\ 'r'",
    "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80",
    "{x: [y]}",
    "[1, 2]",
    "- a",
    "tab\there",
    "\x01\x1f\x7f",
    "&a",
    "*a",
    "!t",
    "@x",
    "%y",
    "`z`",
    "?",
    ":",
    "#",
    "|",
    ">",
    "a,b",
    "/dir with/blank",
    "0x10",
    ".inf",
    "---",
    "...",
    "<<",
    "=",
    "a\\nb",
    "'",
    "\"",
    "2026-01-01",
    "\xc2\x85\xe2\x80\xa8",
    "\xef\xbb\xbf",
};
enum { NUM_TEXTS = sizeof texts / sizeof texts[0] };

static bool set(const struct tri_option *row, void *config, const char *text)
{
    return tri_option_set(row, config, text, row->name, NULL) == TRI_OK;
}

/* Sets row to number i of the values it can have; false past the last. Values that the row refuses are
   left out by the caller: the field is as it was. */
static bool set_number(const struct tri_option *row, void *config, int i)
{
    static const double reals[] = {0.1 + 0.2, 1.0 / 3,     DBL_MIN, 5e-324,  DBL_MAX,
                                   1e22,      123456789.0, -0.7,    2.0 / 3, 0};
    static const int64_t wholes[] = {1, 2, 7, 1000, 65536, 9007199254740993, INT64_MAX, -1, 0};
    char text[64];
    bool is_real = row->type == TRI_OPTION_DOUBLE;
    if (i >=
        (is_real ? (int)(sizeof reals / sizeof reals[0]) : (int)(sizeof wholes / sizeof wholes[0])))
        return false;
    if (is_real)
        snprintf(text, sizeof text, "%.17g", reals[i]);
    else
        snprintf(text, sizeof text, "%lld", (long long)wholes[i]);
    set(row, config, text);
    return true;
}

static bool set_text(const struct tri_option *row, void *config, int i)
{
    if (i < NUM_TEXTS)
        return set(row, config, texts[i]);
    if (i == NUM_TEXTS)
        return set(row, config, "two\nlines\n");
    if (i > NUM_TEXTS + 1)
        return false;
    char text[TRI_OPTION_TEXT];
    memset(text, '"', sizeof text);
    text[sizeof text - 1] = '\0';
    return set(row, config, text);
}

/* Lists of one text each, then all texts, then nothing. */
static bool set_items(const struct tri_option *row, void *config, int i)
{
    char *field = field_of(row, config);
    if (i > NUM_TEXTS + 1)
        return false;
    memset(field, 0, TRI_OPTION_LONG_TEXT);
    for (int t = 0; t < NUM_TEXTS; t++) {
        const char *key = row->type == TRI_OPTION_MAP ? texts[NUM_TEXTS - 1 - t] : NULL;
        bool is_wanted = t == i || i == NUM_TEXTS;
        if (is_wanted && !(key && strchr(key, '=')))
            assert_int_equal(tri_option_append(row, config, key, texts[t], "test", NULL), TRI_OK);
    }
    return true;
}

static bool set_list(const struct tri_option *row, void *config, int i)
{
    static const int64_t num[] = {1, 2, TRI_OPTION_MAX_ITEMS, 0};
    struct tri_option_list list = {.num = i < 4 ? num[i] : 0};
    for (int64_t k = 0; k < list.num; k++)
        list.value[k] = k % 2 ? 9 + k : 1;
    *(struct tri_option_list *)field_of(row, config) = list;
    return i < 4;
}

static bool set_value(const struct tri_option *row, void *config, int i)
{
    switch (row->type) {
    case TRI_OPTION_BOOL:
        *(bool *)field_of(row, config) = i == 0;
        return i < 2;
    case TRI_OPTION_CHOICE:
        *(int64_t *)field_of(row, config) = i;
        return row->choices[i];
    case TRI_OPTION_INT:
    case TRI_OPTION_DOUBLE:
        return set_number(row, config, i);
    case TRI_OPTION_STRING:
    case TRI_OPTION_JSON:
        return set_text(row, config, i);
    case TRI_OPTION_STRINGS:
    case TRI_OPTION_MAP:
        return set_items(row, config, i);
    case TRI_OPTION_INTS:
        return set_list(row, config, i);
    }
    return false;
}

static void every_value_comes_back(void **state)
{
    static struct tri_run_config config;
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS];
    tri_run_config_set_defaults(&config);
    check_back(&config, "the defaults", false);
    check_back(&config, "the defaults", true);
    int num = tri_run_bind(&config, bindings), num_values = 0;
    for (int b = 0; b < num; b++)
        for (int r = 0; r < bindings[b].table->num_rows; r++) {
            const struct tri_option *row = &bindings[b].table->rows[r];
            bool is_changed = false;
            for (int i = 0;; i++) {
                tri_run_config_set_defaults(&config);
                if (!set_value(row, bindings[b].config, i))
                    break;
                if (tri_option_is_default(row, bindings[b].config))
                    continue;
                is_changed = true;
                num_values++;
                check_value(&config, row);
            }
            if (!is_changed && has_values(row))
                fail_msg("no value of '%s' differs from its default", row->name);
        }
    print_message("%d values of rows came back\n", num_values);
    (void)state;
}

/* A text whose default is a word can be no text at all. */
static void unset_comes_back(void **state)
{
    static struct tri_run_config config;
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS];
    int num = tri_run_bind(&config, bindings);
    for (int b = 0; b < num; b++)
        for (int r = 0; r < bindings[b].table->num_rows; r++) {
            const struct tri_option *row = &bindings[b].table->rows[r];
            tri_run_config_set_defaults(&config);
            if (set(row, bindings[b].config, "none"))
                check_value(&config, row);
        }
    (void)state;
}

static void all_rows_at_once_come_back(void **state)
{
    static struct tri_run_config config;
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS];
    tri_run_config_set_defaults(&config);
    int num = tri_run_bind(&config, bindings);
    for (int b = 0; b < num; b++)
        for (int r = 0; r < bindings[b].table->num_rows; r++) {
            const struct tri_option *row = &bindings[b].table->rows[r];
            for (int i = 0; has_values(row) && tri_option_is_default(row, bindings[b].config); i++)
                assert_true(set_value(row, bindings[b].config, i));
        }
    check_back(&config, "all rows", false);
    check_back(&config, "all rows", true);
    (void)state;
}

/* ---- sections ---- */

/* The one message that text gets as a run file. */
static void one_message(struct explain_run *run, const char *text, tri_error *err)
{
    tri_error_clear(err);
    explain_run_init(run);
    tri_option_read_text(text, strlen(text), "run.yaml", run->bindings, run->num, NULL, err);
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

static void check_sections(struct explain_run *run, const char *name, const char *home,
                           tri_error *err)
{
    char text[256], message[256];
    for (int s = 0; s < NUM_SECTIONS; s++) {
        if (strcmp(sections[s], home) == 0)
            continue;
        snprintf(text, sizeof text, "%s: {%s: 1}\n", sections[s], name);
        snprintf(message, sizeof message, ": '%s' belongs to section '%s', not to '%s'", name, home,
                 sections[s]);
        expect_message(run, text, message, err);
    }
    snprintf(text, sizeof text, "%s: 1\n", name);
    snprintf(message, sizeof message, ": '%s' stands outside a section; put it into '%s'", name,
             home);
    expect_message(run, text, message, err);
}

/* Every option in every section but its own, and outside of all. */
static void other_sections_name_the_right_one(void **state)
{
    static struct explain_run run;
    tri_error *err = tri_error_create();
    explain_run_init(&run);
    for (int b = 0; b < run.num; b++) {
        const struct tri_option_table *table = run.bindings[b].table;
        for (int r = 0; r < table->num_rows; r++) {
            for (int other = 0; other < run.num; other++) {
                const struct tri_option *twin =
                    tri_option_find(run.bindings[other].table, table->rows[r].name);
                if (twin && twin != &table->rows[r])
                    fail_msg("'%s' has two rows", twin->name);
            }
            check_sections(&run, table->rows[r].name, table->section, err);
        }
    }
    tri_error_destroy(&err);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_comes_back),
        cmocka_unit_test(unset_comes_back),
        cmocka_unit_test(all_rows_at_once_come_back),
        cmocka_unit_test(other_sections_name_the_right_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
