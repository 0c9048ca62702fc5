/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the training loop: part of the run file's train section, and the launch flags. */
#pragma once

#include "base/options.h"

struct tri_train_config {
    int64_t micro_batch_size;
    int64_t global_batch_size; /* unset: micro_batch_size * dp */
    int64_t train_iters;
    int64_t seed;
    bool calculate_per_token_loss;
    int64_t eval_interval; /* unset: never while training */
    int64_t eval_iters;
    int64_t log_interval;
    bool check_for_nan_in_loss_and_grad;
    int64_t check_weight_hash_across_dp_replicas_interval; /* unset: never */
    char log_json[TRI_OPTION_TEXT];
    int64_t exit_interval;        /* unset */
    double exit_duration_in_mins; /* unset */
    double distributed_timeout_minutes;
    int64_t ranks; /* in-process ranks; unset: 1, or what the launcher gives */
};
extern const struct tri_option_table tri_train_options;

/* A run of no iterations loads or initialises a model and saves it: it has no data, no schedule of the
   learning rate, no gradients and no optimizer. */
static inline bool tri_train_only_saves(const struct tri_train_config *config)
{
    return config->train_iters == 0;
}
