/* SPDX-License-Identifier: Apache-2.0 */
/* The one function of base/ that fills floats, for programs built in double (harness/as_double.h). */
#include "base/rng.h"

#include <stdlib.h>

void as_double_normal(struct tri_rng_key key, int64_t first, int64_t count, double std,
                      double *out);

void as_double_normal(struct tri_rng_key key, int64_t first, int64_t count, double std, double *out)
{
    float *single = malloc((size_t)count * sizeof(float) + 1);
    tri_rng_normal(key, first, count, 1, single);
    for (int64_t i = 0; i < count; i++)
        out[i] = std * (double)single[i];
    free(single);
}
