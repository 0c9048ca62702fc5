/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the run file's data section, with Megatron-LM's names. */
#pragma once

#include "base/options.h"

enum tri_dataloader { TRI_DATALOADER_SINGLE, TRI_DATALOADER_CYCLIC };

struct tri_data_config {
    char data_path[TRI_OPTION_LONG_TEXT];       /* prefixes, or weights and prefixes */
    char train_data_path[TRI_OPTION_LONG_TEXT]; /* one blend per split instead of split */
    char valid_data_path[TRI_OPTION_LONG_TEXT];
    char test_data_path[TRI_OPTION_LONG_TEXT];
    char split[TRI_OPTION_TEXT];
    char tokenizer[TRI_OPTION_TEXT]; /* tokenizer.json; travels with the checkpoint */
    int64_t dataloader_type;         /* enum tri_dataloader */
    bool reset_position_ids;
    bool reset_attention_mask;
    bool eod_mask_loss;
    int64_t eod_token_id; /* unset: the tokenizer's, else none */
};
extern const struct tri_option_table tri_data_options;
