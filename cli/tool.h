/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share that work on files and need no run: flags of their own, sub-commands. */
#pragma once

#include "base/options.h"

/* A sub-command: "trine COMMAND NAME ...". */
struct tri_tool {
    const char *name;
    const char *usage; /* what follows the name */
    const char *summary;
    int (*run)(const struct tri_tool *tool, int argc, char **argv); /* argv[0] is the tool's name */
    const char *command;                                            /* the command it belongs to */
};

/* Finds argv[1] among num tools and runs it; prints help and problems. Returns the exit code. */
int tri_tool_dispatch(const char *command, const struct tri_tool *tools, int num, int argc,
                      char **argv);

/* Fills the bindings with their defaults and reads the tool's flags; positional has room for
   argc words and may be NULL when the tool takes none. Returns -1 to go on, else the exit code
   (help was asked for or the request is wrong; both are reported). */
int tri_tool_read(const struct tri_tool *tool, int argc, char **argv,
                  struct tri_option_binding *bindings, int num_bindings, const char **positional,
                  int *num_positional);

/* Reports a request found wrong after reading: the record's problems, and exit code 2. */
int tri_tool_refuse(const struct tri_tool *tool, const tri_error *err);
/* Prints the record; the exit code for status: 0, or 1. */
int tri_tool_finish(tri_status status, const tri_error *err);
