/* SPDX-License-Identifier: Apache-2.0 */
/* Backends by name: complete tables, matching scratch tables, and the sentence for a wrong name. */
#include "harness/kernel_case.h"

static void test_known(void **state)
{
    (void)state;
    const char *names[2] = {"cpu_ref", "cpu_fast"};
    for (int i = 0; i < 2; i++) {
        tri_error *err = tri_error_create();
        const struct tri_kernels *k = tri_kernels_find(names[i], err);
        const struct tri_scratch_table *scratch = tri_kernels_scratch(names[i]);
        assert_non_null(k);
        assert_non_null(scratch);
        assert_string_equal(k->name, names[i]);
        assert_string_equal(scratch->name, names[i]);
        const void *const *entries = (const void *const *)(const void *)k;
        for (size_t e = 0; e < sizeof(*k) / sizeof(*entries); e++)
            assert_non_null(entries[e]);
        entries = (const void *const *)(const void *)scratch;
        for (size_t e = 0; e < sizeof(*scratch) / sizeof(*entries); e++)
            assert_non_null(entries[e]);
        tri_error_destroy(&err);
    }
}

/* Nobody who asks for the fast kernels gets plain loops: all but ce_loss and ce_entropy, a logarithm for each row,
   are other functions. */
static void test_fast_is_fast(void **state)
{
    (void)state;
    const struct tri_kernels *fast = tri_kernels_cpu_fast(), *ref = tri_kernels_cpu_ref();
    const void *const *a = (const void *const *)(const void *)fast;
    const void *const *b = (const void *const *)(const void *)ref;
    int num_plain = 0;
    for (size_t e = 0; e < sizeof(*fast) / sizeof(*a); e++)
        num_plain += a[e] == b[e];
    assert_int_equal(num_plain, 2);
    assert_true(fast->ce_loss == ref->ce_loss && fast->ce_entropy == ref->ce_entropy);
}

static void test_unknown(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    assert_null(tri_kernels_find("gpu", err));
    assert_null(tri_kernels_scratch("gpu"));
    assert_int_equal(tri_error_status(err), TRI_INVALID);
    assert_string_equal(tri_error_message(err, 0),
                        "no kernel backend 'gpu'; use cpu_ref or cpu_fast");
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known),
                                       cmocka_unit_test(test_fast_is_fast),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
