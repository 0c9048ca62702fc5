/* SPDX-License-Identifier: Apache-2.0 */
/* The tool 'trine data sample', and printing tokens as the data tools do. */
#pragma once

#include "cli/tool.h"
#include "data/tokenizer.h"

int tri_data_sample(const struct tri_tool *tool, int argc, char **argv);

/* One line of ids, or their text when there is a tokenizer. */
tri_status tri_data_print_tokens(tri_tokenizer *tokenizer, const int32_t *tokens, int64_t num,
                                 tri_error *err);
