/* SPDX-License-Identifier: Apache-2.0 */
/* The option page, from the rows. */
#include "cli/option_page.h"

#include "shape/options.h"
#include "train/run_config.h"

#include <string.h>

static const char introduction[] =
    "# Options\n"
    "\n"
    "Made by `trine help options` from the rows that the program reads; not edited by hand.\n"
    "\n"
    "Every option can stand in a run file, below its section, or on the command line:\n"
    "`num_layers: 12` below `shape:` is `--num-layers 12`. Flags go over the file. Names are\n"
    "Megatron-LM's wherever it has the option; a name that no row has is an error. `none` means\n"
    "unset. Integers take `k`, `m` and `g`. A boolean flag stands alone, `--no-x` negates it. "
    "What\n"
    "only one command understands is in `trine COMMAND --help`.\n"
    "\n";

/* The tables of a run with the short forms behind the shape's own. */
void tri_cli_print_option_page(FILE *out)
{
    const struct tri_option_table *tables[TRI_RUN_MAX_BINDINGS + 1];
    const struct tri_option_table *const *own = tri_run_tables();
    int num = 0;
    for (; *own; own++) {
        bool is_next_section = num > 0 && strcmp(tables[num - 1]->section, (*own)->section) != 0;
        if (is_next_section && tables[num - 1] == &tri_gpt_options)
            tables[num++] = &tri_shape_short_options;
        tables[num++] = *own;
    }
    fputs(introduction, out);
    tri_option_print_markdown(out, tables, num);
}
