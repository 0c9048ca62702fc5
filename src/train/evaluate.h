/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation on any source of batches; that on a part of the data is public: trine/evaluate.h. */
#pragma once

#include "train/step.h"
#include "trine/evaluate.h"

/* Runs iters global batches of source from its first sample on. Collective over the world. */
tri_status tri_evaluate(struct tri_session *session, const struct tri_batch_source *source,
                        int64_t iters, struct tri_evaluation *evaluation);
