/* SPDX-License-Identifier: Apache-2.0 */
/* The log: prefixes, levels, long lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"

#include <stdio.h>
#include <string.h>

struct lines {
    int num;
    char last[TRI_LOG_LINE];
    enum tri_log_level level;
};

static void keep_line(void *arg, enum tri_log_level level, int rank, const char *line)
{
    (void)rank;
    struct lines *lines = arg;
    lines->num++;
    lines->level = level;
    snprintf(lines->last, sizeof(lines->last), "%s", line);
}

static void test_prefixes(void **state)
{
    (void)state;
    struct lines lines = {0};
    struct tri_log log = {.sink = keep_line, .arg = &lines};
    tri_log_write(&log, TRI_LOG_INFO, "step %d", 5);
    assert_string_equal(lines.last, "step 5");
    tri_log_write(&log, TRI_LOG_WARNING, "low");
    assert_string_equal(lines.last, "warning: low");
    log.rank = 3;
    tri_log_write(&log, TRI_LOG_INFO, "here");
    assert_string_equal(lines.last, "rank 3: here");
    tri_log_write(&log, TRI_LOG_ERROR, "bad");
    assert_string_equal(lines.last, "rank 3: error: bad");
    assert_int_equal(lines.level, TRI_LOG_ERROR);
    assert_int_equal(lines.num, 4);
    log.least = TRI_LOG_ERROR;
    tri_log_write(&log, TRI_LOG_WARNING, "quiet");
    log.sink = NULL;
    tri_log_write(&log, TRI_LOG_ERROR, "nowhere");
    tri_log_write(NULL, TRI_LOG_ERROR, "nowhere");
    assert_int_equal(lines.num, 4);
}

static void test_long_line(void **state)
{
    (void)state;
    struct lines lines = {0};
    struct tri_log log = {.sink = keep_line, .arg = &lines};
    char text[TRI_LOG_LINE + 1];
    memset(text, 'x', sizeof(text));
    text[TRI_LOG_LINE] = '\0';
    tri_log_write(&log, TRI_LOG_INFO, "%s", text + 1);
    assert_string_equal(lines.last, text + 1);
    tri_log_write(&log, TRI_LOG_INFO, "%s", text);
    assert_int_equal(strlen(lines.last), TRI_LOG_LINE - 1);
    assert_string_equal(lines.last + TRI_LOG_LINE - 5, "x...");
}

static void test_errors(void **state)
{
    (void)state;
    struct lines lines = {0};
    struct tri_log log = {.sink = keep_line, .arg = &lines};
    tri_error *err = tri_error_create();
    tri_error_note(err, "a note");
    tri_log_errors(&log, err);
    assert_string_equal(lines.last, "warning: a note");
    tri_error_add(err, TRI_IO, "one");
    tri_error_add(err, TRI_IO, "two");
    tri_log_errors(&log, err);
    assert_string_equal(lines.last, "error: two");
    assert_int_equal(lines.num, 4);
    tri_log_errors(&log, NULL);
    assert_int_equal(lines.num, 4);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_prefixes),
                                       cmocka_unit_test(test_long_line),
                                       cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
