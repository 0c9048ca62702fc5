/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp, the logistic function, tanh and the complementary error function, eight at a time. Relative error
 * against the true value: exp 2e-7 for arguments up to 0 where its result is a normal number (below
 * that the result is 0), logistic 3e-7, normal distribution 6e-7.
 */
#pragma once

#include "kernels/cpu_fast/simd.h"

/*
 * exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2; exp(r) by a polynomial of degree 7
 * (the one of Cephes' expf). ln 2 is cut in two so that x - n ln 2 is exact enough. Adding 1.5 * 2^23 rounds,
 * and leaves n in the low bits. 0 below -87, infinity above 88.
 */
static inline v8f v8_exp(v8f x)
{
    const v8f magic = v8_set(12582912.0f);
    v8f shifted = x * v8_set(1.44269504088896341f) + magic;
    v8f n = shifted - magic;
    v8f r = x - n * v8_set(0.693359375f);
    r = r - n * v8_set(-2.12194440e-4f);
    v8f p = v8_set(1.9875691500e-4f);
    p = p * r + v8_set(1.3981999507e-3f);
    p = p * r + v8_set(8.3334519073e-3f);
    p = p * r + v8_set(4.1665795894e-2f);
    p = p * r + v8_set(1.6666665459e-1f);
    p = p * r + v8_set(5.0000001201e-1f);
    p = p * r * r + r + v8_set(1.0f);
    v8i exponent = (v8_int_bits(shifted) + 127) << 23;
    v8f y = p * v8_bits(exponent);
    y = v8_select(x < v8_set(-87.0f), v8_set(0.0f), y);
    return v8_select(x > v8_set(88.0f), v8_set(INFINITY), y);
}

/* s = 1 / (1 + exp(-x)); *rest = 1 - s, without cancellation */
static inline v8f v8_logistic(v8f x, v8f *rest)
{
    v8f e = v8_exp(v8_min(v8_set(87.0f), v8_set(0.0f) - x));
    v8f s = v8_set(1.0f) / (v8_set(1.0f) + e);
    *rest = e * s;
    return v8_select(x < v8_set(-87.0f), v8_set(0.0f), s);
}

/*
 * Phi(x) = erfc(-x / sqrt 2) / 2, and *density = exp(-x^2 / 2) on the way. For z >= 0, erfc(z) =
 * exp(-z^2) t P(t), t = 1 / (1 + 0.3 z), P fitted for the least relative error over 0 <= z <= 9.5
 * (2e-8); the other side is 2 - erfc.
 */
static inline v8f v8_normal(v8f x, v8f *density)
{
    v8f e = v8_exp(v8_set(-0.5f) * x * x);
    v8f t = v8_set(1.0f) / (v8_set(1.0f) + v8_set(0.3f * 0.70710678118654752f) * v8_abs(x));
    v8f p = v8_set(-0.129434791f);
    p = p * t + v8_set(0.485100006f);
    p = p * t + v8_set(-0.51123403f);
    p = p * t + v8_set(0.54640404f);
    p = p * t + v8_set(-0.0936377182f);
    p = p * t + v8_set(0.214439161f);
    p = p * t + v8_set(0.148481654f);
    p = p * t + v8_set(0.17069205f);
    p = p * t + v8_set(0.169189608f);
    v8f half = v8_set(0.5f) * e * t * p;
    *density = e;
    return v8_select(x > v8_set(0.0f), v8_set(1.0f) - half, half);
}

/* tanh: near 0 an odd polynomial (the one of Cephes' tanhf), else 1 - 2 / (exp(2 |x|) + 1). */
static inline v8f v8_tanh(v8f x)
{
    v8f z = x * x, size = v8_abs(x);
    v8f p = v8_set(-5.70498872745e-3f);
    p = p * z + v8_set(2.06390887954e-2f);
    p = p * z + v8_set(-5.37397155531e-2f);
    p = p * z + v8_set(1.33314422036e-1f);
    p = p * z + v8_set(-3.33332819422e-1f);
    p = p * z * x + x;
    v8f e = v8_exp(v8_set(-2.0f) * v8_min(v8_set(40.0f), size));
    v8f far = (v8_set(1.0f) - e) / (v8_set(1.0f) + e);
    far = v8_select(x < v8_set(0.0f), v8_set(0.0f) - far, far);
    far = v8_select(x == x, far, x);
    return v8_select(size < v8_set(0.625f), p, far);
}
