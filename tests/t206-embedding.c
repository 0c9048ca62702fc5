/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding of a kernel table (argv[1]): a whole table, one cut over ranks, ids that repeat. */
#include "harness/kernel_case.h"

static struct kernel_case kc;

enum { S = 23, B = 3, C = 147, V = 41 };

static void check_embedding(int64_t first_row, int64_t num_rows)
{
    struct case_tensor table = case_make(&kc, CASE_DIMS(num_rows, C), 3, 1);
    struct case_tensor y = case_make(&kc, CASE_DIMS(S, B, C), 1, 1);
    int32_t ids[B * S];
    for (int i = 0; i < B * S; i++)
        ids[i] = (int32_t)case_random_int(&kc, V);
    double *want = case_zeros(S * B * C), *grad = case_double(&table.t);
    double *dt = case_double(&table.t);
    for (int64_t i = 0; i < S * B * C; i++) {
        int64_t s = i / C / B, b = i / C % B, id = ids[b * S + s] - first_row;
        if (id >= 0 && id < num_rows)
            want[i] = dt[id * C + i % C];
    }
    kc.k->embedding(&kc.q, y.t, table.t, ids, first_row);
    case_expect(&y.t, want, "exact", "embedding");
    for (int64_t i = 0; i < S * B * C; i++) {
        int64_t s = i / C / B, b = i / C % B, id = ids[b * S + s] - first_row;
        *case_at(&y.t, i) = (float)case_random(&kc);
        if (id >= 0 && id < num_rows)
            grad[id * C + i % C] += (double)*case_at(&y.t, i);
    }
    kc.k->embedding_backward(&kc.q, table.t, y.t, ids, first_row);
    case_expect(&table.t, grad, "column_sum", "embedding_backward");
    free(want);
    free(grad);
    free(dt);
    case_free(&table);
    case_free(&y);
}

static void test_whole(void **state)
{
    (void)state;
    check_embedding(0, V);
}

static void test_part(void **state)
{
    (void)state;
    check_embedding(0, 20);
    check_embedding(20, V - 20);
    check_embedding(V, 7); /* owns no id */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_part)};
    int reports = 0;
    kc = kernel_case_open(argc, argv, &reports);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_case_close(&kc);
    return failed + reports;
}
