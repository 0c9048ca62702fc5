/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross entropy over a vocabulary that may be cut over ranks: between ce_max, ce_sum and ce_loss the
 * caller reduces row_max, row_sum, target and moment over the group. Row r of [S, B, V] is position r / B of
 * batch row r mod B; labels and weights are [B, S].
 */
#include "kernels/cpu_ref/cpu_ref.h"
#include "kernels/rows.h"

#include <math.h>

/* How many of this rank's columns are real. */
static int64_t ce_valid(const struct tri_rows *rows, int64_t first_column, int64_t num_valid)
{
    int64_t valid = num_valid - first_column;
    if (valid < 0)
        return 0;
    return valid < rows->columns ? valid : rows->columns;
}

static int64_t ce_index(const struct tri_rows *rows, int64_t B, int64_t r)
{
    return r % B * (rows->num / B) + r / B;
}

void tri_ref_ce_max(struct tri_queue *q, struct tri_tensor row_max, struct tri_tensor logits,
                    int64_t first_column, int64_t num_valid)
{
    (void)q;
    struct tri_rows rows = tri_rows_of(logits);
    int64_t valid = ce_valid(&rows, first_column, num_valid);
    for (int64_t r = 0; r < rows.num; r++) {
        const float *x = tri_rows_get(&rows, r);
        float max = -INFINITY;
        for (int64_t c = 0; c < valid; c++)
            max = x[c] > max ? x[c] : max;
        tri_tensor_f32(&row_max)[r] = max;
    }
}

void tri_ref_ce_sum(struct tri_queue *q, struct tri_tensor row_sum, struct tri_tensor target,
                    struct tri_tensor moment, struct tri_tensor logits, struct tri_tensor row_max,
                    const int32_t *labels, int64_t first_column, int64_t num_valid)
{
    (void)q;
    struct tri_rows rows = tri_rows_of(logits);
    int64_t valid = ce_valid(&rows, first_column, num_valid), B = tri_rows_batch(&logits);
    for (int64_t r = 0; r < rows.num; r++) {
        const float *x = tri_rows_get(&rows, r);
        float max = tri_tensor_f32(&row_max)[r];
        double sum = 0, weighted = 0;
        for (int64_t c = 0; c < valid; c++) {
            double e = exp((double)x[c] - max);
            sum += e;
            weighted += e == 0 ? 0 : e * ((double)x[c] - max);
        }
        int64_t label = labels[ce_index(&rows, B, r)];
        int64_t column = label - first_column;
        bool owned = label >= 0 && column >= 0 && column < valid;
        tri_tensor_f32(&row_sum)[r] = (float)sum;
        tri_tensor_f32(&target)[r] = owned ? x[column] - max : 0;
        if (moment.data)
            tri_tensor_f32(&moment)[r] = (float)weighted;
    }
}

void tri_ref_ce_loss(struct tri_queue *q, struct tri_tensor loss, struct tri_tensor row_sum,
                     struct tri_tensor target, const int32_t *labels, int64_t B, int64_t S)
{
    (void)q;
    for (int64_t r = 0; r < S * B; r++) {
        double value = log((double)tri_tensor_f32(&row_sum)[r]) - tri_tensor_f32(&target)[r];
        tri_tensor_f32(&loss)[r] = labels[r % B * S + r / B] < 0 ? 0 : (float)value;
    }
}

void tri_ref_ce_entropy(struct tri_queue *q, struct tri_tensor entropy, struct tri_tensor row_sum,
                        struct tri_tensor moment)
{
    (void)q;
    for (int64_t r = 0; r < tri_tensor_elements(&row_sum); r++) {
        double sum = tri_tensor_f32(&row_sum)[r];
        tri_tensor_f32(&entropy)[r] = (float)(log(sum) - tri_tensor_f32(&moment)[r] / sum);
    }
}

void tri_ref_ce_backward(struct tri_queue *q, struct tri_tensor logits, struct tri_tensor row_max,
                         struct tri_tensor row_sum, const int32_t *labels, const float *weights,
                         float seed, float softcap, int64_t first_column, int64_t num_valid)
{
    (void)q;
    struct tri_rows rows = tri_rows_of(logits);
    int64_t valid = ce_valid(&rows, first_column, num_valid), B = tri_rows_batch(&logits);
    for (int64_t r = 0; r < rows.num; r++) {
        float *x = tri_rows_get(&rows, r);
        float max = tri_tensor_f32(&row_max)[r], sum = tri_tensor_f32(&row_sum)[r];
        int64_t index = ce_index(&rows, B, r), label = labels[index];
        float factor = weights ? weights[index] * seed : seed;
        int64_t end = label < 0 ? 0 : valid;
        for (int64_t c = 0; c < end; c++) {
            double softmax = exp((double)x[c] - max) / sum, bent = softcap > 0 ? x[c] / softcap : 0;
            x[c] = (float)((softmax - (first_column + c == label)) * factor * (1 - bent * bent));
        }
        for (int64_t c = end; c < rows.columns; c++)
            x[c] = 0;
    }
}
