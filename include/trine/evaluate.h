/* SPDX-License-Identifier: Apache-2.0 */
/* Loss over data without training: dropout off, nothing changes. */
#pragma once

#include "trine/session.h"
#include "trine/tokens.h"

struct tri_evaluation {
    double loss_sum;   /* of token losses */
    double num_tokens; /* that count */
};
static inline double tri_evaluation_loss(const struct tri_evaluation *evaluation)
{
    return evaluation->num_tokens > 0 ? evaluation->loss_sum / evaluation->num_tokens : 0.0;
}

/* Runs eval_iters global batches of part. Collective over the world. */
tri_status tri_evaluate_part(struct tri_session *session, enum tri_data_part part,
                             struct tri_evaluation *evaluation);
