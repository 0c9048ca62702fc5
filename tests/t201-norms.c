/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNorm, RMSNorm and rotary positions of a kernel table (argv[1]) against loops in double. */
#include "harness/kernel_case.h"

static struct kernel_case kc;

struct norm_case {
    int64_t R, C;
    struct case_tensor x, dy, y, dx, weight, bias, dweight, dbias, mean, rstd;
    double *dm, *dr; /* statistics in double */
};

static struct norm_case norm_make(int64_t R, int64_t C, bool centred, float eps)
{
    struct norm_case n = {.R = R, .C = C};
    n.x = case_make(&kc, CASE_DIMS(R, C), 3, 2);
    n.dy = case_make(&kc, CASE_DIMS(R, C), 1, 1);
    n.y = case_make(&kc, CASE_DIMS(R, C), 2, 1);
    n.dx = case_make(&kc, CASE_DIMS(R, C), 5, 1);
    n.weight = case_make(&kc, CASE_DIMS(C), 0, 1);
    n.bias = case_make(&kc, CASE_DIMS(C), 0, 1);
    n.dweight = case_make(&kc, CASE_DIMS(C), 0, 1);
    n.dbias = case_make(&kc, CASE_DIMS(C), 0, 1);
    n.mean = case_make(&kc, CASE_DIMS(R), 0, 1);
    n.rstd = case_make(&kc, CASE_DIMS(R), 0, 1);
    n.dm = case_zeros(R);
    n.dr = case_zeros(R);
    for (int64_t r = 0; r < R; r++) {
        double squares = 0;
        for (int64_t c = 0; c < C && centred; c++)
            n.dm[r] += (double)*case_at(&n.x.t, r * C + c) / (double)C;
        for (int64_t c = 0; c < C; c++)
            squares += pow((double)*case_at(&n.x.t, r * C + c) - n.dm[r], 2);
        n.dr[r] = 1 / sqrt(squares / (double)C + eps);
    }
    return n;
}

static void norm_free(struct norm_case *n)
{
    struct case_tensor *all[] = {&n->x,    &n->dy,      &n->y,     &n->dx,   &n->weight,
                                 &n->bias, &n->dweight, &n->dbias, &n->mean, &n->rstd};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        case_free(all[i]);
    free(n->dm);
    free(n->dr);
}

static double xhat(const struct norm_case *n, int64_t i)
{
    return ((double)*case_at(&n->x.t, i) - n->dm[i / n->C]) * n->dr[i / n->C];
}

static double *want_forward(const struct norm_case *n, bool with_bias)
{
    double *want = case_zeros(n->R * n->C);
    for (int64_t i = 0; i < n->R * n->C; i++)
        want[i] = xhat(n, i) * (double)n->weight.base[i % n->C] +
                  (with_bias ? (double)n->bias.base[i % n->C] : 0);
    return want;
}

/* The whole Jacobian's product, in double. */
static void want_backward(const struct norm_case *n, bool centred, double *dx, double *dweight,
                          double *dbias)
{
    int64_t C = n->C;
    for (int64_t r = 0; r < n->R; r++) {
        double sum_g = 0, sum_gx = 0;
        for (int64_t c = 0; c < C; c++) {
            double d = (double)*case_at(&n->dy.t, r * C + c);
            double g = d * (double)n->weight.base[c];
            sum_g += g;
            sum_gx += g * xhat(n, r * C + c);
            dweight[c] += d * xhat(n, r * C + c);
            dbias[c] += d;
        }
        for (int64_t c = 0; c < C; c++) {
            double g = (double)*case_at(&n->dy.t, r * C + c) * (double)n->weight.base[c];
            double mean = centred ? sum_g / (double)C : 0;
            dx[r * C + c] = n->dr[r] * (g - mean - xhat(n, r * C + c) * sum_gx / (double)C);
        }
    }
}

static void check_layernorm(int64_t R, int64_t C)
{
    struct norm_case n = norm_make(R, C, true, 1e-5f);
    double *want = want_forward(&n, true), *bare = want_forward(&n, false);
    struct tri_tensor none = {.data = NULL};
    kc.k->layernorm(&kc.q, n.y.t, n.mean.t, n.rstd.t, n.x.t, n.weight.t, none, 1e-5f);
    case_expect(&n.y.t, bare, "norm", "layernorm without bias");
    kc.k->layernorm(&kc.q, n.y.t, n.mean.t, n.rstd.t, n.x.t, n.weight.t, n.bias.t, 1e-5f);
    case_expect(&n.y.t, want, "norm", "layernorm");
    case_expect(&n.rstd.t, n.dr, "norm", "layernorm rstd");
    double *dx = case_zeros(R * C), *dw = case_double(&n.dweight.t), *db = case_double(&n.dbias.t);
    want_backward(&n, true, dx, dw, db);
    size_t bytes = kc.scratch->layernorm_backward(R, C, 3);
    void *workspace = case_workspace(bytes);
    kc.k->layernorm_backward(&kc.q, n.dx.t, none, none, n.dy.t, n.x.t, n.mean.t, n.rstd.t,
                             n.weight.t, workspace);
    case_expect(&n.dx.t, dx, "norm", "layernorm dx alone");
    kc.k->layernorm_backward(&kc.q, n.dy.t, n.dweight.t, n.dbias.t, n.dy.t, n.x.t, n.mean.t,
                             n.rstd.t, n.weight.t, workspace);
    case_expect(&n.dy.t, dx, "norm", "layernorm dx in place");
    case_expect(&n.dweight.t, dw, "column_sum", "layernorm dweight");
    case_expect(&n.dbias.t, db, "column_sum", "layernorm dbias");
    case_workspace_free(workspace, bytes);
    free(want);
    free(bare);
    free(dx);
    free(dw);
    free(db);
    norm_free(&n);
}

static void test_layernorm(void **state)
{
    (void)state;
    check_layernorm(1, 7);
    check_layernorm(5, 33);
    check_layernorm(67, 96);
    check_layernorm(2111, 45);
    check_layernorm(9, 1027);
}

static void check_rmsnorm(int64_t R, int64_t C)
{
    struct norm_case n = norm_make(R, C, false, 1e-6f);
    double *want = want_forward(&n, false);
    struct tri_tensor none = {.data = NULL};
    kc.k->rmsnorm(&kc.q, n.y.t, n.rstd.t, n.x.t, n.weight.t, 1e-6f);
    case_expect(&n.y.t, want, "norm", "rmsnorm");
    case_expect(&n.rstd.t, n.dr, "norm", "rmsnorm rstd");
    double *dx = case_zeros(R * C), *dw = case_double(&n.dweight.t), *db = case_zeros(C);
    want_backward(&n, false, dx, dw, db);
    size_t bytes = kc.scratch->rmsnorm_backward(R, C, 3);
    void *workspace = case_workspace(bytes);
    kc.k->rmsnorm_backward(&kc.q, n.dx.t, none, n.dy.t, n.x.t, n.rstd.t, n.weight.t, workspace);
    case_expect(&n.dx.t, dx, "norm", "rmsnorm dx alone");
    kc.k->rmsnorm_backward(&kc.q, n.dy.t, n.dweight.t, n.dy.t, n.x.t, n.rstd.t, n.weight.t,
                           workspace);
    case_expect(&n.dy.t, dx, "norm", "rmsnorm dx in place");
    case_expect(&n.dweight.t, dw, "column_sum", "rmsnorm dweight");
    case_workspace_free(workspace, bytes);
    free(want);
    free(dx);
    free(dw);
    free(db);
    norm_free(&n);
}

static void test_rmsnorm(void **state)
{
    (void)state;
    check_rmsnorm(1, 3);
    check_rmsnorm(13, 64);
    check_rmsnorm(2500, 31);
    check_rmsnorm(6, 777);
}

/* The gradient of sum(y * dy) in one weight and one input, by a central difference of forward. */
static void test_layernorm_finite_difference(void **state)
{
    (void)state;
    struct norm_case n = norm_make(11, 29, true, 1e-5f);
    size_t bytes = kc.scratch->layernorm_backward(11, 29, 3);
    void *workspace = case_workspace(bytes);
    kc.k->layernorm(&kc.q, n.y.t, n.mean.t, n.rstd.t, n.x.t, n.weight.t, n.bias.t, 1e-5f);
    kc.k->layernorm_backward(&kc.q, n.dx.t, n.dweight.t, n.dbias.t, n.dy.t, n.x.t, n.mean.t,
                             n.rstd.t, n.weight.t, workspace);
    for (int i = 0; i < 20; i++) {
        float *x = case_at(&n.x.t, case_random_int(&kc, 11 * 29)), old = *x;
        float *slope = n.dx.base + (x - n.x.base) / n.x.t.strides[0] * n.dx.t.strides[0] +
                       (x - n.x.base) % n.x.t.strides[0];
        double loss[2] = {0, 0}, step = 1e-2;
        for (int side = 0; side < 2; side++) {
            *x = old + (float)(side ? step : -step);
            kc.k->layernorm(&kc.q, n.y.t, n.mean.t, n.rstd.t, n.x.t, n.weight.t, n.bias.t, 1e-5f);
            for (int64_t e = 0; e < 11 * 29; e++)
                loss[side] += (double)*case_at(&n.y.t, e) * (double)*case_at(&n.dy.t, e);
        }
        *x = old;
        double numeric = (loss[1] - loss[0]) / (2 * step);
        assert_true(fabs(numeric - (double)*slope) <=
                    tri_tolerance_find("finite_difference")->fail);
    }
    case_workspace_free(workspace, bytes);
    norm_free(&n);
}

static void check_rope(bool interleaved, int64_t D, int64_t half, bool sections)
{
    int64_t S = 9, B = 3, H = 2, P = 23;
    struct case_tensor x = case_make(&kc, CASE_DIMS(S, B, H, D), 4, 1), start = case_copy(&x);
    struct case_tensor cosine = case_make(&kc, CASE_DIMS(P, half), 0, 1);
    struct case_tensor sine = case_make(&kc, CASE_DIMS(P, half), 0, 1);
    int32_t positions[3][27];
    for (int i = 0; i < 81; i++)
        positions[i / 27][i % 27] = (int32_t)case_random_int(&kc, P);
    struct tri_rope rope = {.positions = {positions[0], positions[1], positions[2]},
                            .interleaved = interleaved};
    if (sections) {
        rope.sections[0] = 2;
        rope.sections[1] = 5;
        rope.sections[2] = half - 7;
    }
    for (int64_t i = 0; i < P * half; i++) {
        double angle = 3 * case_random(&kc);
        cosine.base[i] = (float)cos(angle);
        sine.base[i] = (float)sin(angle);
    }
    double *old = case_double(&x.t), *want = case_double(&x.t), *back = case_double(&x.t);
    for (int64_t i = 0; i < S * B * H; i++)
        for (int64_t k = 0; k < half; k++) {
            int axis = !sections || k < 2 ? 0 : k < 7 ? 1 : 2;
            int64_t s = i / H / B, b = i / H % B, row = positions[axis][b * S + s] * half + k;
            int64_t one = i * D + (interleaved ? 2 * k : k);
            int64_t two = one + (interleaved ? 1 : half);
            double c = (double)cosine.base[row], sn = (double)sine.base[row];
            want[one] = old[one] * c - old[two] * sn;
            want[two] = old[two] * c + old[one] * sn;
        }
    kc.k->rope(&kc.q, x.t, cosine.t, sine.t, &rope);
    case_expect(&x.t, want, "elementwise", "rope");
    rope.inverse = true;
    kc.k->rope(&kc.q, x.t, cosine.t, sine.t, &rope);
    case_expect(&x.t, back, "elementwise", "rope and back");
    free(old);
    free(want);
    free(back);
    case_free(&x);
    case_free(&start);
    case_free(&cosine);
    case_free(&sine);
}

static void test_rope(void **state)
{
    (void)state;
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        check_rope(interleaved, 32, 16, false);
        check_rope(interleaved, 50, 11, false); /* partial, odd */
        check_rope(interleaved, 50, 19, true);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layernorm),
        cmocka_unit_test(test_rmsnorm),
        cmocka_unit_test(test_layernorm_finite_difference),
        cmocka_unit_test(test_rope),
    };
    int reports = 0;
    kc = kernel_case_open(argc, argv, &reports);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_case_close(&kc);
    return failed + reports;
}
