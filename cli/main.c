/* SPDX-License-Identifier: Apache-2.0 */
/* The program: finds the command and hands over. */
#include "cli/command.h"
#include "cli/report.h"

#include <stdio.h>
#include <string.h>

static const struct tri_command *const commands[] = {
    &tri_cmd_plan,      &tri_cmd_train, &tri_cmd_evaluate, &tri_cmd_generate,
    &tri_cmd_tokenizer, &tri_cmd_data,  &tri_cmd_spec,     &tri_cmd_checkpoint,
    &tri_cmd_compare,   &tri_cmd_bench, &tri_cmd_explain,  &tri_cmd_help,
};
#define NUM_COMMANDS (sizeof commands / sizeof commands[0])

const struct tri_command *tri_command_find(const char *name)
{
    for (size_t i = 0; i < NUM_COMMANDS; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
    return NULL;
}

static void print_usage(FILE *out)
{
    fprintf(out, "usage: trine COMMAND [ARGUMENTS]\n\n");
    for (size_t i = 0; i < NUM_COMMANDS; i++)
        fprintf(out, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\n'trine help COMMAND' says more. Exit codes: 0 done, 1 failed, 2 wrong "
                 "request, 3 stopped on "
                 "request after saving.\n");
}

int main(int argc, char **argv)
{
    tri_cli_keep_standard_files();
    if (argc < 2) {
        fprintf(stderr, "error: no command given; try 'trine --help'\n");
        return TRI_EXIT_REQUEST;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2)) {
        print_usage(stdout);
        return TRI_EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("trine %s\n", TRI_VERSION);
        return TRI_EXIT_DONE;
    }
    const struct tri_command *command = tri_command_find(argv[1]);
    if (command)
        return tri_cli_finish(command->run(argc - 1, argv + 1));
    fprintf(stderr, "error: unknown command '%s'; try 'trine --help'\n", argv[1]);
    return TRI_EXIT_REQUEST;
}
