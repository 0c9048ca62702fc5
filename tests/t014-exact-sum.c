/* SPDX-License-Identifier: Apache-2.0 */
/* The superaccumulator: order and splitting change nothing, and the value is the nearest double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/exact_sum.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct tri_rng_key test_key = {{11, 22}};

static double random_value(uint64_t index)
{
    double size = floor(tri_rng_double(test_key, 3 * index) * 200) - 120;
    double sign = tri_rng_double(test_key, 3 * index + 1) < 0.5 ? -1 : 1;
    return sign * ldexp(1 + tri_rng_double(test_key, 3 * index + 2), (int)size);
}

static double sum_of(const double *values, int num)
{
    struct tri_exact_sum sum;
    tri_exact_sum_init(&sum);
    for (int i = 0; i < num; i++)
        tri_exact_sum_add(&sum, values[i]);
    return tri_exact_sum_value(&sum);
}

static void test_single_values(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        double value = random_value(i);
        assert_true(sum_of(&value, 1) == value);
    }
    static const double special[] = {
        0.0, 1.0, -1.0, 0x1p-250, 0x1.fffffffffffffp+350, -0x1p+351, 0x1.fffffffffffffp-260};
    for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
        assert_true(sum_of(&special[i], 1) == special[i]);
    const double below[] = {0x1p-321, DBL_MIN, DBL_TRUE_MIN};
    assert_true(sum_of(below, 3) == 0.0);
}

static void test_rounding(void **state)
{
    (void)state;
    const double half_even[] = {1.0, 0x1p-53};
    const double above_half[] = {1.0, 0x1p-53, 0x1p-200};
    const double half_odd[] = {1.0 + DBL_EPSILON, 0x1p-53};
    const double carry[] = {0x1.fffffffffffffp+0, 0x1p-53};
    const double negative[] = {-1.0, -0x1p-53, -0x1p-200};
    const double cancel[] = {0x1p+300, 1.0, -0x1p+300, 0x1p-60};
    assert_true(sum_of(half_even, 2) == 1.0);
    assert_true(sum_of(above_half, 3) == 1.0 + DBL_EPSILON);
    assert_true(sum_of(half_odd, 2) == 1.0 + 2 * DBL_EPSILON);
    assert_true(sum_of(carry, 2) == 2.0);
    assert_true(sum_of(negative, 3) == -1.0 - DBL_EPSILON);
    assert_true(sum_of(cancel, 4) == 1.0);
}

static void test_order_and_ranks(void **state)
{
    (void)state;
    enum { N = 3001, RANKS = 7 };
    static double values[N];
    struct tri_exact_sum forward, parts[RANKS], merged;
    tri_exact_sum_init(&forward);
    tri_exact_sum_init(&merged);
    for (int r = 0; r < RANKS; r++)
        tri_exact_sum_init(&parts[r]);
    for (int i = 0; i < N; i++) {
        values[i] = random_value((uint64_t)i);
        tri_exact_sum_add(&forward, values[i]);
    }
    for (int i = N - 1; i >= 0; i--)
        tri_exact_sum_add(&parts[i * 5 % RANKS], values[i]);
    for (int r = 0; r < RANKS; r++) {
        if (r % 2)
            tri_exact_sum_normalise(&parts[r]);
        tri_exact_sum_merge(&merged, &parts[r]);
    }
    assert_true(tri_exact_sum_value(&merged) == tri_exact_sum_value(&forward));
    tri_exact_sum_normalise(&forward);
    tri_exact_sum_normalise(&merged);
    assert_memory_equal(&forward, &merged, sizeof(forward));
    for (int i = 0; i < TRI_EXACT_SUM_LIMBS - 1; i++)
        assert_true(forward.limb[i] >= 0 && forward.limb[i] < INT64_C(1) << 32);
}

static void test_non_finite(void **state)
{
    (void)state;
    const double values[] = {1.0, (double)NAN};
    const double infinite[] = {(double)INFINITY, -(double)INFINITY};
    const double too_large[] = {DBL_MAX};
    assert_true(isnan(sum_of(values, 2)));
    assert_true(isnan(sum_of(infinite, 2)));
    assert_true(isnan(sum_of(too_large, 1)));
    struct tri_exact_sum a, b;
    tri_exact_sum_init(&a);
    tri_exact_sum_init(&b);
    tri_exact_sum_add(&a, (double)NAN);
    tri_exact_sum_merge(&b, &a);
    assert_true(isnan(tri_exact_sum_value(&b)));
}

static void test_against_wider_sum(void **state)
{
    (void)state;
    enum { N = 5000 };
    static double values[N];
    long double wide = 0;
    for (int i = 0; i < N; i++) {
        values[i] = floor(tri_rng_double(test_key, (uint64_t)i) * 0x1p+50) * 0x1p-20;
        wide += (long double)values[i]; /* exact: 63 bits are enough */
    }
    assert_true(sum_of(values, N) == (double)wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_values),     cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_order_and_ranks),   cmocka_unit_test(test_non_finite),
        cmocka_unit_test(test_against_wider_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
