/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows of the checkpoint section. */
#include "checkpoint/config.h"

#include <stddef.h>

#define FIELD(name) offsetof(struct tri_checkpoint_config, name)

static const struct tri_option rows[] = {
    {.name = "save",
     .type = TRI_OPTION_STRING,
     .offset = FIELD(save),
     .help = "folder for checkpoints; each is a Hugging Face directory"},
    {.name = "save_interval",
     .type = TRI_OPTION_INT,
     .offset = FIELD(save_interval),
     .flags = TRI_OPTION_POSITIVE,
     .unit = "iterations",
     .help = "iterations between checkpoints; only at the end when unset"},
    {.name = "load",
     .type = TRI_OPTION_STRING,
     .offset = FIELD(load),
     .help = "folder to resume from (it has 'latest'), or a Hugging Face directory to start from"},
    {.name = "ckpt_step",
     .type = TRI_OPTION_INT,
     .offset = FIELD(ckpt_step),
     .flags = TRI_OPTION_NON_NEGATIVE,
     .unit = "iterations",
     .help = "which checkpoint; the newest when unset"},
    {.name = "finetune",
     .type = TRI_OPTION_BOOL,
     .offset = FIELD(finetune),
     .default_text = "false",
     .help = "take the weights only and start at iteration 0"},
    {.name = "no_load_optim",
     .type = TRI_OPTION_BOOL,
     .offset = FIELD(no_load_optim),
     .default_text = "false",
     .help = "leave the optimizer's moments at zero"},
    {.name = "no_save_optim",
     .type = TRI_OPTION_BOOL,
     .offset = FIELD(no_save_optim),
     .default_text = "false",
     .help = "save no moments: such a checkpoint cannot be resumed bit for bit"},
    {.name = "exit_on_missing_checkpoint",
     .type = TRI_OPTION_BOOL,
     .offset = FIELD(exit_on_missing_checkpoint),
     .default_text = "false",
     .help =
         "fail where load and save are one folder without a checkpoint, instead of starting anew"},
    {.name = "keep_last",
     .type = TRI_OPTION_INT,
     .offset = FIELD(keep_last),
     .flags = TRI_OPTION_POSITIVE,
     .help = "how many of this run's checkpoints stay, the newest; all when unset"},
    {.name = "max_shard_size_gb",
     .type = TRI_OPTION_DOUBLE,
     .offset = FIELD(max_shard_size_gb),
     .default_text = "5",
     .flags = TRI_OPTION_POSITIVE,
     .unit = "GB",
     .help = "largest weight file"},
};

const struct tri_option_table tri_checkpoint_options = {
    .section = "checkpoint",
    .rows = rows,
    .num_rows = (int)(sizeof rows / sizeof rows[0]),
    .struct_bytes = sizeof(struct tri_checkpoint_config),
};
