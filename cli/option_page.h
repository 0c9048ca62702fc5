/* SPDX-License-Identifier: Apache-2.0 */
/* docs/OPTIONS.md as the program knows it: 'trine help options'. */
#pragma once

#include <stdio.h>

/* Every option of a run file, as Markdown. */
void tri_cli_print_option_page(FILE *out);
