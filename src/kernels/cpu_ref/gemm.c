/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c[M, N] = beta * c + op(a) op(b). Each element is one sum over k in order, in double; eight
 * columns go side by side so that b is read along its rows.
 */
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/rows.h"

#define COLUMNS 8

void tri_ref_gemm(struct tri_queue *q, struct tri_tensor c, struct tri_tensor a,
                  struct tri_tensor b, bool transpose_a, bool transpose_b, float beta,
                  void *workspace)
{
    (void)q;
    (void)workspace;
    struct tri_rows cr = tri_rows_matrix(c), ar = tri_rows_matrix(a), br = tri_rows_matrix(b);
    int64_t K = transpose_a ? ar.num : ar.columns;
    int64_t a_row = transpose_a ? 1 : ar.stride, a_k = transpose_a ? ar.stride : 1;
    int64_t b_column = transpose_b ? br.stride : 1, b_k = transpose_b ? 1 : br.stride;
    for (int64_t i = 0; i < cr.num; i++)
        for (int64_t first = 0; first < cr.columns; first += COLUMNS) {
            int64_t count = cr.columns - first < COLUMNS ? cr.columns - first : COLUMNS;
            double sum[COLUMNS] = {0};
            for (int64_t k = 0; k < K; k++) {
                double aik = ar.data[i * a_row + k * a_k];
                const float *bp = br.data + k * b_k + first * b_column;
                for (int64_t j = 0; j < count; j++)
                    sum[j] += aik * bp[j * b_column];
            }
            float *cp = tri_rows_get(&cr, i) + first;
            for (int64_t j = 0; j < count; j++)
                cp[j] = beta == 0 ? (float)sum[j] : (float)(beta * cp[j] + sum[j]);
        }
}
