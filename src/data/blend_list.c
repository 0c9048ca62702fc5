/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a data_path list and the index rules of a blend (blend.h). The build turns contraction
   off: a fused multiply-add would change the order. */
#include "data/blend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool blend_parse_weight(const char *item, double *weight)
{
    char *end = NULL;
    item += strspn(item, " \t\r\n");
    if (!*item || strpbrk(item, "xXpP")) /* hexadecimal is no number here */
        return false;
    *weight = strtod(item, &end);
    return end != item && end[strspn(end, " \t\r\n")] == '\0';
}

/* Sets weighted when all items at even places are numbers. */
static tri_status blend_list_classify(const char *const *items, int num_items, bool *weighted,
                                      tri_error *err)
{
    double weight;
    *weighted = num_items % 2 == 0 && blend_parse_weight(items[0], &weight);
    for (int i = 2; num_items % 2 == 0 && i < num_items; i += 2) {
        bool is_number = blend_parse_weight(items[i], &weight);
        TRI_CHECK(is_number == *weighted, err, TRI_INVALID,
                  "data_path: item 1 '%s' is %s weight, but item %d '%s' is %s; give a weight for "
                  "every prefix or for none",
                  items[0], *weighted ? "a" : "no", i + 1, items[i],
                  is_number ? "a number" : "no number");
    }
    return TRI_OK;
}

tri_status tri_blend_list_init(struct tri_blend_list *list, const char *const *items, int num_items,
                               tri_error *err)
{
    bool weighted;
    TRI_CHECK(num_items > 0, err, TRI_INVALID, "data_path is empty; give at least one prefix");
    TRI_TRY(blend_list_classify(items, num_items, &weighted, err));
    struct tri_blend_list result = {.num = weighted ? num_items / 2 : num_items};
    for (int i = 0; weighted && i < result.num; i++) {
        double weight = 0.0;
        blend_parse_weight(items[2 * i], &weight);
        TRI_CHECK(
            isfinite(weight) && weight > 0.0, err, TRI_INVALID,
            "data_path: item %d, the weight '%s' of '%s', must be a finite number above zero; "
            "leave the prefix out to draw nothing from it",
            2 * i + 1, items[2 * i], items[2 * i + 1]);
    }
    TRI_CHECK(result.num <= INT16_MAX, err, TRI_INVALID,
              "data_path has %d prefixes; a blend holds up to %d", result.num, INT16_MAX);
    result.prefixes = calloc((size_t)result.num, sizeof(*result.prefixes));
    result.weights = calloc((size_t)result.num, sizeof(*result.weights));
    if (!result.prefixes || !result.weights) {
        tri_blend_list_fini(&result);
        return tri_error_set(err, TRI_NOMEM, "out of memory for %d prefixes", num_items);
    }
    for (int i = 0; i < result.num; i++) {
        result.prefixes[i] = items[weighted ? 2 * i + 1 : i];
        if (weighted)
            blend_parse_weight(items[2 * i], &result.weights[i]);
    }
    if (!weighted) {
        free(result.weights);
        result.weights = NULL;
    }
    *list = result;
    return TRI_OK;
}

void tri_blend_list_fini(struct tri_blend_list *list)
{
    free(list->prefixes);
    free(list->weights);
    *list = (struct tri_blend_list){0};
}

void tri_blend_normalise(double *weights, int num)
{
    double sum = tri_data_sum(weights, num);
    for (int i = 0; i < num; i++)
        weights[i] /= sum;
}

/* Emits the first i with the largest w_i t - c_i, t = max(step, 1); c_i, kept in scratch, is
   what i has given so far. */
void tri_blend_greedy(const double *weights, int num, int64_t size, int16_t *dataset,
                      int64_t *sample, int64_t *scratch)
{
    memset(scratch, 0, (size_t)num * sizeof(*scratch));
    for (int64_t step = 0; step < size; step++) {
        double t = step > 0 ? (double)step : 1.0;
        int best = 0;
        double best_lag = weights[0] * t - (double)scratch[0];
        for (int i = 1; i < num; i++) {
            double lag = weights[i] * t - (double)scratch[i];
            if (lag > best_lag) {
                best_lag = lag;
                best = i;
            }
        }
        dataset[step] = (int16_t)best;
        sample[step] = scratch[best]++;
    }
}

void tri_blend_exhaustive(const int64_t *sizes, int num, int64_t size, int16_t *dataset,
                          int64_t *sample, int64_t *scratch)
{
    memset(scratch, 0, (size_t)num * sizeof(*scratch));
    for (int64_t step = 0; step < size; step++) {
        double t = step > 0 ? (double)step : 1.0, best_lag = 0.0;
        int best = -1;
        for (int i = 0; i < num; i++) {
            if (scratch[i] == sizes[i])
                continue;
            double weight = (double)sizes[i] / (double)size;
            double lag = weight * t - (double)scratch[i];
            if (best < 0 || lag > best_lag) {
                best_lag = lag;
                best = i;
            }
        }
        dataset[step] = (int16_t)best;
        sample[step] = scratch[best]++;
    }
}
