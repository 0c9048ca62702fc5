/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-sgemm [THREADS [REPEATS]]: the rate of BLAS's own threads over 2048^3 and the products of
 * GPT-2 124M, as CSV on stdout: the yardstick beside which trine's own team is held. A process of
 * its own, since trine sets BLAS to one thread.
 */
#include <cblas.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_REPEATS 101

static const struct shape {
    int M, N, K;
    CBLAS_TRANSPOSE a, b;
    float beta;
} shapes[] = {
    {2048, 2048, 2048, CblasNoTrans, CblasNoTrans, 0},
    {2048, 2304, 768, CblasNoTrans, CblasTrans, 0},
    {2048, 768, 768, CblasNoTrans, CblasTrans, 0},
    {2048, 3072, 768, CblasNoTrans, CblasTrans, 0},
    {2048, 768, 3072, CblasNoTrans, CblasTrans, 0},
    {2048, 50304, 768, CblasNoTrans, CblasTrans, 0},
    {2048, 768, 2304, CblasNoTrans, CblasNoTrans, 0},
    {2048, 768, 3072, CblasNoTrans, CblasNoTrans, 0},
    {2048, 3072, 768, CblasNoTrans, CblasNoTrans, 0},
    {2048, 768, 50304, CblasNoTrans, CblasNoTrans, 0},
    {2304, 768, 2048, CblasTrans, CblasNoTrans, 1},
    {768, 768, 2048, CblasTrans, CblasNoTrans, 1},
    {3072, 768, 2048, CblasTrans, CblasNoTrans, 1},
    {768, 3072, 2048, CblasTrans, CblasNoTrans, 1},
    {50304, 768, 2048, CblasTrans, CblasNoTrans, 1},
};

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const struct shape *s, float *a, float *b, float *c, int repeats)
{
    double seconds[MAX_REPEATS];
    for (int i = -1; i < repeats; i++) {
        double start = clock_seconds();
        cblas_sgemm(CblasRowMajor, s->a, s->b, s->M, s->N, s->K, 1, a,
                    s->a == CblasTrans ? s->M : s->K, b, s->b == CblasTrans ? s->K : s->N, s->beta,
                    c, s->N);
        if (i >= 0)
            seconds[i] = clock_seconds() - start;
    }
    qsort(seconds, (size_t)repeats, sizeof(*seconds), compare_doubles);
    double median = seconds[repeats / 2];
    printf("sgemm %s%s,M%d N%d K%d,%.6g,%.6g,%.6g,%.1f,GFLOP/s\n", s->a == CblasTrans ? "T" : "N",
           s->b == CblasTrans ? "T" : "N", s->M, s->N, s->K, seconds[0], median,
           seconds[repeats - 1], 2e-9 * s->M * s->N * s->K / median);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2;
    int repeats = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 11;
    size_t floats = (size_t)50304 * 2048;
    float *a = malloc(floats * sizeof(*a)), *b = malloc(floats * sizeof(*b));
    float *c = malloc(floats * sizeof(*c));
    if (!a || !b || !c || repeats < 1 || repeats > MAX_REPEATS) {
        fprintf(stderr, "error: out of memory, or repeats outside 1 to %d\n", MAX_REPEATS);
        return 1;
    }
    for (size_t i = 0; i < floats; i++)
        a[i] = b[i] = c[i] = (float)(i % 17) * 0.01f;
    openblas_set_num_threads(threads);
    printf("# %s, %d threads, %d repeats\n", openblas_get_config(), threads, repeats);
    printf("operation,shape,min_s,median_s,max_s,rate,unit\n");
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        measure(&shapes[i], a, b, c, repeats);
    free(a);
    free(b);
    free(c);
    return 0;
}
