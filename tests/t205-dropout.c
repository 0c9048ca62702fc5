/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout of a kernel table (argv[1]): its mask is base/rng.h's, has the right rate, is the same in
   backward, and does not know how the batch, the positions or the columns were cut. */
#include "base/rng.h"
#include "harness/kernel_case.h"

static struct kernel_case kc;

enum { S = 31, B = 6, C = 203 };
static const int64_t samples[B] = {9, 1000000007, 3, 1LL << 35, 0, 12};

static struct tri_dropout dropout_of(double p)
{
    return (struct tri_dropout){.threshold = tri_dropout_threshold(p),
                                .scale = (float)(1 / (1 - p)),
                                .key = {0x1234567u, 0x89abcdefu},
                                .sample_ids = samples,
                                .first_position = 5,
                                .first_column = 0};
}

static bool kept(const struct tri_dropout *d, int64_t sample, int64_t row, int64_t column)
{
    uint32_t counter[4] = {(uint32_t)sample, (uint32_t)((uint64_t)sample >> 32), (uint32_t)row,
                           (uint32_t)(column / 4)};
    uint32_t word[4];
    tri_philox4x32(counter, (struct tri_rng_key){{d->key[0], d->key[1]}}, word);
    return word[column % 4] >= d->threshold;
}

static void test_definition(void **state)
{
    (void)state;
    for (int first_column = 0; first_column < 6; first_column++) {
        struct tri_dropout d = dropout_of(0.2);
        d.first_column = first_column;
        struct case_tensor x = case_make(&kc, CASE_DIMS(S, B, C), 3, 1);
        struct case_tensor residual = case_make(&kc, CASE_DIMS(S, B, C), 0, 1);
        struct case_tensor y = case_make(&kc, CASE_DIMS(S, B, C), 1, 1);
        double *want = case_double(&residual.t), *plain = case_zeros(S * B * C);
        for (int64_t i = 0; i < S * B * C; i++) {
            int64_t s = i / C / B, b = i / C % B;
            if (kept(&d, samples[b], 5 + s, first_column + i % C))
                plain[i] = (double)*case_at(&x.t, i) * (double)d.scale;
            want[i] += plain[i];
        }
        kc.k->dropout_add(&kc.q, y.t, x.t, residual.t, &d);
        case_expect(&y.t, want, "elementwise", "dropout_add");
        kc.k->dropout_add(&kc.q, y.t, x.t, (struct tri_tensor){.data = NULL}, &d);
        case_expect(&y.t, plain, "elementwise", "dropout without residual");
        kc.k->dropout_backward(&kc.q, x.t, x.t, &d);
        case_expect(&x.t, plain, "elementwise", "dropout_backward in place");
        free(want);
        free(plain);
        case_free(&x);
        case_free(&residual);
        case_free(&y);
    }
}

static void test_none(void **state)
{
    (void)state;
    struct tri_dropout d = {.threshold = 0};
    struct case_tensor x = case_make(&kc, CASE_DIMS(S, B, C), 0, 1);
    struct case_tensor y = case_make(&kc, CASE_DIMS(S, B, C), 0, 1);
    kc.k->dropout_add(&kc.q, y.t, x.t, (struct tri_tensor){.data = NULL}, &d);
    case_expect_same(&x, &y, "threshold 0 keeps all");
    case_free(&x);
    case_free(&y);
}

/* Cut along batch, positions or columns: the parts together are the whole, to the bit. */
static void test_cuts(void **state)
{
    (void)state;
    struct case_tensor x = case_make(&kc, CASE_DIMS(S, B, C), 0, 1);
    struct case_tensor whole = case_copy(&x), parts = case_copy(&x);
    struct tri_tensor none = {.data = NULL};
    struct tri_dropout d = dropout_of(0.4);
    kc.k->dropout_add(&kc.q, whole.t, x.t, none, &d);
    for (int dim = 0; dim < 3; dim++) {
        int64_t cut = dim == 0 ? 13 : dim == 1 ? 2 : 70, size = x.t.dims[dim];
        kc.k->fill(&kc.q, parts.t, NAN);
        for (int part = 0; part < 2; part++) {
            int64_t first = part * cut, count = part ? size - cut : cut;
            struct tri_dropout p = d;
            p.first_position += dim == 0 ? first : 0;
            p.sample_ids += dim == 1 ? first : 0;
            p.first_column += dim == 2 ? first : 0;
            kc.k->dropout_add(&kc.q, tri_tensor_slice(&parts.t, dim, first, count),
                              tri_tensor_slice(&x.t, dim, first, count), none, &p);
        }
        case_expect_same(&whole, &parts, "dropout in two parts");
    }
    case_free(&x);
    case_free(&whole);
    case_free(&parts);
}

/* The share kept is 1 - p within five standard deviations, over rows, columns and samples. */
static void test_rate(void **state)
{
    (void)state;
    const double rates[3] = {0.1, 0.5, 0.9};
    struct case_tensor x = case_make(&kc, CASE_DIMS(S * 10, B, C), 0, 1);
    double n = (double)tri_tensor_elements(&x.t);
    for (int i = 0; i < 3; i++) {
        struct tri_dropout d = dropout_of(rates[i]);
        kc.k->fill(&kc.q, x.t, 1);
        kc.k->dropout_backward(&kc.q, x.t, x.t, &d);
        double num = 0;
        for (int64_t e = 0; e < x.num; e++)
            num += x.base[e] != 0;
        assert_true(fabs(num / n - (1 - rates[i])) < 5 * sqrt(rates[i] * (1 - rates[i]) / n));
    }
    case_free(&x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_rate),
    };
    int reports = 0;
    kc = kernel_case_open(argc, argv, &reports);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_case_close(&kc);
    return failed + reports;
}
