/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included by the compiler before every file of a program that is built once more in double: float
 * is double, the single functions of math.h are their double forms, and tensors of fp32 are tensors
 * of fp64. System headers, and those of base/ that must match its library, come first. What is left
 * of single precision are literals such as 0.1f, which forward and backward share.
 */
#pragma once

#include "base/dtype.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Normal deviates of tri_rng_normal(), widened; in place of it (harness/as_double.c). */
void as_double_normal(struct tri_rng_key key, int64_t first, int64_t count, double std,
                      double *out);
#define tri_rng_normal as_double_normal

#define TRI_DTYPE_F32 TRI_DTYPE_F64

#define float double
#undef FLT_MAX
#undef FLT_MIN
#undef FLT_EPSILON
#define FLT_MAX     DBL_MAX
#define FLT_MIN     DBL_MIN
#define FLT_EPSILON DBL_EPSILON

#define ceilf     ceil
#define copysignf copysign
#define cosf      cos
#define erfcf     erfc
#define erff      erf
#define expf      exp
#define expm1f    expm1
#define fabsf     fabs
#define floorf    floor
#define fmaf      fma
#define fmaxf     fmax
#define fminf     fmin
#define log1pf    log1p
#define logf      log
#define powf      pow
#define roundf    round
#define sinf      sin
#define sqrtf     sqrt
#define tanhf     tanh
