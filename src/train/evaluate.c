/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation. */
#include "train/evaluate.h"

#include "train/feed.h"

tri_status tri_evaluate(struct tri_session *session, const struct tri_batch_source *source,
                        int64_t iters, struct tri_evaluation *evaluation)
{
    struct tri_loss_term total = {0};
    for (int64_t i = 0; i < iters; i++) {
        TRI_TRY(source->begin_step(source->arg, i * session->config.train.global_batch_size));
        struct tri_execution execution = {
            .microbatch = source->microbatch,
            .before = source->before,
            .after = source->after,
            .arg = source->arg,
        };
        TRI_TRY(tri_executor_run(session->eval_executor, &execution));
        total.value += execution.loss[TRI_LOSS_LM].value;
        total.count += execution.loss[TRI_LOSS_LM].count;
    }
    double values[2];
    TRI_TRY(tri_step_total_loss(session, &total, values));
    evaluation->loss_sum = values[0];
    evaluation->num_tokens = values[1];
    return TRI_OK;
}

tri_status tri_evaluate_part(struct tri_session *session, enum tri_data_part part,
                             struct tri_evaluation *evaluation)
{
    const struct tri_train_config *train = &session->config.train;
    tri_feed *feed = NULL;
    TRI_TRY(tri_feed_create(session, part, train->eval_iters * train->global_batch_size, &feed));
    tri_status status = tri_evaluate(session, tri_feed_source(feed), train->eval_iters, evaluation);
    tri_feed_destroy(&feed);
    return status;
}
