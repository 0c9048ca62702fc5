/* SPDX-License-Identifier: Apache-2.0 */
/* A command of the program: one file cmd_<name>.c and one row in main.c each. */
#pragma once

struct tri_command {
    const char *name;
    const char *usage; /* the words before the options, where it reads a run's; else NULL */
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
};

/* By name; NULL: there is none. */
const struct tri_command *tri_command_find(const char *name);

extern const struct tri_command tri_cmd_plan, tri_cmd_train, tri_cmd_evaluate, tri_cmd_generate;
extern const struct tri_command tri_cmd_tokenizer, tri_cmd_data, tri_cmd_spec, tri_cmd_checkpoint;
extern const struct tri_command tri_cmd_bench, tri_cmd_compare;
extern const struct tri_command tri_cmd_explain, tri_cmd_help;
