/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows of the data section. */
#include "data/config.h"

#include <stddef.h>

#define FIELD(name) offsetof(struct tri_data_config, name)

static const char *const dataloaders[] = {"single", "cyclic", NULL};

static const struct tri_option rows[] = {
    {.name = "data_path",
     .type = TRI_OPTION_STRINGS,
     .offset = FIELD(data_path),
     .help = "prefixes of .bin/.idx files, or weights and prefixes in turn"},
    {.name = "train_data_path",
     .type = TRI_OPTION_STRINGS,
     .offset = FIELD(train_data_path),
     .help = "training data, when each split has its own files"},
    {.name = "valid_data_path",
     .type = TRI_OPTION_STRINGS,
     .offset = FIELD(valid_data_path),
     .help = "validation data, when each split has its own files"},
    {.name = "test_data_path",
     .type = TRI_OPTION_STRINGS,
     .offset = FIELD(test_data_path),
     .help = "test data, when each split has its own files"},
    {.name = "split",
     .type = TRI_OPTION_STRING,
     .offset = FIELD(split),
     .default_text = "969, 30, 1",
     .help = "shares of training, validation and test in data_path",
     .when = "data_path"},
    {.name = "tokenizer",
     .type = TRI_OPTION_STRING,
     .offset = FIELD(tokenizer),
     .help = "tokenizer.json; copied into every checkpoint"},
    {.name = "dataloader_type",
     .type = TRI_OPTION_CHOICE,
     .offset = FIELD(dataloader_type),
     .default_text = "single",
     .choices = dataloaders,
     .help = "single: samples in the order of the index; cyclic: shuffled again every pass"},
    {.name = "reset_position_ids",
     .type = TRI_OPTION_BOOL,
     .offset = FIELD(reset_position_ids),
     .default_text = "false",
     .help = "positions start again after each end of a document"},
    {.name = "reset_attention_mask",
     .type = TRI_OPTION_BOOL,
     .offset = FIELD(reset_attention_mask),
     .default_text = "false",
     .help = "tokens see only their own document"},
    {.name = "eod_mask_loss",
     .type = TRI_OPTION_BOOL,
     .offset = FIELD(eod_mask_loss),
     .default_text = "false",
     .help = "no loss where the input is an end of a document"},
    {.name = "eod_token_id",
     .type = TRI_OPTION_INT,
     .offset = FIELD(eod_token_id),
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "end of a document; the tokenizer's when unset",
     .when = "reset_position_ids or reset_attention_mask or eod_mask_loss"},
};

const struct tri_option_table tri_data_options = {
    .section = "data",
    .rows = rows,
    .num_rows = (int)(sizeof rows / sizeof rows[0]),
    .struct_bytes = sizeof(struct tri_data_config),
};
