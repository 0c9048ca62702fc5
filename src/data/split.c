/* SPDX-License-Identifier: Apache-2.0 */
/* Split text to element ranges (split.h). Needs -ffp-contract=off, as the whole build has it. */
#include "data/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tri_data_part_name(enum tri_data_part part)
{
    static const char *const names[TRI_NUM_DATA_PARTS] = {"train", "validation", "test"};
    return (unsigned)part < TRI_NUM_DATA_PARTS ? names[part] : "unknown part";
}

double tri_data_sum(const double *values, int64_t num)
{
    if (num < 8) {
        double sum = 0.0;
        for (int64_t i = 0; i < num; i++)
            sum += values[i];
        return sum;
    }
    if (num > 128) {
        int64_t half = num / 2 - num / 2 % 8;
        return tri_data_sum(values, half) + tri_data_sum(values + half, num - half);
    }
    double r[8];
    memcpy(r, values, sizeof(r));
    int64_t i = 8;
    for (; i + 8 <= num; i += 8) {
        for (int k = 0; k < 8; k++)
            r[k] += values[i + k];
    }
    double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < num; i++)
        sum += values[i];
    return sum;
}

static bool split_is_share(char c)
{
    return c == '.' || (c >= '0' && c <= '9');
}

tri_status tri_data_split_parse(const char *text, struct tri_data_split *split, tri_error *err)
{
    double share[TRI_NUM_DATA_PARTS] = {0.0, 0.0, 0.0};
    int num = 0;
    for (const char *at = text; *at;) {
        if (!split_is_share(*at)) {
            at++;
            continue;
        }
        size_t length = strspn(at, ".0123456789");
        char *end = NULL;
        TRI_CHECK(num < TRI_NUM_DATA_PARTS, err, TRI_INVALID,
                  "split '%s' has more than three shares; give train,validation,test", text);
        share[num] = strtod(at, &end);
        TRI_CHECK(end == at + length || (*end && !split_is_share(*end)), err, TRI_INVALID,
                  "split '%s': '%.*s' is no number", text, (int)length, at);
        num++;
        at += length;
    }
    double sum = tri_data_sum(share, TRI_NUM_DATA_PARTS);
    TRI_CHECK(num > 0, err, TRI_INVALID, "split '%s' has no share; write for example 969,30,1",
              text);
    TRI_CHECK(sum > 0.0 && isfinite(sum), err, TRI_INVALID,
              "split '%s': the shares sum to %g; at least one must be above zero", text, sum);
    struct tri_data_split result = {.bounds = {0.0}};
    for (int p = 0; p < TRI_NUM_DATA_PARTS; p++) {
        result.bounds[p + 1] = result.bounds[p] + share[p] / sum;
        result.present[p] = result.bounds[p + 1] > result.bounds[p];
    }
    *split = result;
    return TRI_OK;
}

void tri_data_split_range(const struct tri_data_split *split, enum tri_data_part part,
                          int64_t num_elements, int64_t *first, int64_t *end)
{
    *first = (int64_t)rint(split->bounds[part] * (double)num_elements);
    *end = (int64_t)rint(split->bounds[part + 1] * (double)num_elements);
    if (!split->present[part])
        *end = *first;
}
