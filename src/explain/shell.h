/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The argument list in a launch script, without running it: comments, line continuations, quotes, variables and
 * arrays with their defaults, whole-number arithmetic, if and case whose outcome is plain. What is not known here
 * (the script's own arguments, the environment, other programs' output) stays as it is written: "$1".
 */
#pragma once

#include "base/arena.h"
#include "base/check.h"

struct tri_shell_words {
    const char **words;
    int num, room;
};

struct tri_shell_result {
    struct tri_shell_words arguments; /* behind the script's name */
    struct tri_shell_words launcher;  /* in front of it: "torchrun --nproc_per_node 8" */
    const char *
        program; /* the script's name without folders, or a module's; NULL: only words were found */
};

/* Everything lives in arena. An argument list that is longer than any real one is a problem in err; name
   stands for the file. */
tri_status tri_shell_read(const char *text, const char *name, tri_arena *arena, tri_error *err,
                          struct tri_shell_result *result);
