/* SPDX-License-Identifier: Apache-2.0 */
/* Element types, axis names, and the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/axis.h"
#include "base/cancel.h"
#include "base/dtype.h"

#include <string.h>

static void test_dtypes(void **state)
{
    (void)state;
    static const size_t bytes[TRI_NUM_DTYPES] = {4, 8, 2, 2, 1, 1, 2, 2, 4, 8, 1};
    for (int i = 0; i < TRI_NUM_DTYPES; i++) {
        enum tri_dtype dtype = (enum tri_dtype)i, found = TRI_NUM_DTYPES;
        assert_int_equal(tri_dtype_bytes(dtype), bytes[i]);
        assert_true(tri_dtype_from_name(tri_dtype_name(dtype), &found));
        assert_int_equal(found, dtype);
    }
    enum tri_dtype kept = TRI_DTYPE_I8;
    assert_false(tri_dtype_from_name("float", &kept));
    assert_false(tri_dtype_from_name("", &kept));
    assert_int_equal(kept, TRI_DTYPE_I8);
}

static void test_axes(void **state)
{
    (void)state;
    static const char *const names[TRI_NUM_AXES] = {"tp", "cp", "ep", "dp", "pp", "etp", "edp"};
    for (int i = 0; i < TRI_NUM_AXES; i++)
        assert_string_equal(tri_axis_name((enum tri_axis)i), names[i]);
    assert_int_equal(TRI_AXES(TRI_AXIS_TP) | TRI_AXES(TRI_AXIS_PP), 0x11);
}

static void test_cancel(void **state)
{
    (void)state;
    struct tri_cancel cancel;
    tri_cancel_init(&cancel);
    assert_false(tri_cancel_requested(&cancel));
    tri_cancel_request(&cancel);
    assert_true(tri_cancel_requested(&cancel));
    double before = tri_clock_seconds(), after = tri_clock_seconds();
    assert_true(after >= before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dtypes), cmocka_unit_test(test_axes),
                                       cmocka_unit_test(test_cancel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
