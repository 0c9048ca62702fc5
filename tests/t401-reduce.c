/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reduction in rank order against plain loops, and the rounding of the 16-bit types against the
 * definition: the nearest value, a tie to the even one.
 */
#include "t4-ranks.h"

#include <math.h>

#define COUNT 2053 /* odd, and more than a few blocks */
#define NUM   5

static double half_value(enum tri_dtype dtype, uint16_t half)
{
    int mantissa_bits = dtype == TRI_DTYPE_BF16 ? 7 : 10;
    int bias = dtype == TRI_DTYPE_BF16 ? 127 : 15;
    int exponent = (half & 0x7fff) >> mantissa_bits;
    int mantissa = half & ((1 << mantissa_bits) - 1);
    double sign = half & 0x8000 ? -1.0 : 1.0;
    if (exponent == 2 * bias + 1)
        return mantissa ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

static const enum tri_dtype halves[] = {TRI_DTYPE_BF16, TRI_DTYPE_F16};

static void test_half_values_survive(void **state)
{
    (void)state;
    uint16_t *in = malloc(65536 * sizeof *in), *out = malloc(65536 * sizeof *out);
    for (int i = 0; i < 65536; i++)
        in[i] = (uint16_t)i;
    const void *ins[] = {in};
    for (int d = 0; d < 2; d++) {
        tri_reduce_in_order(TRI_REDUCE_SUM, halves[d], out, ins, 1, 65536);
        for (int i = 0; i < 65536; i++) {
            double was = half_value(halves[d], in[i]), is = half_value(halves[d], out[i]);
            if (isnan(was))
                assert_true(isnan(is));
            else
                assert_int_equal(in[i], out[i]);
        }
    }
    free(in);
    free(out);
}

/* The sum of two halves is exact in fp32 or rounded once; what is stored must be nearest to it. */
static void check_nearest(enum tri_dtype dtype, uint16_t a, uint16_t b, uint16_t got)
{
    float sum = (float)half_value(dtype, a) + (float)half_value(dtype, b);
    double value = half_value(dtype, got);
    if (isnan(sum)) {
        assert_true(isnan(value));
        return;
    }
    double largest = half_value(dtype, dtype == TRI_DTYPE_BF16 ? 0x7f7f : 0x7bff);
    double step = largest - half_value(dtype, dtype == TRI_DTYPE_BF16 ? 0x7f7e : 0x7bfe);
    if (fabs((double)sum) >= largest + step / 2) {
        assert_true(isinf(value) && !signbit(value) == !signbit(sum));
        return;
    }
    double error = fabs(value - (double)sum);
    for (int move = -1; move <= 1; move += 2) {
        double other = half_value(dtype, (uint16_t)(got + move));
        if ((got & 0x7fff) == 0 && move < 0)
            other = half_value(dtype, (uint16_t)((got ^ 0x8000) + 1));
        double other_error = fabs(other - (double)sum);
        assert_false(other_error < error);
        if (other_error == error)
            assert_int_equal(got & 1, 0);
    }
}

static void test_half_sums_are_nearest(void **state)
{
    (void)state;
    const int64_t count = 200003;
    uint16_t *a = malloc((size_t)count * 2), *b = malloc((size_t)count * 2);
    uint16_t *out = malloc((size_t)count * 2);
    const void *ins[] = {a, b};
    for (int d = 0; d < 2; d++) {
        for (int64_t i = 0; i < count; i++) {
            uint64_t bits = mix((uint64_t)i + 77u);
            a[i] = (uint16_t)bits;
            /* Half of the pairs are of near size, so that ties and cancellation happen. */
            b[i] = i % 2 ? (uint16_t)(bits >> 16) : (uint16_t)((a[i] ^ 0x8000u) + (bits >> 54));
        }
        tri_reduce_in_order(TRI_REDUCE_SUM, halves[d], out, ins, 2, count);
        for (int64_t i = 0; i < count; i++)
            check_nearest(halves[d], a[i], b[i], out[i]);
    }
    free(a);
    free(b);
    free(out);
}

/* 1 + 2^-8 eight times: rounding every partial sum to bf16 would lose all of them. */
static void test_half_partial_sums_are_wide(void **state)
{
    (void)state;
    uint16_t one = 0x3f80, small = 0x3b80, out = 0;
    const void *ins[9] = {&one};
    for (int i = 1; i < 9; i++)
        ins[i] = &small;
    tri_reduce_in_order(TRI_REDUCE_SUM, TRI_DTYPE_BF16, &out, ins, 9, 1);
    assert_true(half_value(TRI_DTYPE_BF16, out) == 1.03125);
}

static void test_wide_types_in_order(void **state)
{
    (void)state;
    static float f32[NUM][COUNT], f32_out[COUNT];
    static double f64[NUM][COUNT], f64_out[COUNT];
    static int64_t i64[NUM][COUNT], i64_out[COUNT];
    const void *f32_in[NUM], *f64_in[NUM], *i64_in[NUM];
    for (int k = 0; k < NUM; k++) {
        fill(f32[k], TRI_DTYPE_F32, COUNT, k, 1);
        fill(f64[k], TRI_DTYPE_F64, COUNT, k, 2);
        fill(i64[k], TRI_DTYPE_I64, COUNT, k, 3);
        f32_in[k] = f32[k];
        f64_in[k] = f64[k];
        i64_in[k] = i64[k];
    }
    tri_reduce_in_order(TRI_REDUCE_SUM, TRI_DTYPE_F32, f32_out, f32_in, NUM, COUNT);
    tri_reduce_in_order(TRI_REDUCE_SUM, TRI_DTYPE_F64, f64_out, f64_in, NUM, COUNT);
    tri_reduce_in_order(TRI_REDUCE_SUM, TRI_DTYPE_I64, i64_out, i64_in, NUM, COUNT);
    for (int i = 0; i < COUNT; i++) {
        float f = f32[0][i];
        double d = f64[0][i];
        uint64_t n = (uint64_t)i64[0][i];
        for (int k = 1; k < NUM; k++) {
            f += f32[k][i];
            d += f64[k][i];
            n += (uint64_t)i64[k][i];
        }
        assert_memory_equal(&f, &f32_out[i], sizeof f);
        assert_memory_equal(&d, &f64_out[i], sizeof d);
        assert_true(n == (uint64_t)i64_out[i]);
    }
    /* out may be any of in. */
    tri_reduce_in_order(TRI_REDUCE_SUM, TRI_DTYPE_F32, f32[3], f32_in, NUM, COUNT);
    assert_memory_equal(f32[3], f32_out, sizeof f32_out);
}

static void test_max_min_or(void **state)
{
    (void)state;
    float a[] = {1.0f, -2.0f, NAN, 5.0f, -INFINITY}, b[] = {2.0f, -3.0f, 1.0f, NAN, 0.0f}, out[5];
    const void *ins[] = {a, b};
    tri_reduce_in_order(TRI_REDUCE_MAX, TRI_DTYPE_F32, out, ins, 2, 5);
    assert_true(out[0] == 2.0f && out[1] == -2.0f && isnan(out[2]) && isnan(out[3]) &&
                out[4] == 0.0f);
    tri_reduce_in_order(TRI_REDUCE_MIN, TRI_DTYPE_F32, out, ins, 2, 5);
    assert_true(out[0] == 1.0f && out[1] == -3.0f && isnan(out[2]) && isnan(out[3]) &&
                isinf(out[4]));
    int64_t x[] = {5, -1, INT64_MIN}, y[] = {3, 7, INT64_MAX}, z[3];
    const void *integers[] = {x, y};
    tri_reduce_in_order(TRI_REDUCE_OR, TRI_DTYPE_I64, z, integers, 2, 3);
    assert_true(z[0] == 7 && z[1] == -1 && z[2] == -1);
    tri_reduce_in_order(TRI_REDUCE_MAX, TRI_DTYPE_I64, z, integers, 2, 3);
    assert_true(z[0] == 5 && z[1] == 7 && z[2] == INT64_MAX);
    tri_reduce_in_order(TRI_REDUCE_MIN, TRI_DTYPE_I64, z, integers, 2, 3);
    assert_true(z[0] == 3 && z[1] == -1 && z[2] == INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_values_survive),
        cmocka_unit_test(test_half_sums_are_nearest),
        cmocka_unit_test(test_half_partial_sums_are_wide),
        cmocka_unit_test(test_wide_types_in_order),
        cmocka_unit_test(test_max_min_or),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
