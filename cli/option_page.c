/* SPDX-License-Identifier: Apache-2.0 */
/* The option page, from the rows. */
#include "cli/option_page.h"

#include "shape/options.h"
#include "spec/family.h"
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
    "\n"
    "An option of `shape` changes what the model computes, or its initial values; one of any "
    "other\n"
    "section does not. *Held by* is the level of the shape that owns it; *families* are those of\n"
    "Hugging Face whose `config.json` gives it.\n"
    "\n"
    "*Only with*: beside other values the option has no effect; one that is given all the same is\n"
    "noted at the start with its place, and set back to its default. `data_parallel_size` is the\n"
    "number of ranks over those of tensor and pipeline parallelism.\n"
    "\n";

void tri_cli_option_level(const struct tri_option_table *table, const struct tri_option *row,
                          char *buffer, size_t bytes)
{
    static const struct {
        const struct tri_option_table *table;
        const char *level;
    } levels[] = {
        {&tri_transformer_options, "transformer_config"},
        {&tri_attention_options, "attention of transformer_config"},
        {&tri_gpt_options, "gpt_config"},
        {&tri_shape_short_options, "nobody: short for other options"},
    };
    (void)row;
    snprintf(buffer, bytes, "nobody: a file that gives the others");
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (levels[i].table == table)
            snprintf(buffer, bytes, "%s", levels[i].level);
}

void tri_cli_option_families(const struct tri_option_table *table, const struct tri_option *row,
                             char *buffer, size_t bytes)
{
    const struct tri_family *family;
    int num = 0, num_set = 0;
    for (; (family = tri_family_get(num)); num++)
        num_set += tri_hf_config_sets(family->config, row->name);
    bool lists_others = num_set > num / 2;
    size_t used = (size_t)snprintf(buffer, bytes, "%s",
                                   num_set == 0     ? "none"
                                   : num_set == num ? "all"
                                   : lists_others   ? "all but "
                                                    : "");
    const char *joint = "";
    for (int i = 0; num_set > 0 && num_set < num && (family = tri_family_get(i)); i++) {
        if (tri_hf_config_sets(family->config, row->name) == lists_others || used >= bytes)
            continue;
        used += (size_t)snprintf(buffer + used, bytes - used, "%s%s", joint, family->name);
        joint = ", ";
    }
    (void)table;
}

static const struct tri_option_column columns[] = {
    {"shape", "held by", tri_cli_option_level},
    {"shape", "families", tri_cli_option_families},
    {NULL, NULL, NULL},
};

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
    tri_option_print_markdown(out, tables, num, columns);
}
