/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product of a kernel table (argv[1]): all transposes, strided rows, beta 0 and 1,
   against double; large shapes by an identity, since every tile must be in its place. */
#include "harness/kernel_case.h"

static struct kernel_case kc;

static void gemm(struct tri_tensor c, struct tri_tensor a, struct tri_tensor b, bool ta, bool tb,
                 float beta)
{
    int64_t K = ta ? a.dims[0] : a.dims[1];
    size_t bytes = kc.scratch->gemm(c.dims[0], c.dims[1], K, 3);
    void *workspace = case_workspace(bytes);
    kc.k->gemm(&kc.q, c, a, b, ta, tb, beta, workspace);
    case_workspace_free(workspace, bytes);
}

static void check_gemm(int64_t M, int64_t N, int64_t K, bool ta, bool tb, float beta)
{
    struct case_tensor a = case_make(&kc, CASE_DIMS(ta ? K : M, ta ? M : K), 3, 1);
    struct case_tensor b = case_make(&kc, CASE_DIMS(tb ? N : K, tb ? K : N), 5, 1);
    struct case_tensor c = case_make(&kc, CASE_DIMS(M, N), 2, 1);
    double *da = case_double(&a.t), *db = case_double(&b.t), *dc = case_double(&c.t);
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            double sum = (double)beta * dc[i * N + j];
            for (int64_t k = 0; k < K; k++)
                sum += da[ta ? k * M + i : i * K + k] * db[tb ? j * K + k : k * N + j];
            dc[i * N + j] = sum;
        }
    if (beta == 0)
        kc.k->fill(&kc.q, c.t, NAN); /* overwritten, whatever was there */
    gemm(c.t, a.t, b.t, ta, tb, beta);
    case_expect(&c.t, dc, "gemm", "gemm");
    free(da);
    free(db);
    free(dc);
    case_free(&a);
    case_free(&b);
    case_free(&c);
}

static void test_small(void **state)
{
    (void)state;
    const int64_t dims[][3] = {{1, 1, 1},    {1, 37, 19},    {37, 1, 19},    {5, 7, 1},
                               {33, 65, 17}, {3, 1601, 300}, {129, 67, 255}, {131, 190, 77}};
    for (size_t i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
        for (int way = 0; way < 8; way++)
            check_gemm(dims[i][0], dims[i][1], dims[i][2], way & 1, way & 2, way & 4 ? 1 : 0);
}

/* (A B) x = A (B x) for a random x, with every way to cut into tiles. */
static void check_large(int64_t M, int64_t N, int64_t K, bool ta, bool tb)
{
    struct case_tensor a = case_make(&kc, CASE_DIMS(ta ? K : M, ta ? M : K), 1, 1);
    struct case_tensor b = case_make(&kc, CASE_DIMS(tb ? N : K, tb ? K : N), 1, 1);
    struct case_tensor c = case_make(&kc, CASE_DIMS(M, N), 1, 1);
    double *bx = case_zeros(K), *abx = case_zeros(M), *cx = case_zeros(M), size = 0, worst = 0;
    gemm(c.t, a.t, b.t, ta, tb, 0);
    for (int64_t j = 0; j < N; j++) {
        double x = case_random(&kc);
        for (int64_t k = 0; k < K; k++)
            bx[k] += x * (double)b.base[tb ? j * b.t.strides[0] + k : k * b.t.strides[0] + j];
        for (int64_t i = 0; i < M; i++)
            cx[i] += x * (double)c.base[i * c.t.strides[0] + j];
    }
    for (int64_t i = 0; i < M; i++) {
        for (int64_t k = 0; k < K; k++)
            abx[i] += bx[k] * (double)a.base[ta ? k * a.t.strides[0] + i : i * a.t.strides[0] + k];
        size = fmax(size, fabs(abx[i]));
        worst = fmax(worst, fabs(abx[i] - cx[i]));
    }
    assert_true(worst / size <= tri_tolerance_find("gemm")->fail);
    free(bx);
    free(abx);
    free(cx);
    case_free(&a);
    case_free(&b);
    case_free(&c);
}

static void test_large(void **state)
{
    (void)state;
    check_large(1030, 517, 129, false, true);
    check_large(259, 3300, 65, false, false);
    check_large(401, 333, 270, true, false);
    check_large(77, 6500, 40, true, true);
    check_large(300, 12301, 17, false, true);
}

static void test_more_dims(void **state)
{
    (void)state;
    struct case_tensor a = case_make(&kc, CASE_DIMS(4, 3, 8), 0, 1);
    struct case_tensor b = case_make(&kc, CASE_DIMS(5, 8), 0, 1);
    struct case_tensor c = case_make(&kc, CASE_DIMS(4, 3, 5), 0, 1);
    struct tri_tensor flat = tri_tensor_rows(&a.t);
    float again[60];
    kc.k->gemm(&kc.q, c.t, a.t, b.t, false, true, 0, NULL);
    kc.k->gemm(&kc.q, tri_tensor_f32_2d(again, 12, 5), flat, b.t, false, true, 0, NULL);
    assert_memory_equal(again, c.base, sizeof(again));
    case_free(&a);
    case_free(&b);
    case_free(&c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_more_dims),
    };
    int reports = 0;
    kc = kernel_case_open(argc, argv, &reports);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kernel_case_close(&kc);
    return failed + reports;
}
