/* SPDX-License-Identifier: Apache-2.0 */
/* A gate and its gradients of a kernel table (argv[1]) against double: odd sizes, rows that lie apart, a gate
   that is a part of wider rows, in-place use, gates far from 0, NaN. */
#include "harness/kernel_case.h"

static struct kernel_case kc;

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* y [5, 3, C] from x and the columns of wide from 2 on, in place or not; then backward. */
static void check_gate(int64_t C, double size, bool in_place)
{
    struct case_tensor x = case_make(&kc, CASE_DIMS(5, 3, C), 1, 2);
    struct case_tensor wide = case_make(&kc, CASE_DIMS(5, 3, C + 7), 2, size);
    struct case_tensor y = case_copy(&x), dy = case_make(&kc, CASE_DIMS(5, 3, C), 0, 1);
    struct case_tensor dx = case_copy(&dy), dwide = case_copy(&wide);
    struct tri_tensor gate = tri_tensor_slice(&wide.t, 2, 2, C);
    struct tri_tensor dgate = tri_tensor_slice(&dwide.t, 2, 2, C);
    double *want = case_double(&x.t), *want_dx = case_double(&dy.t), *g = case_double(&gate);
    double *want_dgate = case_zeros(5 * 3 * C);
    for (int64_t i = 0; i < 5 * 3 * C; i++) {
        want_dgate[i] = want_dx[i] * want[i] * logistic(g[i]) * logistic(-g[i]);
        want[i] *= logistic(g[i]);
        want_dx[i] *= logistic(g[i]);
    }
    kc.k->gate(&kc.q, y.t, in_place ? y.t : x.t, gate);
    case_expect(&y.t, want, "activation", "gate");
    kc.k->gate_backward(&kc.q, dx.t, dgate, in_place ? dx.t : dy.t, x.t, gate);
    case_expect(&dx.t, want_dx, "activation", "gradient of the gated");
    case_expect(&dgate, want_dgate, "activation", "gradient of the gate");
    for (int64_t r = 0; r < 5 * 3; r++) /* beside the gate nothing was touched */
        for (int64_t c = 0; c < C + 7; c++)
            if (c < 2 || c >= C + 2)
                assert_true(*case_at(&dwide.t, r * (C + 7) + c) ==
                            *case_at(&wide.t, r * (C + 7) + c));
    free(want);
    free(want_dx);
    free(want_dgate);
    free(g);
    case_free(&x);
    case_free(&wide);
    case_free(&y);
    case_free(&dy);
    case_free(&dx);
    case_free(&dwide);
}

static void test_gate(void **state)
{
    (void)state;
    static const int64_t columns[] = {1, 7, 8, 31, 1031, 20011};
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        for (int in_place = 0; in_place < 2; in_place++)
            check_gate(columns[i], 3, in_place);
}

static void test_far_gates(void **state)
{
    (void)state;
    check_gate(37, 60, false);
    check_gate(37, 200, false);
    const float at[] = {-INFINITY, -1e30f, 1e30f, INFINITY}, to[] = {0, 0, 3, 3};
    for (int i = 0; i < 4; i++) {
        float gate[1] = {at[i]}, x[1] = {3}, y[1], dgate[1];
        struct tri_tensor g = tri_tensor_f32_1d(gate, 1), v = tri_tensor_f32_1d(x, 1);
        struct tri_tensor out = tri_tensor_f32_1d(y, 1), dg = tri_tensor_f32_1d(dgate, 1);
        kc.k->gate(&kc.q, out, v, g);
        assert_true(y[0] == to[i]);
        kc.k->gate_backward(&kc.q, out, dg, v, v, g);
        assert_true(y[0] == to[i] && dgate[0] == 0);
    }
}

static void test_nan_shows(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        float gate[11] = {0}, x[11] = {0}, y[11];
        (which ? gate : x)[9] = NAN;
        kc.k->gate(&kc.q, tri_tensor_f32_1d(y, 11), tri_tensor_f32_1d(x, 11),
                   tri_tensor_f32_1d(gate, 11));
        for (int i = 0; i < 11; i++)
            assert_true(isnan(y[i]) == (i == 9));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_far_gates),
        cmocka_unit_test(test_nan_shows),
    };
    int reports = 0;
    kc = kernel_case_open(argc, argv, &reports);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_case_close(&kc);
    return failed + reports;
}
