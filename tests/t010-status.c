/* SPDX-License-Identifier: Apache-2.0 */
/* Status texts and the error record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"

#include <stdio.h>
#include <string.h>

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(tri_status_text(TRI_OK), "success");
    assert_string_equal(tri_status_text(TRI_STOPPED), "stopped on request");
    for (int i = 0; i < TRI_NUM_STATUS; i++)
        assert_true(strlen(tri_status_text((tri_status)i)) > 5);
    assert_string_equal(tri_status_text(TRI_NUM_STATUS), "unknown status");
    assert_string_equal(tri_status_text((tri_status)-1), "unknown status");
}

static void test_first_is_kept(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    assert_int_equal(tri_error_status(err), TRI_OK);
    assert_int_equal(tri_error_count(err), 0);
    assert_string_equal(tri_error_message(err, 0), "");
    assert_int_equal(tri_error_set(err, TRI_IO, "cannot open '%s'", "a"), TRI_IO);
    assert_int_equal(tri_error_set(err, TRI_NUMERIC, "later"), TRI_NUMERIC);
    assert_int_equal(tri_error_count(err), 1);
    assert_int_equal(tri_error_status(err), TRI_IO);
    assert_string_equal(tri_error_message(err, 0), "cannot open 'a'");
    assert_string_equal(tri_error_message(err, 1), "");
    assert_string_equal(tri_error_message(err, -1), "");
    tri_error_destroy(&err);
    assert_null(err);
    tri_error_destroy(&err);
}

static void test_many_are_collected(void **state)
{
    (void)state;
    tri_error *err = tri_error_create(), *other = tri_error_create();
    char long_text[5000];
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    for (int i = 0; i < 101; i++)
        assert_int_equal(tri_error_add(err, TRI_INVALID, "problem %d", i), TRI_INVALID);
    tri_error_add(err, TRI_UNSUPPORTED, "%s", long_text);
    tri_error_note(err, "a note of %d", 7);
    assert_int_equal(tri_error_count(err), 102);
    assert_string_equal(tri_error_message(err, 57), "problem 57");
    tri_error_add(other, TRI_INVALID, "'%s' is no name", "\033[31mr\xc3\xa4 \n\t\x7f");
    assert_string_equal(tri_error_message(other, 0), "'?[31mr\xc3\xa4 ? ?' is no name");
    tri_error_clear(other);
    assert_string_equal(tri_error_message(err, 101), long_text);
    assert_int_equal(tri_error_status_at(err, 101), TRI_UNSUPPORTED);
    assert_int_equal(tri_error_status_at(err, 102), TRI_OK);
    tri_error_add(other, TRI_IO, "first");
    tri_error_append(other, err);
    assert_int_equal(tri_error_count(other), 103);
    assert_int_equal(tri_error_status(other), TRI_IO);
    assert_string_equal(tri_error_message(other, 102), long_text);
    assert_int_equal(tri_error_note_count(other), 1);
    assert_string_equal(tri_error_note_message(other, 0), "a note of 7");
    tri_error_append(other, other);
    assert_int_equal(tri_error_count(other), 206);
    tri_error_clear(other);
    assert_int_equal(tri_error_count(other), 0);
    assert_int_equal(tri_error_note_count(other), 0);
    tri_error_destroy(&err);
    tri_error_destroy(&other);
}

static void test_null_record(void **state)
{
    (void)state;
    assert_int_equal(tri_error_set(NULL, TRI_IO, "x"), TRI_IO);
    assert_int_equal(tri_error_add(NULL, TRI_COMM, "x"), TRI_COMM);
    tri_error_note(NULL, "x");
    tri_error_clear(NULL);
    assert_int_equal(tri_error_count(NULL), 0);
    assert_string_equal(tri_error_message(NULL, 0), "");
}

static tri_status passes_up(tri_error *err, int value)
{
    TRI_CHECK(value != 3, err, TRI_INVALID, "value %d is refused", value);
    return TRI_OK;
}

static tri_status tries(tri_error *err, int value)
{
    TRI_TRY(passes_up(err, value));
    return TRI_STOPPED;
}

static void test_macros(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    assert_int_equal(tries(err, 2), TRI_STOPPED);
    assert_int_equal(tries(err, 3), TRI_INVALID);
    assert_string_equal(tri_error_message(err, 0), "value 3 is refused");
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_first_is_kept),
        cmocka_unit_test(test_many_are_collected),
        cmocka_unit_test(test_null_record),
        cmocka_unit_test(test_macros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
