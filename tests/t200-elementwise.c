/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operations of a kernel table (argv[1]) against loops in double: odd sizes, rows that
   lie apart, in-place use, NaN. */
#include "harness/kernel_case.h"

#include <jansson.h>

static struct kernel_case kc;

static void test_fill_copy(void **state)
{
    (void)state;
    struct case_tensor y = case_make(&kc, CASE_DIMS(5, 3, 17), 3, 1);
    struct case_tensor x = case_make(&kc, CASE_DIMS(5, 3, 17), 0, 1);
    kc.k->fill(&kc.q, y.t, 2.5f);
    for (int64_t i = 0; i < 5 * 3 * 17; i++)
        assert_true(*case_at(&y.t, i) == 2.5f);
    kc.k->copy(&kc.q, y.t, x.t);
    double *want = case_double(&x.t);
    case_expect(&y.t, want, "exact", "copy");
    free(want);
    case_free(&x);
    case_free(&y);
}

/* The last stride is free in copy. */
static void test_copy_transposes(void **state)
{
    (void)state;
    struct case_tensor x = case_make(&kc, CASE_DIMS(37, 53), 5, 1);
    struct case_tensor y = case_make(&kc, CASE_DIMS(53, 37), 2, 1);
    struct tri_tensor turned = {.data = x.t.data,
                                .dtype = TRI_DTYPE_F32,
                                .num_dims = 2,
                                .dims = {53, 37},
                                .strides = {1, x.t.strides[0]}};
    kc.k->copy(&kc.q, y.t, turned);
    double *want = case_double(&turned);
    case_expect(&y.t, want, "exact", "transposing copy");
    free(want);
    case_free(&x);
    case_free(&y);
}

static void test_add_scale(void **state)
{
    (void)state;
    struct case_tensor a = case_make(&kc, CASE_DIMS(7, 4, 1031), 1, 2);
    struct case_tensor b = case_make(&kc, CASE_DIMS(7, 4, 1031), 0, 2);
    double *da = case_double(&a.t), *db = case_double(&b.t);
    int64_t n = 7 * 4 * 1031;
    for (int64_t i = 0; i < n; i++)
        db[i] += da[i];
    kc.k->add(&kc.q, b.t, a.t, b.t);
    case_expect(&b.t, db, "elementwise", "add in place");
    for (int64_t i = 0; i < n; i++)
        da[i] *= -0.3f;
    kc.k->scale(&kc.q, a.t, a.t, -0.3f);
    case_expect(&a.t, da, "elementwise", "scale in place");
    free(da);
    free(db);
    case_free(&a);
    case_free(&b);
}

/* One long row is cut over columns. */
static void test_long_row(void **state)
{
    (void)state;
    struct case_tensor a = case_make(&kc, CASE_DIMS(100003), 0, 1);
    struct case_tensor y = case_copy(&a);
    double *want = case_double(&a.t);
    for (int64_t i = 0; i < 100003; i++)
        want[i] *= 2;
    kc.k->add(&kc.q, y.t, a.t, a.t);
    case_expect(&y.t, want, "exact", "add of a long row");
    free(want);
    case_free(&a);
    case_free(&y);
}

static void test_bias(void **state)
{
    (void)state;
    for (int64_t R = 1; R < 5000; R = R * 7 + 2) {
        int64_t C = 1 + R * 13 % 301;
        struct case_tensor y = case_make(&kc, CASE_DIMS(R, C), 3, 1);
        struct case_tensor bias = case_make(&kc, CASE_DIMS(C), 0, 1);
        double *dy = case_double(&y.t), *db = case_double(&bias.t);
        size_t bytes = kc.scratch->bias_backward(R, C, 3);
        void *workspace = case_workspace(bytes);
        struct case_tensor dbias = case_copy(&bias);
        double *sum = case_double(&bias.t);
        for (int64_t i = 0; i < R * C; i++) {
            sum[i % C] += dy[i];
            dy[i] += db[i % C];
        }
        kc.k->bias_backward(&kc.q, dbias.t, y.t, workspace);
        case_expect(&dbias.t, sum, "column_sum", "bias_backward");
        kc.k->bias_add(&kc.q, y.t, bias.t);
        case_expect(&y.t, dy, "elementwise", "bias_add");
        case_workspace_free(workspace, bytes);
        free(sum);
        free(dy);
        free(db);
        case_free(&y);
        case_free(&bias);
        case_free(&dbias);
    }
}

static double phi(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

static double value_of(enum tri_activation kind, double x)
{
    double u = sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    kind = tri_activation_inner(kind);
    if (kind == TRI_ACTIVATION_GELU)
        return x * phi(x);
    if (kind == TRI_ACTIVATION_GELU_TANH)
        return 0.5 * x * (1 + tanh(u));
    if (kind == TRI_ACTIVATION_SILU)
        return x / (1 + exp(-x));
    if (kind == TRI_ACTIVATION_QUICK_GELU)
        return x / (1 + exp(-1.702 * x));
    double positive = x > 0 ? x : 0;
    return kind == TRI_ACTIVATION_SQUARED_RELU ? positive * positive : positive;
}

/* By a central difference in double: independent of any formula. */
static double slope_of(enum tri_activation kind, double x)
{
    const double step = 1e-5;
    if (tri_activation_inner(kind) == TRI_ACTIVATION_RELU)
        return x > 0;
    return (value_of(kind, x + step) - value_of(kind, x - step)) / (2 * step);
}

static void check_activation(enum tri_activation kind, int64_t R, int64_t C, double size)
{
    bool gated = tri_activation_is_gated(kind);
    int64_t W = gated ? 2 * C : C;
    struct case_tensor x = case_make(&kc, CASE_DIMS(R, W), 5, size);
    struct case_tensor y = case_make(&kc, CASE_DIMS(R, C), 2, 1);
    struct case_tensor dy = case_make(&kc, CASE_DIMS(R, C), 0, 1);
    double *dx = case_double(&x.t), *ddy = case_double(&dy.t), *want = case_zeros(R * C);
    for (int64_t r = 0; r < R; r++)
        for (int64_t c = 0; c < C; c++) {
            double *gate = dx + r * W + c, *up = gate + C, g = ddy[r * C + c];
            double value = value_of(kind, *gate), slope = slope_of(kind, *gate);
            want[r * C + c] = gated ? value * *up : value;
            *gate = gated ? g * *up * slope : g * slope;
            if (gated)
                *up = g * value;
        }
    struct tri_activation_form form = {.kind = kind};
    kc.k->activation(&kc.q, y.t, x.t, &form);
    case_expect(&y.t, want, "activation", "activation");
    kc.k->activation_backward(&kc.q, x.t, dy.t, x.t, &form); /* in place */
    case_expect(&x.t, dx, "activation", "activation_backward");
    free(dx);
    free(ddy);
    free(want);
    case_free(&x);
    case_free(&y);
    case_free(&dy);
}

static void test_activations(void **state)
{
    (void)state;
    for (int kind = 0; kind < TRI_NUM_ACTIVATIONS; kind++) {
        check_activation((enum tri_activation)kind, 19, 37, 6);
        check_activation((enum tri_activation)kind, 3, 1001, 1);
        check_activation((enum tri_activation)kind, 1, 5, 0.01);
    }
}

/* Far out nothing overflows into NaN, and NaN stays. */
static void test_activation_extremes(void **state)
{
    (void)state;
    float values[9] = {-1e30f, -1e4f, -100, -30, 0, 30, 100, 1e4f, NAN}, y[9], dx[9];
    float ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (int kind = 0; kind < TRI_ACTIVATION_SQUARED_RELU; kind++) {
        struct tri_tensor x = tri_tensor_f32_2d(values, 1, 9);
        struct tri_activation_form form = {.kind = (enum tri_activation)kind};
        kc.k->activation(&kc.q, tri_tensor_f32_2d(y, 1, 9), x, &form);
        kc.k->activation_backward(&kc.q, tri_tensor_f32_2d(dx, 1, 9), tri_tensor_f32_2d(ones, 1, 9),
                                  x, &form);
        for (int i = 0; i < 8; i++) {
            float want = values[i] > 0 ? values[i] : 0;
            assert_true(fabsf(y[i] - want) <= 1e-6f * (1 + want));
            if (values[i] != 0)
                assert_true(fabsf(dx[i] - (values[i] > 0 ? 1 : 0)) < 1e-6f);
        }
        assert_true(kind == TRI_ACTIVATION_RELU || isnan(y[8]));
    }
}

/* Fills t from a list of rows. */
static double *fill_rows(struct tri_tensor *t, const json_t *rows)
{
    int64_t C = t->dims[1];
    double *all = case_zeros(t->dims[0] * C);
    for (int64_t i = 0; i < t->dims[0] * C; i++) {
        const json_t *row = json_array_get(rows, (size_t)(i / C));
        all[i] = json_number_value(json_array_get(row, (size_t)(i % C)));
        *case_at(t, i) = (float)all[i];
    }
    return all;
}

/* Cut and moved gated units: golden/gated_units.json, the first of them gpt_oss's own. */
static void check_gated_unit(const json_t *golden)
{
    static const char *const names[] = {"gelu", "gelu_tanh",  "silu",
                                        "relu", "quick_gelu", "squared_relu"};
    int kind = 0;
    while (strcmp(names[kind], json_string_value(json_object_get(golden, "kind"))) != 0)
        kind++;
    struct tri_activation_form form = {
        .kind = (enum tri_activation)(TRI_ACTIVATION_GEGLU + kind),
        .clamp = (float)json_number_value(json_object_get(golden, "clamp")),
        .offset = (float)json_number_value(json_object_get(golden, "offset"))};
    struct case_tensor x = case_make(&kc, CASE_DIMS(5, 26), 3, 1);
    struct case_tensor y = case_make(&kc, CASE_DIMS(5, 13), 0, 1);
    struct case_tensor dy = case_make(&kc, CASE_DIMS(5, 13), 2, 1);
    free(fill_rows(&x.t, json_object_get(golden, "x")));
    free(fill_rows(&dy.t, json_object_get(golden, "dy")));
    double *value = fill_rows(&y.t, json_object_get(golden, "y"));
    struct case_tensor dx = case_copy(&x);
    double *gradient = fill_rows(&dx.t, json_object_get(golden, "dx"));
    kc.k->activation(&kc.q, y.t, x.t, &form);
    case_expect(&y.t, value, "activation", "cut activation");
    kc.k->activation_backward(&kc.q, x.t, dy.t, x.t, &form); /* in place */
    case_expect(&x.t, gradient, "activation", "cut activation_backward");
    free(value);
    free(gradient);
    case_free(&x);
    case_free(&y);
    case_free(&dx);
    case_free(&dy);
}

static void test_gated_units(void **state)
{
    (void)state;
    json_t *root = json_load_file("golden/gated_units.json", 0, NULL), *golden;
    assert_non_null(root);
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, golden) check_gated_unit(golden);
    assert_int_equal(i, 8);
    json_decref(root);
}

/* Nothing is cut out of NaN; far values are cut to the border. */
static void test_gated_unit_extremes(void **state)
{
    (void)state;
    float x[8] = {NAN, 1, 1e30f, 1, 1, NAN, 1, -1e30f}, y[4], dx[8], ones[4] = {1, 1, 1, 1};
    const struct tri_activation_form form = {TRI_ACTIVATION_REGLU, 2, 1};
    struct tri_tensor xs = tri_tensor_f32_2d(x, 1, 8);
    kc.k->activation(&kc.q, tri_tensor_f32_2d(y, 1, 4), xs, &form);
    kc.k->activation_backward(&kc.q, tri_tensor_f32_2d(dx, 1, 8), tri_tensor_f32_2d(ones, 1, 4), xs,
                              &form);
    assert_true(isnan(y[1]));
    assert_true(y[2] == 2 * (1 + 1));
    assert_true(y[3] == -1);
    assert_true(dx[2] == 0 && dx[7] == 0 && dx[6] == 2);
    float border[2] = {2, -2}; /* passes a gradient, as in Megatron-LM's fused kernels */
    kc.k->activation_backward(&kc.q, tri_tensor_f32_2d(dx, 1, 2), tri_tensor_f32_2d(ones, 1, 1),
                              tri_tensor_f32_2d(border, 1, 2), &form);
    assert_true(dx[0] == -1 && dx[1] == 2);
}

static void test_softcap(void **state)
{
    (void)state;
    static const double sizes[] = {0.01, 3, 400};
    for (int i = 0; i < 3; i++) {
        struct case_tensor x = case_make(&kc, CASE_DIMS(7, 1003), 3, sizes[i]);
        double *want = case_double(&x.t);
        for (int64_t k = 0; k < 7 * 1003; k++)
            want[k] = 30 * tanh(want[k] / 30);
        kc.k->softcap(&kc.q, x.t, x.t, 30); /* in place */
        case_expect(&x.t, want, "activation", "softcap");
        free(want);
        case_free(&x);
    }
}

static void test_find_non_finite(void **state)
{
    (void)state;
    struct case_tensor x = case_make(&kc, CASE_DIMS(41, 7, 333), 1, 1);
    int64_t n = 41 * 7 * 333;
    assert_int_equal(kc.k->find_non_finite(&kc.q, x.t), -1);
    const float bad[3] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 30; i++) {
        int64_t first = case_random_int(&kc, n), second = first + (n - first) / 2;
        float old_first = *case_at(&x.t, first), old_second = *case_at(&x.t, second);
        *case_at(&x.t, second) = bad[(i + 1) % 3];
        *case_at(&x.t, first) = bad[i % 3];
        assert_int_equal(kc.k->find_non_finite(&kc.q, x.t), first);
        *case_at(&x.t, first) = old_first;
        *case_at(&x.t, second) = old_second;
    }
    case_free(&x);
}

static void test_empty(void **state)
{
    (void)state;
    struct tri_tensor none = {
        .dtype = TRI_DTYPE_F32, .num_dims = 2, .dims = {0, 8}, .strides = {8, 1}};
    kc.k->fill(&kc.q, none, 1);
    kc.k->add(&kc.q, none, none, none);
    assert_int_equal(kc.k->find_non_finite(&kc.q, none), -1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill_copy),
        cmocka_unit_test(test_copy_transposes),
        cmocka_unit_test(test_add_scale),
        cmocka_unit_test(test_long_row),
        cmocka_unit_test(test_bias),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_activation_extremes),
        cmocka_unit_test(test_gated_units),
        cmocka_unit_test(test_gated_unit_extremes),
        cmocka_unit_test(test_softcap),
        cmocka_unit_test(test_find_non_finite),
        cmocka_unit_test(test_empty),
    };
    int reports = 0;
    kc = kernel_case_open(argc, argv, &reports);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_case_close(&kc);
    return failed + reports;
}
