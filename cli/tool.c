/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that need no run (tool.h). */
#include "cli/tool.h"
#include "cli/report.h"

#include <stdio.h>
#include <string.h>

static bool tool_is_help(const char *word)
{
    return strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0;
}

static void tool_print_list(const char *command, const struct tri_tool *tools, int num)
{
    printf("usage: trine %s TOOL [--option value ...]\n\n", command);
    for (int i = 0; i < num; i++)
        printf("  %-10s %s\n", tools[i].name, tools[i].summary);
    printf("\n'trine %s TOOL --help' says more.\n", command);
}

int tri_tool_dispatch(const char *command, const struct tri_tool *tools, int num, int argc,
                      char **argv)
{
    if (argc >= 2 && tool_is_help(argv[1])) {
        tool_print_list(command, tools, num);
        return TRI_EXIT_DONE;
    }
    for (int i = 0; argc >= 2 && i < num; i++) {
        if (strcmp(argv[1], tools[i].name) == 0)
            return tools[i].run(&tools[i], argc - 1, argv + 1);
    }
    fprintf(stderr, "error: 'trine %s' needs one of", command);
    for (int i = 0; i < num; i++)
        fprintf(stderr, " '%s'", tools[i].name);
    if (argc >= 2)
        fprintf(stderr, ", not '%s'", argv[1]);
    fprintf(stderr, "\ntry 'trine %s --help'\n", command);
    return TRI_EXIT_REQUEST;
}

static void tool_print_help(const struct tri_tool *tool, const struct tri_option_binding *bindings,
                            int num_bindings, bool short_form)
{
    const struct tri_option_table *tables[8];
    for (int i = 0; i < num_bindings && i < 8; i++)
        tables[i] = bindings[i].table;
    printf("usage: trine %s %s %s\n\n%s\n\n", tool->command, tool->name, tool->usage,
           tool->summary);
    tri_option_print_help(stdout, tables, num_bindings, short_form);
}

int tri_tool_read(const struct tri_tool *tool, int argc, char **argv,
                  struct tri_option_binding *bindings, int num_bindings, const char **positional,
                  int *num_positional)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (tool_is_help(argv[i])) {
            tool_print_help(tool, bindings, num_bindings, argv[i][1] == 'h');
            return TRI_EXIT_DONE;
        }
    }
    const char *words[256];
    int num_words = 0, exit_code = -1;
    tri_error *err = tri_error_create();
    for (int i = 0; i < num_bindings; i++)
        tri_option_set_defaults(bindings[i].table, bindings[i].config);
    if (!positional && argc > 256)
        tri_error_add(err, TRI_INVALID, "%d words are too many", argc);
    else
        tri_option_read_flags(argc - 1, argv + 1, bindings, num_bindings, NULL,
                              positional ? positional : words,
                              positional ? num_positional : &num_words, err);
    if (!positional && num_words > 0)
        tri_error_add(err, TRI_INVALID, "'%s' is no option, and 'trine %s %s' takes no words",
                      words[0], tool->command, tool->name);
    if (tri_error_count(err) > 0)
        exit_code = tri_tool_refuse(tool, err);
    tri_error_destroy(&err);
    return exit_code;
}

int tri_tool_refuse(const struct tri_tool *tool, const tri_error *err)
{
    tri_cli_print_record(err);
    fprintf(stderr, "try 'trine %s %s --help'\n", tool->command, tool->name);
    return TRI_EXIT_REQUEST;
}

int tri_tool_finish(tri_status status, const tri_error *err)
{
    tri_cli_print_record(err);
    return status == TRI_OK ? TRI_EXIT_DONE : TRI_EXIT_FAILED;
}
