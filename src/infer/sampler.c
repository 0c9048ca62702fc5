/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling. */
#include "infer/sampler.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

struct candidate {
    double weight; /* exp of the scaled logit, relative to the largest */
    int32_t id;
};

tri_status tri_sampling_check(const struct tri_sampling *sampling, int64_t vocab_size,
                              tri_error *err)
{
    int before = tri_error_count(err);
    if (!(sampling->temperature >= 0) || !isfinite(sampling->temperature))
        tri_error_add(err, TRI_INVALID, "--temperature %g; use 0 (greedy) or a positive number",
                      sampling->temperature);
    if (sampling->top_k < 0 || sampling->top_k >= vocab_size)
        tri_error_add(err, TRI_INVALID,
                      vocab_size > 1 ? "--top-k %lld; use 0 (off) or 1 to %lld"
                                     : "--top-k %lld; use 0 (off), there is nothing to choose from",
                      (long long)sampling->top_k, (long long)vocab_size - 1);
    if (!(sampling->top_p >= 0 && sampling->top_p <= 1))
        tri_error_add(err, TRI_INVALID, "--top-p %g; use 0 (off) to 1", sampling->top_p);
    if (sampling->top_k > 0 && sampling->top_p > 0)
        tri_error_add(err, TRI_INVALID, "--top-k and --top-p exclude each other; give one");
    return tri_error_count(err) > before ? TRI_INVALID : TRI_OK;
}

static int32_t largest(const float *logits, int64_t vocab_size)
{
    int32_t best = 0;
    for (int64_t i = 1; i < vocab_size; i++)
        if (logits[i] > logits[best])
            best = (int32_t)i;
    return best;
}

static int heavier_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->id < y->id ? -1 : 1;
}

/* How many of the sorted candidates stay. */
static int64_t filter(const struct tri_sampling *sampling, const struct candidate *sorted,
                      int64_t num)
{
    if (sampling->top_k > 0) {
        int64_t keep = sampling->top_k;
        while (keep < num && sorted[keep].weight == sorted[sampling->top_k - 1].weight)
            keep++;
        return keep;
    }
    if (sampling->top_p <= 0)
        return num;
    double total = 0, sum = 0;
    for (int64_t i = 0; i < num; i++)
        total += sorted[i].weight;
    for (int64_t i = 0; i < num; i++) {
        sum += sorted[i].weight / total;
        if (sum > sampling->top_p)
            return i + 1;
    }
    return num;
}

int32_t tri_sample(const struct tri_sampling *sampling, const float *logits, int64_t vocab_size,
                   int64_t position, void *scratch)
{
    int32_t best = largest(logits, vocab_size);
    if (sampling->temperature == 0 || sampling->top_k == 1)
        return best;
    struct candidate *candidates = scratch;
    /* The maximum goes first, so that a tiny temperature gives no overflow. */
    for (int64_t i = 0; i < vocab_size; i++) {
        double below = (double)logits[i] - (double)logits[best];
        candidates[i].weight = below == 0 ? 1.0 : exp(below / sampling->temperature);
        candidates[i].id = (int32_t)i;
    }
    if (sampling->top_k > 0 || sampling->top_p > 0)
        qsort(candidates, (size_t)vocab_size, sizeof *candidates, heavier_first);
    int64_t keep = filter(sampling, candidates, vocab_size);
    double total = 0;
    for (int64_t i = 0; i < keep; i++)
        total += candidates[i].weight;
    struct tri_rng_key key = tri_rng_key(sampling->seed, TRI_RNG_SAMPLING, 0);
    double target = tri_rng_double(key, (uint64_t)position) * total, sum = 0;
    for (int64_t i = 0; i < keep; i++) {
        sum += candidates[i].weight;
        if (target < sum)
            return candidates[i].id;
    }
    return candidates[keep - 1].id;
}
