/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows of the training loop. */
#include "train/config.h"

#include <stddef.h>

#define FIELD(name) offsetof(struct tri_train_config, name)

static const struct tri_option rows[] = {
    {.name = "micro_batch_size", .type = TRI_OPTION_INT, .offset = FIELD(micro_batch_size),
     .default_text = "1", .flags = TRI_OPTION_POSITIVE, .unit = "samples",
     .help = "samples that one rank runs through the model at a time"},
    {.name = "global_batch_size", .type = TRI_OPTION_INT, .offset = FIELD(global_batch_size),
     .flags = TRI_OPTION_POSITIVE, .unit = "samples",
     .help = "samples of one iteration over all ranks; micro_batch_size x data-parallel size when unset"},
    {.name = "train_iters", .type = TRI_OPTION_INT, .offset = FIELD(train_iters),
     .flags = TRI_OPTION_POSITIVE, .unit = "iterations", .help = "length of the run"},
    {.name = "seed", .type = TRI_OPTION_INT, .offset = FIELD(seed), .default_text = "1234", .min = 0,
     .max = 4294967295.0, .help = "decides initial values, dropout masks and the order of the data"},
    {.name = "calculate_per_token_loss", .type = TRI_OPTION_BOOL, .offset = FIELD(calculate_per_token_loss),
     .default_text = "true",
     .help = "the loss is the mean over all valid tokens of the global batch; false: the mean of "
             "microbatch means, Megatron-LM's default"},
    {.name = "eval_interval", .type = TRI_OPTION_INT, .offset = FIELD(eval_interval),
     .flags = TRI_OPTION_POSITIVE, .unit = "iterations",
     .help = "evaluate on the validation split every so often; never when unset"},
    {.name = "eval_iters", .type = TRI_OPTION_INT, .offset = FIELD(eval_iters), .default_text = "100",
     .flags = TRI_OPTION_POSITIVE, .unit = "iterations", .help = "global batches of one evaluation"},
    {.name = "log_interval", .type = TRI_OPTION_INT, .offset = FIELD(log_interval), .default_text = "100",
     .flags = TRI_OPTION_POSITIVE, .unit = "iterations", .help = "iterations per log line"},
    {.name = "check_for_nan_in_loss_and_grad", .type = TRI_OPTION_BOOL,
     .offset = FIELD(check_for_nan_in_loss_and_grad), .default_text = "true",
     .help = "stop at a gradient that is not finite, and name it"},
    {.name = "log_json", .type = TRI_OPTION_STRING, .offset = FIELD(log_json),
     .help = "file that gets one JSON object per iteration"},
    {.name = "exit_interval", .type = TRI_OPTION_INT, .offset = FIELD(exit_interval),
     .flags = TRI_OPTION_POSITIVE, .unit = "iterations",
     .help = "save and stop after an iteration that this divides"},
    {.name = "exit_duration_in_mins", .type = TRI_OPTION_DOUBLE, .offset = FIELD(exit_duration_in_mins),
     .flags = TRI_OPTION_POSITIVE, .unit = "minutes", .help = "save and stop after this time"},
    {.name = "distributed_timeout_minutes", .type = TRI_OPTION_DOUBLE,
     .offset = FIELD(distributed_timeout_minutes), .default_text = "10", .flags = TRI_OPTION_POSITIVE,
     .unit = "minutes", .help = "longest wait for another rank, fractions allowed"},
    {.name = "ranks", .type = TRI_OPTION_INT, .offset = FIELD(ranks), .flags = TRI_OPTION_POSITIVE,
     .help = "ranks inside this process; under an MPI launcher its number of processes counts"},
};

const struct tri_option_table tri_train_options = {
    .section = "train",
    .rows = rows,
    .num_rows = (int)(sizeof rows / sizeof rows[0]),
    .struct_bytes = sizeof(struct tri_train_config),
};
