/* SPDX-License-Identifier: Apache-2.0 */
/* trine help WORD...: a command's help, or an option's row in full and who owns it; of a word that is both, the
   command's. trine help options: the option page. */
#include "cli/command.h"
#include "cli/option_page.h"
#include "cli/report.h"
#include "explain/megatron.h"
#include "shape/options.h"
#include "train/run_config.h"

#include <stdio.h>
#include <string.h>

/* What decides about a section's options, and whether they travel with a checkpoint. */
static const struct {
    const char *section, *owner;
} owners[] = {
    {"shape", "question 1, what is the model; it changes the model's function, and is the same for "
              "every run of a checkpoint"},
    {"spec", "question 2, which implementation is each module; free to change at every run"},
    {"placement", "question 3, which rank holds and does what; free to change at every run"},
    {"train", "the training loop and the optimizer"},
    {"data", "the tokens that are read"},
    {"checkpoint", "saving and loading"},
};

static const char *owner_of(const struct tri_option_table *table)
{
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        if (strcmp(owners[i].section, table->section) == 0)
            return owners[i].owner;
    }
    return "the command line";
}

static void print_row(const struct tri_option_table *table, const struct tri_option *row)
{
    tri_option_print_row(stdout, row);
    printf("  section %s: %s\n", table->section, owner_of(table));
    if (strcmp(table->section, "shape") == 0) {
        char level[TRI_CLI_COLUMN], families[TRI_CLI_COLUMN];
        tri_cli_option_level(table, row, level, sizeof level);
        tri_cli_option_families(table, row, families, sizeof families);
        printf("  held by %s\n  config.json: %s\n", level, families);
    }
}

/* All tables of a run and the short forms. */
static int list_tables(const struct tri_option_table **tables)
{
    int num = 0;
    for (const struct tri_option_table *const *own = tri_run_tables(); own[num]; num++)
        tables[num] = own[num];
    tables[num++] = &tri_shape_short_options;
    return num;
}

static void print_unknown(const char *name, const struct tri_option_table *const *tables, int num)
{
    struct tri_option_binding bindings[TRI_RUN_MAX_BINDINGS + 1];
    for (int i = 0; i < num; i++)
        bindings[i] = (struct tri_option_binding){.table = tables[i]};
    char guess[512];
    if (tri_option_foreign(name, name, &tri_megatron_options, guess, sizeof guess))
        fprintf(stderr, "error: %s\n", guess);
    else if (tri_option_guess(name, bindings, num, &tri_megatron_options, guess, sizeof guess))
        fprintf(stderr, "error: no option or command '%s', did you mean %s?\n", name, guess);
    else
        fprintf(stderr, "error: no option or command '%s'; see 'trine help options'\n", name);
}

/* "--num-layers" and "num-layers" as a run file has it. */
static void plain_name(const char *word, char *name, size_t bytes)
{
    word += strncmp(word, "--", 2) == 0 ? 2 : 0;
    snprintf(name, bytes, "%s", word);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
}

/* The option that word names, its table in *table; NULL: none. */
static const struct tri_option *find_option(const char *word, const struct tri_option_table **table)
{
    const struct tri_option_table *tables[TRI_RUN_MAX_BINDINGS + 1];
    int num = list_tables(tables);
    char name[128];
    plain_name(word, name, sizeof name);
    for (int i = 0; i < num; i++) {
        const struct tri_option *row = tri_option_find(tables[i], name);
        *table = tables[i];
        if (row)
            return row;
    }
    return NULL;
}

static int help_command(const struct tri_command *command)
{
    const struct tri_option_table *table;
    char name[128], flag[] = "--help";
    snprintf(name, sizeof name, "%s", command->name);
    char *words[] = {name, flag, NULL};
    int exit_code = command->run(2, words);
    if (find_option(name, &table) || tri_megatron_why(name))
        printf("\n'trine help --%s' says what the option of that name is.\n", name);
    return exit_code;
}

static int help_option(const char *word)
{
    const struct tri_option_table *tables[TRI_RUN_MAX_BINDINGS + 1], *table;
    const struct tri_option *row = find_option(word, &table);
    if (row) {
        print_row(table, row);
        return TRI_EXIT_DONE;
    }
    char name[128];
    plain_name(word, name, sizeof name);
    print_unknown(name, tables, list_tables(tables));
    return TRI_EXIT_REQUEST;
}

static int help_run(int argc, char **argv)
{
    int exit_code = TRI_EXIT_DONE;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            printf("usage: trine help [COMMAND | OPTION | options ...]\n");
        } else if (strcmp(argv[i], "options") == 0) {
            tri_cli_print_option_page(stdout);
        } else {
            if (i > 1)
                printf("\n");
            const struct tri_command *command = tri_command_find(argv[i]);
            int found = command ? help_command(command) : help_option(argv[i]);
            exit_code = found == TRI_EXIT_DONE ? exit_code : found;
        }
    }
    return exit_code;
}

const struct tri_command tri_cmd_help = {
    .name = "help",
    .summary = "a command or an option in full; 'help options' for all options",
    .run = help_run,
};
