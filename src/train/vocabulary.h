/* SPDX-License-Identifier: Apache-2.0 */
/* The model's vocabulary against its tokenizer's, before anything is allocated. */
#pragma once

#include "train/run_config.h"

/* With a tokenizer named in section data: vocab_size is its number of ids where unset, and a problem, added to
   err, where smaller. A tokenizer that trine cannot read counts only where vocab_size is unset: it is copied
   into checkpoints without being understood. */
tri_status tri_run_check_vocabulary(struct tri_run_config *config, tri_error *err);
