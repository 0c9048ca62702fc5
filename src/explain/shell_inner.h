/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the script reader share. */
#pragma once

#include "explain/shell.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRI_SHELL_MAX_DEPTH 16
#define TRI_SHELL_BLANK     '\x01' /* a blank inside what nobody here knows: no word ends there */

/* A piece of the script, quotes and all. */
struct tri_shell_raw {
    const char *start;
    size_t length;
};

struct tri_shell_variable {
    const char *name;
    struct tri_shell_words items;
    struct tri_shell_variable *next;
};

struct tri_shell {
    tri_arena *arena;
    struct tri_shell_variable *variables; /* the newest first */
    size_t budget;                        /* bytes that may still be made of the script's */
    bool is_over;                         /* they were used up, and something was left out */
    int depth;                            /* of words inside words */
    bool empties_unset;                   /* unset variables are empty, as a test sees them */
};

/* Appends a copy of length bytes of word; nothing when the budget is used up. */
void tri_shell_push(struct tri_shell *shell, struct tri_shell_words *words, const char *word,
                    size_t length);
/* NULL when nobody has set it. */
struct tri_shell_variable *tri_shell_find(const struct tri_shell *shell, const char *name,
                                          size_t length);
/* The same, made without items where nobody has; NULL when out of memory. */
struct tri_shell_variable *tri_shell_declare(struct tri_shell *shell, const char *name,
                                             size_t length);
/* Sets the variables that Slurm derives from the text's "#SBATCH" lines, and appends their words to words. */
void tri_shell_read_slurm(struct tri_shell *shell, const char *text, struct tri_shell_words *words);
/* The word that names the program which gets the words behind it, and its rank: 3 for pretrain*.py, 2 for another
   script or module, 1 for one whose name is not known here. -1 when there is none. */
int tri_shell_find_program(const struct tri_shell_words *words, const char **program, int *rank);
/* The first byte behind the "(...)", "{...}", "`...`", quoted or plain piece that begins at text. */
const char *tri_shell_skip(const char *text);
/* The words that raw becomes. */
void tri_shell_expand(struct tri_shell *shell, struct tri_shell_raw raw,
                      struct tri_shell_words *words);
/* The value of "1 + (N * 2)"; false when it is none that is known here. */
bool tri_shell_arithmetic(struct tri_shell *shell, const char *text, size_t length, int64_t *value);

/* Where reading stands. */
struct tri_shell_lexer {
    struct tri_shell *shell;
    const char *next;
    const char *heredoc; /* word that ends the text behind this line; NULL: none */
};

/* One command's pieces, and what ended it: '\n', ';', '&' for &&, '|' for ||, '(' or ')', '!' for ;; and 0 at
   the end. */
struct tri_shell_command {
    struct tri_shell_raw *pieces;
    int num, room;
    char end;
};

bool tri_shell_raw_is(struct tri_shell_raw raw, const char *word);
void tri_shell_skip_blanks(struct tri_shell_lexer *lexer);
/* The piece that begins here; an array's brackets belong to its assignment. */
struct tri_shell_raw tri_shell_read_piece(struct tri_shell_lexer *lexer);
void tri_shell_read_command(struct tri_shell_lexer *lexer, struct tri_shell_command *command);

/* True when the condition surely holds; its brackets may have been cut off by && and ||. */
bool tri_shell_test(struct tri_shell *shell, const struct tri_shell_raw *pieces, int num);
