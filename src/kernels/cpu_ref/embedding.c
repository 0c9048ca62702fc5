/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Embedding over a table that may be cut over ranks by rows: y[S, B, C] = table[ids[b, s] -
 * first_row], zero where another rank holds the row. Backward adds in order of (s, b).
 */
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/rows.h"

void tri_ref_embedding(struct tri_queue *q, struct tri_tensor y, struct tri_tensor table,
                       const int32_t *ids, int64_t first_row)
{
    (void)q;
    struct tri_rows yr = tri_rows_of(y), rows = tri_rows_of(table);
    int64_t B = tri_rows_batch(&y), S = yr.num / B;
    for (int64_t r = 0; r < yr.num; r++) {
        float *yp = tri_rows_get(&yr, r);
        int64_t id = ids[r % B * S + r / B] - first_row;
        bool owned = id >= 0 && id < rows.num;
        const float *row = owned ? tri_rows_get(&rows, id) : NULL;
        for (int64_t c = 0; c < yr.columns; c++)
            yp[c] = owned ? row[c] : 0;
    }
}

void tri_ref_embedding_backward(struct tri_queue *q, struct tri_tensor dtable, struct tri_tensor dy,
                                const int32_t *ids, int64_t first_row)
{
    (void)q;
    struct tri_rows dyr = tri_rows_of(dy), rows = tri_rows_of(dtable);
    int64_t B = tri_rows_batch(&dy), S = dyr.num / B;
    for (int64_t r = 0; r < dyr.num; r++) {
        const float *dyp = tri_rows_get(&dyr, r);
        int64_t id = ids[r % B * S + r / B] - first_row;
        if (id < 0 || id >= rows.num)
            continue;
        float *row = tri_rows_get(&rows, id);
        for (int64_t c = 0; c < dyr.columns; c++)
            row[c] += dyp[c];
    }
}
