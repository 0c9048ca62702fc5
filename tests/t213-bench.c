/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel benchmark as a library call: its CSV, and its sentences for a bad request. */
#include "harness/kernel_case.h"
#include "kernels/bench.h"

static void test_csv(void **state)
{
    (void)state;
    const struct tri_kernels_bench options = {
        .backend = "cpu_fast", .team_size = 2, .repeats = 3, .only = "rmsnorm"};
    FILE *file = tmpfile();
    char line[256];
    assert_non_null(file);
    assert_int_equal(tri_kernels_bench(file, &options, NULL), TRI_OK);
    rewind(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_int_equal(strncmp(line, "# backend cpu_fast, team 2, repeats 3, sgemm ", 45), 0);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line, "operation,shape,min_s,median_s,max_s,rate,unit,share\n");
    const char *names[2] = {"rmsnorm,R2048 C768,", "rmsnorm_backward,R2048 C768,"};
    for (int i = 0; i < 2; i++) {
        double min, median, max, rate, share;
        assert_non_null(fgets(line, sizeof(line), file));
        assert_int_equal(strncmp(line, names[i], strlen(names[i])), 0);
        assert_int_equal(sscanf(line + strlen(names[i]), "%lf,%lf,%lf,%lf,GB/s,%lf", &min, &median,
                                &max, &rate, &share),
                         5);
        assert_true(min > 0 && min <= median && median <= max && rate > 0 && share > 0);
    }
    assert_null(fgets(line, sizeof(line), file));
    fclose(file);
}

static void test_bad_requests(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_kernels_bench options = {.backend = "cpu_fast", .team_size = 1, .repeats = 0};
    assert_int_equal(tri_kernels_bench(stdout, &options, err), TRI_INVALID);
    assert_string_equal(tri_error_message(err, 0), "0 repeats; use 1 to 101");
    tri_error_clear(err);
    options.repeats = 1;
    options.backend = "tpu";
    assert_int_equal(tri_kernels_bench(stdout, &options, err), TRI_INVALID);
    assert_string_equal(tri_error_message(err, 0),
                        "no kernel backend 'tpu'; use cpu_ref or cpu_fast");
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_csv),
                                       cmocka_unit_test(test_bad_requests)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
