/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's comparison, for the files that make it up. */
#pragma once

#include "base/exact_sum.h"
#include "train/compare.h"
#include "train/resume.h"

struct tri_comparison {
    struct tri_compare_request *request;
    const struct tri_case *reference;
    struct tri_session *session;
    tri_session_state *state;
    int batch;           /* which the source gives */
    int64_t *sample_ids; /* [b] */
    /* Outputs of the whole batch, [b, s, V], [b, s] and [layers, s, b, h]; zero where this rank has none. */
    float *logits, *token_loss, *hidden;
    bool *seen; /* expected tensors that were compared, or are no results */
    int num_compared, num_outside;
    char scratch[64]; /* folder for the gradients' files, made by rank 0 */
};

/* True on the rank that prints and holds against the case. */
static inline bool tri_comparison_reports(const struct tri_comparison *comparison)
{
    return comparison->session->world->rank == 0;
}
/* Prints a difference beside its limit; NaN is past every limit. */
void tri_comparison_check(struct tri_comparison *comparison, const char *what, double difference,
                          double limit);
/* Reads the expected tensor called name, which must have count elements; the caller's to free(). */
tri_status tri_comparison_expected(struct tri_comparison *comparison, const char *name,
                                   int64_t count, float **values);
/* Fills *microbatch with number index of the case's batch (tri_microbatch_fn). */
tri_status tri_comparison_microbatch(void *arg, int index, struct tri_microbatch *microbatch);
/* The root of a sum of squares over all ranks; NaN where one is not finite. Collective over the world. */
tri_status tri_comparison_norm(struct tri_comparison *comparison, struct tri_exact_sum *sum,
                               double *norm);

/* Differences of values from what is expected. */
struct tri_differences {
    double worst, largest; /* difference, expected: absolute */
    double l2, expected_l2;
};
struct tri_differences tri_differences_of(const float *values, const float *expected,
                                          int64_t count);

/* Runs batch 1 forward and backward, and holds every gradient and the norm of all against the case.
   Collective over the world. */
tri_status tri_comparison_gradients(struct tri_comparison *comparison);
