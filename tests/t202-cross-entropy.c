/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabulary-parallel cross entropy of a kernel table (argv[1]): whole and cut over ranks, with
   padding columns, ignored labels and weights, against double; the entropy besides. */
#include "harness/kernel_case.h"

static struct kernel_case kc;
static const struct tri_tensor no_moment;

enum { S = 7, B = 3, R = S * B, V = 1501, VALID = 1397 };

struct ce_case {
    struct case_tensor logits;
    int32_t labels[R];
    float weights[R];
    double *want_loss, *want_grad, *want_entropy; /* [R], [R, V], [R] */
};

static struct ce_case ce_make(double size, float seed, double cap)
{
    struct ce_case t;
    t.logits = case_make(&kc, CASE_DIMS(S, B, V), 3, size);
    t.want_loss = case_zeros(R);
    t.want_grad = case_zeros(R * V);
    t.want_entropy = case_zeros(R);
    for (int i = 0; i < R; i++) {
        t.labels[i] = (int32_t)case_random_int(&kc, VALID);
        t.weights[i] = (float)case_random(&kc);
    }
    t.labels[4] = -100;
    t.labels[0] = VALID - 1;
    for (int64_t r = 0; r < R; r++) {
        int64_t index = r % B * S + r / B;
        double max = -INFINITY, sum = 0;
        for (int64_t v = 0; v < VALID; v++)
            max = fmax(max, (double)*case_at(&t.logits.t, r * V + v));
        for (int64_t v = 0; v < VALID; v++)
            sum += exp((double)*case_at(&t.logits.t, r * V + v) - max);
        for (int64_t v = 0; v < VALID; v++) {
            double p = exp((double)*case_at(&t.logits.t, r * V + v) - max) / sum;
            t.want_entropy[r] -= p > 0 ? p * log(p) : 0;
        }
        if (t.labels[index] < 0)
            continue;
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
    float max[R], sum[R] = {0}, target[R] = {0}, moment[R] = {0}, loss[R], part[3][R];
    struct tri_tensor p0 = tri_tensor_f32_1d(part[0], R), p1 = tri_tensor_f32_1d(part[1], R);
    struct tri_tensor p2 = tri_tensor_f32_1d(part[2], R), entropy = tri_tensor_f32_1d(moment, R);
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
        kc.k->ce_sum(&kc.q, p0, p1, no_moment, piece, row_max, t.labels, cuts[i], VALID);
        memcpy(loss, part[0], sizeof loss);
        kc.k->ce_sum(&kc.q, p0, p1, p2, piece, row_max, t.labels, cuts[i], VALID);
        assert_memory_equal(loss, part[0], sizeof loss); /* the moment changes no bit */
        for (int r = 0; r < R; r++) {
            sum[r] += part[0][r];
            target[r] += part[1][r];
            moment[r] += part[2][r];
        }
    }
    kc.k->ce_entropy(&kc.q, entropy, row_sum, entropy);
    case_expect(&entropy, t.want_entropy, "cross_entropy", "entropy");
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
    free(t.want_entropy);
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
    kc.k->ce_sum(&kc.q, row_sum, tri_tensor_f32_1d(target, 2), no_moment, x.t, row_max, labels, 0,
                 5);
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
    float max, sum, target, moment;
    const int32_t label = 1;
    x.base[1234] = NAN;
    kc.k->ce_max(&kc.q, tri_tensor_f32_1d(&max, 1), x.t, 0, 2000);
    kc.k->ce_sum(&kc.q, tri_tensor_f32_1d(&sum, 1), tri_tensor_f32_1d(&target, 1), no_moment, x.t,
                 tri_tensor_f32_1d(&max, 1), &label, 0, 2000);
    assert_true(isnan(sum));
    kc.k->ce_sum(&kc.q, tri_tensor_f32_1d(&sum, 1), tri_tensor_f32_1d(&target, 1),
                 tri_tensor_f32_1d(&moment, 1), x.t, tri_tensor_f32_1d(&max, 1), &label, 0, 2000);
    assert_true(isnan(sum) && isnan(moment));
    case_free(&x);
}

/* Of n equal logits ln n; of one that is alone 0; what is minus infinity has no part. */
static void test_entropy_ends(void **state)
{
    (void)state;
    struct case_tensor x = case_make(&kc, CASE_DIMS(3, 1, 1000), 0, 1);
    const int32_t labels[3] = {-1, -1, 7};
    float max[3], sum[3], target[3], entropy[3];
    struct tri_tensor row_max = tri_tensor_f32_1d(max, 3), row_sum = tri_tensor_f32_1d(sum, 3);
    struct tri_tensor moment = tri_tensor_f32_1d(entropy, 3);
    for (int v = 0; v < 1000; v++) {
        x.base[v] = 2.5f;
        x.base[1000 + v] = v == 17 ? 90 : -90;
        x.base[2000 + v] = v % 10 == 7 ? -3 : -INFINITY;
    }
    kc.k->ce_max(&kc.q, row_max, x.t, 0, 990);
    kc.k->ce_sum(&kc.q, row_sum, tri_tensor_f32_1d(target, 3), moment, x.t, row_max, labels, 0,
                 990);
    kc.k->ce_entropy(&kc.q, moment, row_sum, moment);
    assert_true(fabs((double)entropy[0] - log(990)) < 1e-6);
    assert_true(entropy[1] == 0);
    assert_true(fabs((double)entropy[2] - log(99)) < 1e-6);
    case_free(&x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_plain_rows),   cmocka_unit_test(test_nan_shows),
        cmocka_unit_test(test_entropy_ends),
    };
    int reports = 0;
    kc = kernel_case_open(argc, argv, &reports);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_case_close(&kc);
    return failed + reports;
}
