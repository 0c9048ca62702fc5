/* SPDX-License-Identifier: Apache-2.0 */
/* trine compare CASE: holds trine against another program's results. */
#include "cli/command.h"
#include "cli/report.h"
#include "cli/request.h"
#include "train/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words after the command, with the case taken out. */
static const char *take_case(int argc, char **argv, int *rest_argc, char **rest)
{
    const char *dir = NULL;
    *rest_argc = 0;
    for (int i = 0; i < argc; i++) {
        bool is_value = i > 0 && strncmp(argv[i - 1], "--", 2) == 0 && !strchr(argv[i - 1], '=');
        if (i > 0 && !dir && argv[i][0] != '-' && !is_value)
            dir = argv[i];
        else
            rest[(*rest_argc)++] = argv[i];
    }
    return dir;
}

static int run_case(const struct tri_case *reference, struct tri_run_config *config)
{
    tri_case_fit(reference, config);
    int exit_code = tri_cli_check_run("compare", config, 0);
    if (exit_code >= 0)
        return exit_code;
    struct tri_compare_request request = {.reference = reference, .config = config, .out = stdout};
    exit_code = tri_cli_launch(config, tri_compare, &request);
    if (exit_code == TRI_EXIT_DONE && request.failed) {
        fprintf(stderr, "error: '%s' differs from its expected values by more than the bounds\n",
                reference->dir);
        return TRI_EXIT_FAILED;
    }
    return exit_code;
}

static int compare_run(int argc, char **argv)
{
    char **words = calloc((size_t)argc + 3, sizeof(char *));
    int num_words;
    const char *dir = take_case(argc, argv, &num_words, words);
    char path[TRI_OPTION_TEXT], from[TRI_OPTION_TEXT + 32];
    struct tri_run_config config;
    tri_error *err = tri_error_create();
    struct tri_case reference;
    int exit_code;
    if (dir) {
        tri_case_shape_path(dir, path, sizeof path);
        snprintf(from, sizeof from, "--shape-from=%s", path);
        words[num_words++] = from;
    }
    exit_code = tri_cli_read_run("compare", num_words, words, NULL, &config);
    if (exit_code < 0 && !dir) {
        fprintf(stderr, "error: no case directory given; try 'trine compare --help'\n");
        exit_code = TRI_EXIT_REQUEST;
    }
    if (exit_code < 0 && tri_case_read(dir, err, &reference) != TRI_OK) {
        tri_cli_print_record(err);
        exit_code = TRI_EXIT_FAILED;
    }
    if (exit_code < 0) {
        exit_code = run_case(&reference, &config);
        tri_case_fini(&reference);
    }
    tri_error_destroy(&err);
    free(words);
    return exit_code;
}

const struct tri_command tri_cmd_compare = {
    .name = "compare",
    .usage = "CASE",
    .summary = "hold trine against another framework's logits, losses and gradients",
    .run = compare_run,
};
