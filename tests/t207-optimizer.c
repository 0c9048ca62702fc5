/* SPDX-License-Identifier: Apache-2.0 */
/* Sum of squares and Adam of a kernel table (argv[1]): against double, and the same bits whether a
   parameter is updated whole or as shards. */
#include "base/exact_sum.h"
#include "harness/kernel_case.h"

static struct kernel_case kc;

static double sum_squares(struct tri_tensor x, double factor)
{
    size_t bytes = kc.scratch->sum_squares(tri_tensor_elements(&x), 3);
    void *workspace = case_workspace(bytes);
    struct tri_exact_sum sum;
    tri_exact_sum_init(&sum);
    kc.k->sum_squares(&kc.q, &sum, x, factor, workspace);
    case_workspace_free(workspace, bytes);
    tri_exact_sum_normalise(&sum);
    return tri_exact_sum_value(&sum);
}

static void test_sum_squares(void **state)
{
    (void)state;
    const int64_t sizes[] = {1, 7, 1024, 1025, 200003};
    for (int i = 0; i < 5; i++) {
        struct case_tensor x = case_make(&kc, CASE_DIMS(sizes[i]), 0, 3);
        double want = 0;
        for (int64_t e = 0; e < sizes[i]; e++)
            want += pow((double)x.base[e] * 0.37, 2);
        double got = sum_squares(x.t, 0.37);
        assert_true(fabs(got - want) <= want * tri_tolerance_find("norm_of_gradient")->fail);
        x.base[sizes[i] / 2] = NAN;
        assert_true(isnan(sum_squares(x.t, 0.37)));
        case_free(&x);
    }
}

/* Shards that begin on block borders give the whole's bits. */
static void test_sum_squares_of_shards(void **state)
{
    (void)state;
    int64_t n = 13 * TRI_NORM_BLOCK + 77, cut = 5 * TRI_NORM_BLOCK;
    struct case_tensor x = case_make(&kc, CASE_DIMS(n), 0, 1);
    void *workspace = case_workspace(kc.scratch->sum_squares(n, 3));
    struct tri_exact_sum sum;
    tri_exact_sum_init(&sum);
    kc.k->sum_squares(&kc.q, &sum, tri_tensor_slice(&x.t, 0, cut, n - cut), 1, workspace);
    kc.k->sum_squares(&kc.q, &sum, tri_tensor_slice(&x.t, 0, 0, cut), 1, workspace);
    tri_exact_sum_normalise(&sum);
    assert_true(tri_exact_sum_value(&sum) == sum_squares(x.t, 1));
    free(workspace);
    case_free(&x);
}

struct adam_case {
    struct case_tensor p, m, v, g;
};

static struct adam_case adam_make(int64_t n)
{
    struct adam_case a = {.p = case_make(&kc, CASE_DIMS(n), 0, 1),
                          .m = case_make(&kc, CASE_DIMS(n), 0, 0.1),
                          .v = case_make(&kc, CASE_DIMS(n), 0, 0.1),
                          .g = case_make(&kc, CASE_DIMS(n), 0, 1)};
    for (int64_t i = 0; i < n; i++)
        a.v.base[i] = fabsf(a.v.base[i]);
    return a;
}

static void adam_free(struct adam_case *a)
{
    case_free(&a->p);
    case_free(&a->m);
    case_free(&a->v);
    case_free(&a->g);
}

static const struct tri_adam settings = {.lr = 3e-3f,
                                         .beta1 = 0.9f,
                                         .beta2 = 0.95f,
                                         .eps = 1e-8f,
                                         .weight_decay = 0.1f,
                                         .bias1 = 0.19f,
                                         .bias2 = 0.0975f};

static void test_adam(void **state)
{
    (void)state;
    int64_t n = 70001;
    struct adam_case a = adam_make(n);
    double *p = case_double(&a.p.t), *m = case_double(&a.m.t), *v = case_double(&a.v.t);
    for (int64_t i = 0; i < n; i++) {
        double g = (double)a.g.base[i] * 0.5, b1 = (double)settings.beta1;
        double b2 = (double)settings.beta2;
        m[i] = b1 * m[i] + (1 - b1) * g;
        v[i] = b2 * v[i] + (1 - b2) * g * g;
        double step = m[i] / (double)settings.bias1 /
                      (sqrt(v[i] / (double)settings.bias2) + (double)settings.eps);
        p[i] -= (double)settings.lr * (step + (double)settings.weight_decay * p[i]);
    }
    kc.k->adam(&kc.q, a.p.t, a.m.t, a.v.t, a.g.t, 0.5f, &settings);
    case_expect(&a.p.t, p, "adam", "parameter");
    case_expect(&a.m.t, m, "adam", "first moment");
    case_expect(&a.v.t, v, "adam", "second moment");
    free(p);
    free(m);
    free(v);
    adam_free(&a);
}

static void test_adam_of_shards(void **state)
{
    (void)state;
    int64_t n = 40007, cut = 12 * 1024;
    struct adam_case a = adam_make(n);
    struct case_tensor p = case_copy(&a.p), m = case_copy(&a.m), v = case_copy(&a.v);
    kc.k->adam(&kc.q, a.p.t, a.m.t, a.v.t, a.g.t, 1, &settings);
    for (int part = 0; part < 2; part++) {
        int64_t first = part * cut, count = part ? n - cut : cut;
        kc.k->adam(&kc.q, tri_tensor_slice(&p.t, 0, first, count),
                   tri_tensor_slice(&m.t, 0, first, count), tri_tensor_slice(&v.t, 0, first, count),
                   tri_tensor_slice(&a.g.t, 0, first, count), 1, &settings);
    }
    case_expect_same(&a.p, &p, "parameter in shards");
    case_expect_same(&a.m, &m, "first moment in shards");
    case_expect_same(&a.v, &v, "second moment in shards");
    case_free(&p);
    case_free(&m);
    case_free(&v);
    adam_free(&a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum_squares),
        cmocka_unit_test(test_sum_squares_of_shards),
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_adam_of_shards),
    };
    int reports = 0;
    kc = kernel_case_open(argc, argv, &reports);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_case_close(&kc);
    return failed + reports;
}
