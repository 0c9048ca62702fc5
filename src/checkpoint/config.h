/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the run file's checkpoint section, with Megatron-LM's names. */
#pragma once

#include "base/options.h"

struct tri_checkpoint_config {
    char save[TRI_OPTION_TEXT]; /* folder that gets iter_0000500 and latest; "": nothing is saved */
    int64_t save_interval;      /* unset: at the end only */
    char load[TRI_OPTION_TEXT]; /* a save folder to resume from, or one Hugging Face directory */
    int64_t ckpt_step;          /* unset: latest */
    bool finetune;              /* weights only: iteration, data and optimizer start anew */
    bool no_load_optim, no_save_optim;
    bool exit_on_missing_checkpoint;
    int64_t keep_last;        /* newest checkpoints of this run that stay; unset: all */
    double max_shard_size_gb; /* of a weight file */
};
extern const struct tri_option_table tri_checkpoint_options;
