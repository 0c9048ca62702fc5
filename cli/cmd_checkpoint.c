/* SPDX-License-Identifier: Apache-2.0 */
/* trine checkpoint inspect|verify DIR: what a checkpoint holds, and whether it is whole. */
#include "checkpoint/inspect.h"
#include "cli/command.h"
#include "cli/report.h"

#include <stdio.h>
#include <string.h>

static void checkpoint_print_usage(FILE *out)
{
    fprintf(
        out,
        "usage: trine checkpoint inspect DIR [--json]\n"
        "       trine checkpoint verify DIR\n\n"
        "DIR is a Hugging Face model directory, a checkpoint SAVE/iter_N, or a save folder, of "
        "which\n"
        "the newest checkpoint is meant. inspect prints model, training state and tensors. verify\n"
        "checks headers, index, names and shapes against config.json, optimizer state and "
        "checksums;\n"
        "exit code 1 when something is wrong, each fault on stderr.\n");
}

static int checkpoint_refuse(const char *problem, const char *word)
{
    fprintf(stderr, "error: %s%s%s; try 'trine checkpoint --help'\n", problem, word ? " " : "",
            word ? word : "");
    return TRI_EXIT_REQUEST;
}

static int checkpoint_run(int argc, char **argv)
{
    const char *action = NULL, *dir = NULL;
    bool json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            checkpoint_print_usage(stdout);
            return TRI_EXIT_DONE;
        }
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (argv[i][0] == '-')
            return checkpoint_refuse("unknown option", argv[i]);
        else if (!action)
            action = argv[i];
        else if (!dir)
            dir = argv[i];
        else
            return checkpoint_refuse("one directory is wanted, a second is", argv[i]);
    }
    bool inspect = action && strcmp(action, "inspect") == 0;
    bool verify = action && strcmp(action, "verify") == 0;
    if (!inspect && !verify)
        return checkpoint_refuse("wanted 'inspect' or 'verify', found",
                                 action ? action : "nothing");
    if (!dir)
        return checkpoint_refuse("no directory given", NULL);
    if (verify && json)
        return checkpoint_refuse("--json works with 'inspect' only", NULL);
    tri_error *err = tri_error_create();
    tri_status status = inspect ? tri_checkpoint_inspect(dir, json, stdout, err)
                                : tri_checkpoint_verify(dir, stdout, err);
    tri_cli_print_record(err);
    tri_error_destroy(&err);
    return status == TRI_OK ? TRI_EXIT_DONE : TRI_EXIT_FAILED;
}

const struct tri_command tri_cmd_checkpoint = {
    .name = "checkpoint",
    .summary = "what a checkpoint holds, and whether it is whole",
    .run = checkpoint_run,
};
