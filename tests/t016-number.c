/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"
#include "base/rng.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void test_whole_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum tri_number_result result;
        int64_t value;
    } rows[] = {
        {"0", TRI_NUMBER_OK, 0},
        {"-7", TRI_NUMBER_OK, -7},
        {"+7", TRI_NUMBER_OK, 7},
        {"010", TRI_NUMBER_OK, 10},
        {"1e2", TRI_NUMBER_OK, 100},
        {"1.5e1", TRI_NUMBER_OK, 15},
        {"1500e-2", TRI_NUMBER_OK, 15},
        {"1.50000000000000000000000000k", TRI_NUMBER_OK, 1500},
        {"2k", TRI_NUMBER_OK, 2000},
        {"2K", TRI_NUMBER_OK, 2000},
        {"4ki", TRI_NUMBER_OK, 4096},
        {"0.5gi", TRI_NUMBER_OK, INT64_C(1) << 29},
        {"3m", TRI_NUMBER_OK, 3000000},
        {"1g", TRI_NUMBER_OK, 1000000000},
        {"0e999999999999", TRI_NUMBER_OK, 0},
        {"9223372036854775807", TRI_NUMBER_OK, INT64_MAX},
        {"9223372036854775808", TRI_NUMBER_RANGE, 0},
        {"1e19", TRI_NUMBER_RANGE, 0},
        {"1e999999999999", TRI_NUMBER_RANGE, 0},
        {"10000000000g", TRI_NUMBER_RANGE, 0},
        {"1.5", TRI_NUMBER_WHOLE, 0},
        {"1e-1", TRI_NUMBER_WHOLE, 0},
        {"1e-999999999999", TRI_NUMBER_WHOLE, 0},
        {"", TRI_NUMBER_SYNTAX, 0},
        {"-", TRI_NUMBER_SYNTAX, 0},
        {".", TRI_NUMBER_SYNTAX, 0},
        {"1 ", TRI_NUMBER_SYNTAX, 0},
        {" 1", TRI_NUMBER_SYNTAX, 0},
        {"10x", TRI_NUMBER_SYNTAX, 0},
        {"0x10", TRI_NUMBER_SYNTAX, 0},
        {"1e", TRI_NUMBER_SYNTAX, 0},
        {"1e+", TRI_NUMBER_SYNTAX, 0},
        {"1_000", TRI_NUMBER_SYNTAX, 0},
        {"1.2.3", TRI_NUMBER_SYNTAX, 0},
        {"kk", TRI_NUMBER_SYNTAX, 0},
        {"1kk", TRI_NUMBER_SYNTAX, 0},
        {"nan", TRI_NUMBER_SYNTAX, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = -99;
        if (tri_number_read_int(rows[i].text, &value) != rows[i].result)
            fail_msg("'%s'", rows[i].text);
        assert_int_equal(value, rows[i].result == TRI_NUMBER_OK ? rows[i].value : -99);
    }
}

static void test_real_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"3e-4", 3e-4},    {".1e-4", 1e-5},    {"1.", 1.0},
                {"-0.25", -0.25},  {"010", 10.0},      {"2k", 2000.0},
                {"1.5ki", 1536.0}, {".inf", HUGE_VAL}, {"-inf", -HUGE_VAL}};
    static const char *const bad[] = {"", "x", ".nan", "nan", "NaN", "1e5x", "0x1p3", "1,5", "--1"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double value = 0;
        assert_int_equal(tri_number_read_double(rows[i].text, &value), TRI_NUMBER_OK);
        assert_true(value == rows[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        double value = 5;
        assert_int_equal(tri_number_read_double(bad[i], &value), TRI_NUMBER_SYNTAX);
        assert_true(value == 5);
    }
    double value = 5;
    assert_int_equal(tri_number_read_double("1e400", &value), TRI_NUMBER_RANGE);
}

static void check_round_trip(double number)
{
    char text[TRI_NUMBER_TEXT];
    double back = 0;
    tri_number_format_double(number, text);
    assert_int_equal(tri_number_read_double(text, &back), TRI_NUMBER_OK);
    assert_true(back == number);
}

static void test_format(void **state)
{
    (void)state;
    char text[TRI_NUMBER_TEXT];
    tri_number_format_double(6e-4, text);
    assert_string_equal(text, "0.0006");
    tri_number_format_double(0.1, text);
    assert_string_equal(text, "0.1");
    tri_number_format_double(1.0 / 3, text);
    assert_string_equal(text, "0.3333333333333333");
    struct tri_rng_key key = tri_rng_key(3, TRI_RNG_TEST, 0);
    for (uint64_t i = 0; i < 3000; i++)
        check_round_trip(ldexp(tri_rng_double(key, i), (int)(i % 600) - 300));
    check_round_trip(DBL_MAX);
    check_round_trip(DBL_MIN);
}

static void test_other_locale(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "de_DE")) {
        print_message("no German locale here\n");
        skip();
    }
    char text[TRI_NUMBER_TEXT];
    double value = 0;
    tri_number_format_double(2.5, text);
    assert_string_equal(text, "2.5");
    assert_int_equal(tri_number_read_double("2.5", &value), TRI_NUMBER_OK);
    assert_true(value == 2.5);
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_numbers), cmocka_unit_test(test_real_numbers),
        cmocka_unit_test(test_format), cmocka_unit_test(test_other_locale)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
