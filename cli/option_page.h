/* SPDX-License-Identifier: Apache-2.0 */
/* docs/OPTIONS.md as the program knows it, 'trine help options', and what it says of an option of section
   shape beside its row. */
#pragma once

#include "base/options.h"

#include <stdio.h>

/* Every option of a run file, as Markdown. */
void tri_cli_print_option_page(FILE *out);

#define TRI_CLI_COLUMN 256 /* bytes that are enough for either */
/* The level of the shape that holds the row. */
void tri_cli_option_level(const struct tri_option_table *table, const struct tri_option *row,
                          char *buffer, size_t bytes);
/* The families whose config.json gives the option: "all", "none", names, or "all but" names. */
void tri_cli_option_families(const struct tri_option_table *table, const struct tri_option *row,
                             char *buffer, size_t bytes);
