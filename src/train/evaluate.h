/* SPDX-License-Identifier: Apache-2.0 */
/* Loss over data without training: dropout off, nothing changes. */
#pragma once

#include "train/step.h"

struct tri_evaluation {
    double loss_sum;    /* of token losses */
    double num_tokens;  /* that count */
};
static inline double tri_evaluation_loss(const struct tri_evaluation *evaluation)
{
    return evaluation->num_tokens > 0 ? evaluation->loss_sum / evaluation->num_tokens : 0.0;
}

/* Runs iters global batches of source from its first sample on. Collective over the world. */
tri_status tri_evaluate(struct tri_session *session, const struct tri_batch_source *source, int64_t iters,
                        struct tri_evaluation *evaluation);
