/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test of a kernel table needs: the table named on the command line with a team and
 * queue, random tensors whose rows may lie apart (the gaps hold a mark that must survive), a
 * workspace of exactly the stated bytes with a guarded end, and the comparison by the table of
 * tolerances.
 */
#pragma once

#include "kernels/kernels.h"
#include "tolerance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#define CASE_MARK  -77777.0f
#define CASE_GUARD 64

struct kernel_case {
    const struct tri_kernels *k;
    const struct tri_scratch_table *scratch;
    tri_team *team;
    struct tri_queue q;
    uint64_t random;
    struct tri_kernels *checked; /* NULL: not under watch */
};

static inline void kernel_case_report(void *arg, const char *text)
{
    *(int *)arg += 1;
    printf("%s\n", text);
}

/* argv[1]: the backend, on a team of three; "checked" is cpu_fast under watch and with a shadow. */
static inline struct kernel_case kernel_case_open(int argc, char **argv, int *reports)
{
    const char *name = argc > 1 ? argv[1] : "cpu_fast";
    bool is_checked = strcmp(name, "checked") == 0;
    struct kernel_case c = {.random = 0x9e3779b97f4a7c15u};
    tri_error *err = tri_error_create();
    c.k = tri_kernels_find(is_checked ? "cpu_fast" : name, err);
    c.scratch = tri_kernels_scratch(is_checked ? "cpu_fast" : name);
    *reports = 0;
    if (is_checked && c.k &&
        tri_kernels_create_checked(c.k, true, kernel_case_report, reports, err, &c.checked) ==
            TRI_OK)
        c.k = c.checked;
    if (!c.k || tri_team_create(3, err, &c.team) != TRI_OK) {
        printf("%s\n", tri_error_message(err, 0));
        exit(1);
    }
    tri_error_destroy(&err);
    c.q = (struct tri_queue){.device = &tri_device_host, .team = c.team};
    return c;
}

static inline void kernel_case_close(struct kernel_case *c)
{
    tri_team_destroy(&c->team);
    tri_kernels_destroy_checked(&c->checked);
}

/* Uniform in [-1, 1). */
static inline double case_random(struct kernel_case *c)
{
    c->random = c->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(c->random >> 11) / 4503599627370496.0 - 1;
}

static inline int64_t case_random_int(struct kernel_case *c, int64_t below)
{
    return (int64_t)((case_random(c) + 1) / 2 * (double)below);
}

/* A tensor that owns its memory. */
struct case_tensor {
    struct tri_tensor t;
    float *base;
    int64_t num; /* floats in base */
};

/* dims with gap marked floats after each row and each outer dim; uniform in [-size, size). */
static inline struct case_tensor case_make(struct kernel_case *c, int num_dims, const int64_t *dims,
                                           int64_t gap, double size)
{
    struct case_tensor x = {.t = {.dtype = TRI_DTYPE_F32, .num_dims = num_dims}};
    int64_t stride = 1;
    for (int i = num_dims - 1; i >= 0; i--) {
        x.t.dims[i] = dims[i];
        x.t.strides[i] = stride;
        stride = stride * dims[i] + gap;
    }
    x.num = stride;
    x.base = malloc((size_t)stride * sizeof(float));
    x.t.data = x.base;
    for (int64_t i = 0; i < stride; i++)
        x.base[i] = CASE_MARK;
    int64_t index[TRI_MAX_DIMS] = {0};
    for (int64_t n = tri_tensor_elements(&x.t); n > 0; n--) {
        int64_t offset = 0;
        for (int i = 0; i < num_dims; i++)
            offset += index[i] * x.t.strides[i];
        x.base[offset] = (float)(size * case_random(c));
        for (int i = num_dims - 1; i >= 0 && ++index[i] == dims[i]; i--)
            index[i] = 0;
    }
    return x;
}

#define CASE_DIMS(...)                                                                             \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* Element number n in the order of the dims. */
static inline float *case_at(const struct tri_tensor *t, int64_t n)
{
    float *data = (float *)t->data;
    for (int i = t->num_dims - 1; i >= 0; i--) {
        data += n % t->dims[i] * t->strides[i];
        n /= t->dims[i];
    }
    return data;
}

/* Packed copy as double. */
static inline double *case_double(const struct tri_tensor *t)
{
    int64_t n = tri_tensor_elements(t);
    double *d = malloc((size_t)(n > 0 ? n : 1) * sizeof(*d));
    for (int64_t i = 0; i < n; i++)
        d[i] = (double)*case_at(t, i);
    return d;
}

static inline double *case_zeros(int64_t n)
{
    return calloc((size_t)(n > 0 ? n : 1), sizeof(double));
}

/* A copy with the same strides and gaps. */
static inline struct case_tensor case_copy(const struct case_tensor *x)
{
    struct case_tensor y = *x;
    y.base = malloc((size_t)x->num * sizeof(float));
    memcpy(y.base, x->base, (size_t)x->num * sizeof(float));
    y.t.data = y.base;
    return y;
}

/* Checks the marks in the gaps, then frees. */
static inline void case_free(struct case_tensor *x)
{
    int64_t marks = 0;
    for (int64_t i = 0; i < x->num; i++)
        marks += x->base[i] == CASE_MARK;
    assert_int_equal(marks, x->num - tri_tensor_elements(&x->t));
    free(x->base);
    x->base = NULL;
}

static inline void *case_workspace(size_t bytes)
{
    char *w = aligned_alloc(64, (bytes + CASE_GUARD + 63) / 64 * 64);
    memset(w, 0xff, bytes); /* NaN */
    memset(w + bytes, 0x5a, CASE_GUARD);
    return w;
}

static inline void case_workspace_free(void *workspace, size_t bytes)
{
    const unsigned char *end = (unsigned char *)workspace + bytes;
    for (int i = 0; i < CASE_GUARD; i++)
        assert_int_equal(end[i], 0x5a);
    free(workspace);
}

/* Largest difference over largest reference value; NaN anywhere gives infinity. */
static inline double case_difference(const struct tri_tensor *got, const double *want)
{
    double worst = 0, size = 0;
    int64_t n = tri_tensor_elements(got);
    for (int64_t i = 0; i < n; i++) {
        double g = (double)*case_at(got, i), d = g == want[i] ? 0 : fabs(g - want[i]);
        if (!(d <= 1e30))
            return INFINITY;
        worst = d > worst ? d : worst;
        size = isfinite(want[i]) && fabs(want[i]) > size ? fabs(want[i]) : size;
    }
    return worst == 0 ? 0 : worst / (size > 0 ? size : 1);
}

static inline void case_expect(const struct tri_tensor *got, const double *want,
                               const char *tolerance, const char *what)
{
    const struct tri_tolerance *t = tri_tolerance_find(tolerance);
    assert_non_null(t);
    double d = case_difference(got, want);
    if (d > t->warn)
        print_message("%s: difference %.3g, %s warns at %.3g, fails at %.3g\n", what, d, tolerance,
                      t->warn, t->fail);
    if (!(d <= t->fail))
        fail_msg("%s: difference %.3g is above %.3g (%s)", what, d, t->fail, tolerance);
}

/* Bitwise equality of everything, gaps included. */
static inline void case_expect_same(const struct case_tensor *a, const struct case_tensor *b,
                                    const char *what)
{
    if (a->num != b->num || memcmp(a->base, b->base, (size_t)a->num * sizeof(float)) != 0)
        fail_msg("%s: bits differ", what);
}
