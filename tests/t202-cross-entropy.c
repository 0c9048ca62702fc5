/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabulary-parallel cross entropy of a kernel table (argv[1]): whole and cut over ranks, with
   padding columns, ignored labels and weights, against double. */
#include "harness/kernel_case.h"

static struct kernel_case kc;

enum { S = 7, B = 3, R = S * B, V = 1501, VALID = 1397 };

struct ce_case {
    struct case_tensor logits;
    int32_t labels[R];
    float weights[R];
    double *want_loss, *want_grad; /* [R], [R, V] */
};

static struct ce_case ce_make(double size, float seed, double cap)
{
    struct ce_case t;
    t.logits = case_make(&kc, CASE_DIMS(S, B, V), 3, size);
    t.want_loss = case_zeros(R);
    t.want_grad = case_zeros(R * V);
    for (int i = 0; i < R; i++) {
        t.labels[i] = (int32_t)case_random_int(&kc, VALID);
        t.weights[i] = (float)case_random(&kc);
    }
    t.labels[4] = -100;
    t.labels[0] = VALID - 1;
    for (int64_t r = 0; r < R; r++) {
        int64_t index = r % B * S + r / B;
        double max = -INFINITY, sum = 0;
        if (t.labels[index] < 0)
            continue;
        for (int64_t v = 0; v < VALID; v++)
            max = fmax(max, (double)*case_at(&t.logits.t, r * V + v));
        for (int64_t v = 0; v < VALID; v++)
            sum += exp((double)*case_at(&t.logits.t, r * V + v) - max);
        t.want_loss[r] = max + log(sum) - (double)*case_at(&t.logits.t, r * V + t.labels[index]);
        for (int64_t v = 0; v < VALID; v++)
            t.want_grad[r * V + v] = (exp((double)*case_at(&t.logits.t, r * V + v) - max) / sum -
                                      (v == t.labels[index])) *
                                     (double)t.weights[index] * (double)seed;
        for (int64_t v = 0; v < VALID && cap > 0; v++)
            t.want_grad[r * V + v] *= 1 - pow((double)*case_at(&t.logits.t, r * V + v) / cap, 2);
    }
    return t;
}

/* The columns are cut at cuts[0 .. num]; rows' results are put together as the ranks would. */
static void check_cross_entropy(double size, float cap, int num, const int64_t *cuts)
{
    const float seed = 0.25f;
    struct ce_case t = ce_make(size, seed, cap);
    float max[R], sum[R] = {0}, target[R] = {0}, loss[R], part[2][R];
    struct tri_tensor p0 = tri_tensor_f32_1d(part[0], R), p1 = tri_tensor_f32_1d(part[1], R);
    struct tri_tensor row_max = tri_tensor_f32_1d(max, R), row_sum = tri_tensor_f32_1d(sum, R);
    for (int r = 0; r < R; r++)
        max[r] = -INFINITY;
    for (int i = 0; i < num; i++) {
        struct tri_tensor piece = tri_tensor_slice(&t.logits.t, 2, cuts[i], cuts[i + 1] - cuts[i]);
        kc.k->ce_max(&kc.q, p0, piece, cuts[i], VALID);
        for (int r = 0; r < R; r++)
            max[r] = fmaxf(max[r], part[0][r]);
        assert_true(cuts[i] < VALID || part[0][0] == -INFINITY);
    }
    for (int i = 0; i < num; i++) {
        struct tri_tensor piece = tri_tensor_slice(&t.logits.t, 2, cuts[i], cuts[i + 1] - cuts[i]);
        kc.k->ce_sum(&kc.q, p0, p1, piece, row_max, t.labels, cuts[i], VALID);
        for (int r = 0; r < R; r++) {
            sum[r] += part[0][r];
            target[r] += part[1][r];
        }
    }
    struct tri_tensor out = tri_tensor_f32_1d(loss, R);
    kc.k->ce_loss(&kc.q, out, row_sum, tri_tensor_f32_1d(target, R), t.labels, B, S);
    case_expect(&out, t.want_loss, "cross_entropy", "loss");
    for (int i = 0; i < num; i++) {
        struct tri_tensor piece = tri_tensor_slice(&t.logits.t, 2, cuts[i], cuts[i + 1] - cuts[i]);
        kc.k->ce_backward(&kc.q, piece, row_max, row_sum, t.labels, t.weights, seed, cap, cuts[i],
                          VALID);
    }
    case_expect(&t.logits.t, t.want_grad, "cross_entropy", "gradient");
    free(t.want_loss);
    free(t.want_grad);
    case_free(&t.logits);
}

static void test_whole(void **state)
{
    (void)state;
    check_cross_entropy(3, 0, 1, (const int64_t[]){0, V});
    check_cross_entropy(60, 0, 1, (const int64_t[]){0, V});
    check_cross_entropy(3, 3.5f, 1, (const int64_t[]){0, V}); /* of soft-capped logits */
}

static void test_cut(void **state)
{
    (void)state;
    check_cross_entropy(3, 0, 3, (const int64_t[]){0, 500, 1003, V});
    check_cross_entropy(3, 0, 3,
                        (const int64_t[]){0, 700, VALID, V}); /* the last part is padding */
}

/* Without weights every row counts 1; rows may be [R, V]. */
static void test_plain_rows(void **state)
{
    (void)state;
    struct case_tensor x = case_make(&kc, CASE_DIMS(2, 5), 0, 1);
    float max[2], sum[2], target[2];
    const int32_t labels[2] = {3, 0};
    struct tri_tensor row_max = tri_tensor_f32_1d(max, 2), row_sum = tri_tensor_f32_1d(sum, 2);
    kc.k->ce_max(&kc.q, row_max, x.t, 0, 5);
    kc.k->ce_sum(&kc.q, row_sum, tri_tensor_f32_1d(target, 2), x.t, row_max, labels, 0, 5);
    kc.k->ce_backward(&kc.q, x.t, row_max, row_sum, labels, NULL, 1, 0, 0, 5);
    for (int r = 0; r < 2; r++) {
        float total = 0;
        for (int c = 0; c < 5; c++)
            total += x.base[r * 5 + c];
        assert_true(fabsf(total) < 1e-6f);
        assert_true(x.base[r * 5 + labels[r]] < 0);
    }
    case_free(&x);
}

static void test_nan_shows(void **state)
{
    (void)state;
    struct case_tensor x = case_make(&kc, CASE_DIMS(1, 1, 2000), 0, 1);
    float max, sum, target;
    const int32_t label = 1;
    x.base[1234] = NAN;
    kc.k->ce_max(&kc.q, tri_tensor_f32_1d(&max, 1), x.t, 0, 2000);
    kc.k->ce_sum(&kc.q, tri_tensor_f32_1d(&sum, 1), tri_tensor_f32_1d(&target, 1), x.t,
                 tri_tensor_f32_1d(&max, 1), &label, 0, 2000);
    assert_true(isnan(sum));
    case_free(&x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_plain_rows),
        cmocka_unit_test(test_nan_shows),
    };
    int reports = 0;
    kc = kernel_case_open(argc, argv, &reports);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_case_close(&kc);
    return failed + reports;
}
