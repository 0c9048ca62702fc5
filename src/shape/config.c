/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabulary padding: the one place where placement reaches into shape. */
#include "shape/config.h"

int64_t tri_vocab_padded(int64_t vocab_size, int64_t divisible_by, int64_t tp)
{
    int64_t unit;
    if (vocab_size < 1 || divisible_by < 1 || tp < 1 ||
        __builtin_mul_overflow(divisible_by, tp, &unit) || vocab_size > INT64_MAX - unit)
        return 0;
    return (vocab_size + unit - 1) / unit * unit;
}
