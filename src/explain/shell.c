/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A script's commands in order: assignments are kept, if and case choose what is read, and the command that
 * names a Python script gives the arguments. A file without such a command is an argument list as it stands, or
 * arrays of arguments.
 */
#include "explain/shell_inner.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#define MAX_BLOCKS  64
#define MAX_COMMAND 65536      /* pieces of one command */
#define LARGEST     (16 << 20) /* bytes made of a script by its variables */

/* An if or case that is open. */
struct block {
    bool is_case, in_condition, was_taken, is_taken;
    bool is_true; /* the condition so far */
    bool wants_pattern;
    const char *subject; /* of a case */
};

struct reader {
    struct tri_shell shell;
    struct tri_shell_lexer lexer;
    struct block blocks[MAX_BLOCKS];
    int num_blocks;
    struct tri_shell_words plain; /* commands that begin with "--" */
    struct tri_shell_result best;
    int best_rank; /* of the command in best, as tri_shell_find_program gives it */
    bool was_plain;
};

static bool is_active(const struct reader *reader)
{
    for (int i = 0; i < reader->num_blocks; i++) {
        if (!reader->blocks[i].is_taken)
            return false;
    }
    return true;
}

/* NAME=..., NAME+=...: the length of NAME; 0 when piece assigns nothing. */
static size_t assigned_name(struct tri_shell_raw piece)
{
    size_t length = 0;
    while (length < piece.length &&
           (isalnum((unsigned char)piece.start[length]) || piece.start[length] == '_'))
        length++;
    bool adds = length + 1 < piece.length && piece.start[length] == '+';
    bool assigns = length + adds < piece.length && piece.start[length + adds] == '=';
    return assigns && length > 0 && !isdigit((unsigned char)*piece.start) ? length : 0;
}

/* The items between an array's brackets. */
static void expand_array(struct reader *reader, struct tri_shell_raw inside,
                         struct tri_shell_words *items)
{
    const char *end = inside.start + inside.length, *after = reader->lexer.next;
    reader->lexer.next = inside.start;
    while (reader->lexer.next < end) {
        tri_shell_skip_blanks(&reader->lexer);
        if (reader->lexer.next >= end)
            break;
        struct tri_shell_raw item = tri_shell_read_piece(&reader->lexer);
        if (item.length == 0)
            reader->lexer.next++;
        else if (item.start + item.length <= end)
            tri_shell_expand(&reader->shell, item, items);
    }
    reader->lexer.next = after;
}

/* The words as one text. */
static const char *join(struct tri_shell *shell, const struct tri_shell_words *words)
{
    const char *joined = "";
    for (int i = 0; i < words->num && strlen(joined) < shell->budget; i++) {
        joined = tri_arena_format(shell->arena, "%s%s%s", joined, i ? " " : "", words->words[i]);
        joined = joined ? joined : "";
        shell->budget -= strlen(joined) < shell->budget ? strlen(joined) : shell->budget;
    }
    return joined;
}

static void assign(struct reader *reader, struct tri_shell_raw piece, size_t length)
{
    struct tri_shell *shell = &reader->shell;
    bool adds = piece.start[length] == '+';
    size_t skipped = length + adds + 1;
    struct tri_shell_raw value = {.start = piece.start + skipped, .length = piece.length - skipped};
    struct tri_shell_words items = {0}, words = {0};
    bool is_array = value.length >= 2 && value.start[0] == '(';
    if (is_array) {
        expand_array(reader,
                     (struct tri_shell_raw){.start = value.start + 1, .length = value.length - 2},
                     &items);
    } else {
        /* One text: what falls into words here is joined again. */
        tri_shell_expand(shell, value, &words);
        const char *joined = join(shell, &words);
        tri_shell_push(shell, &items, joined, strlen(joined));
    }
    struct tri_shell_variable *variable = tri_shell_declare(shell, piece.start, length);
    if (!variable)
        return;
    if (!adds) {
        variable->items = items;
        return;
    }
    bool joins = !is_array && variable->items.num == 1 && items.num == 1;
    if (joins) {
        const char *both =
            tri_arena_format(shell->arena, "%s%s", variable->items.words[0], items.words[0]);
        struct tri_shell_words whole = {0};
        if (both)
            tri_shell_push(shell, &whole, both, strlen(both));
        variable->items = whole;
        return;
    }
    for (int i = 0; i < items.num; i++)
        tri_shell_push(shell, &variable->items, items.words[i], strlen(items.words[i]));
}

static void take_words(struct tri_shell *shell, struct tri_shell_words *to,
                       const struct tri_shell_words *from, int first, int last)
{
    *to = (struct tri_shell_words){0};
    for (int i = first; i < last; i++)
        tri_shell_push(shell, to, from->words[i], strlen(from->words[i]));
}

static void run_text(struct reader *reader, const char *text);

/* A command with a program in it, or one that is nothing but arguments. */
static void note_command(struct reader *reader, const struct tri_shell_words *words)
{
    bool is_plain = words->num > 0 && (strncmp(words->words[0], "--", 2) == 0 || reader->was_plain);
    for (int i = 0; i < words->num; i++) {
        const char *word = words->words[i];
        bool is_command = strstr(word, ".py ") && strstr(word, " --");
        if (is_command && reader->shell.depth < TRI_SHELL_MAX_DEPTH)
            run_text(reader, word);
    }
    const char *program;
    int rank, at = tri_shell_find_program(words, &program, &rank);
    if (at >= 0 && rank >= reader->best_rank) {
        reader->best_rank = rank;
        reader->best.program = program;
        take_words(&reader->shell, &reader->best.launcher, words, 0, at);
        take_words(&reader->shell, &reader->best.arguments, words, at + 1, words->num);
    }
    if (at >= 0)
        return;
    reader->was_plain = is_plain;
    for (int i = 0; is_plain && i < words->num; i++)
        tri_shell_push(&reader->shell, &reader->plain, words->words[i], strlen(words->words[i]));
}

static void run_simple(struct reader *reader, struct tri_shell_raw *pieces, int num)
{
    static const char *const declaring[] = {"export", "local", "readonly", "declare", "typeset"};
    int first = 0;
    for (size_t i = 0; num > 0 && i < sizeof declaring / sizeof declaring[0]; i++)
        first += first == 0 && tri_shell_raw_is(pieces[0], declaring[i]);
    while (first > 0 && first < num && pieces[first].start[0] == '-')
        first++;
    int assigned = first;
    while (assigned < num && assigned_name(pieces[assigned]) > 0)
        assigned++;
    if (assigned == num) {
        for (int i = first; i < num; i++)
            assign(reader, pieces[i], assigned_name(pieces[i]));
        return;
    }
    if (first > 0)
        return;
    struct tri_shell_words words = {0};
    bool is_eval = tri_shell_raw_is(pieces[assigned], "eval");
    for (int i = assigned + is_eval; i < num; i++)
        tri_shell_expand(&reader->shell, pieces[i], &words);
    if (!is_eval)
        note_command(reader, &words);
    else if (reader->shell.depth < TRI_SHELL_MAX_DEPTH)
        run_text(reader, join(&reader->shell, &words));
}

static void open_block(struct reader *reader, bool is_case)
{
    if (reader->num_blocks == MAX_BLOCKS)
        return;
    reader->blocks[reader->num_blocks++] =
        (struct block){.is_case = is_case, .in_condition = !is_case, .is_taken = false};
}

/* One more part of a condition; before says how the last part ended. */
static void add_condition(struct reader *reader, struct block *block,
                          struct tri_shell_command *command, int first, char before)
{
    if (first >= command->num)
        return;
    bool holds = tri_shell_test(&reader->shell, command->pieces + first, command->num - first);
    if (before == '&')
        block->is_true = block->is_true && holds;
    else if (before == '|')
        block->is_true = block->is_true || holds;
    else
        block->is_true = holds;
}

/* "case WORD in", then "PATTERN | PATTERN)" in front of each branch. */
static void read_pattern(struct reader *reader, struct block *block)
{
    bool matches = false;
    while (*reader->lexer.next && *reader->lexer.next != ')') {
        struct tri_shell_words words = {0};
        while (*reader->lexer.next == '\n' || *reader->lexer.next == '|' ||
               *reader->lexer.next == '(' || *reader->lexer.next == ' ' ||
               *reader->lexer.next == '\t')
            reader->lexer.next++;
        tri_shell_skip_blanks(&reader->lexer);
        struct tri_shell_raw piece = tri_shell_read_piece(&reader->lexer);
        if (tri_shell_raw_is(piece, "esac")) {
            reader->num_blocks--;
            return;
        }
        tri_shell_expand(&reader->shell, piece, &words);
        matches = matches || (words.num > 0 && fnmatch(words.words[0], block->subject, 0) == 0);
        if (piece.length == 0 && *reader->lexer.next && *reader->lexer.next != ')')
            reader->lexer.next++;
    }
    reader->lexer.next += *reader->lexer.next == ')';
    block->is_taken = matches && !block->was_taken;
    block->was_taken = block->was_taken || matches;
    block->wants_pattern = false;
}

static void open_case(struct reader *reader, struct tri_shell_command *command)
{
    struct tri_shell_words words = {0};
    open_block(reader, true);
    struct block *block = &reader->blocks[reader->num_blocks - 1];
    reader->shell.empties_unset = true;
    if (command->num > 1)
        tri_shell_expand(&reader->shell, command->pieces[1], &words);
    reader->shell.empties_unset = false;
    block->subject = words.num > 0 ? words.words[0] : "";
    block->wants_pattern = true;
}

/* A word in front of a command that opens, turns or closes a block; returns how many pieces it takes. */
static int run_keyword(struct reader *reader, struct tri_shell_command *command, int at)
{
    struct tri_shell_raw word = command->pieces[at];
    struct block *block = reader->num_blocks > 0 ? &reader->blocks[reader->num_blocks - 1] : NULL;
    bool in_if = block && !block->is_case;
    if (tri_shell_raw_is(word, "if")) {
        open_block(reader, false);
    } else if (tri_shell_raw_is(word, "then") && in_if) {
        block->in_condition = false;
        block->is_taken = block->is_true && !block->was_taken;
        block->was_taken = block->was_taken || block->is_taken;
    } else if (tri_shell_raw_is(word, "elif") && in_if) {
        block->in_condition = true;
        block->is_taken = block->is_true = false;
    } else if (tri_shell_raw_is(word, "else") && in_if) {
        block->is_taken = !block->was_taken;
    } else if (tri_shell_raw_is(word, "fi") && in_if) {
        reader->num_blocks--;
    } else if (tri_shell_raw_is(word, "esac") && block && block->is_case) {
        reader->num_blocks--;
    } else if (tri_shell_raw_is(word, "case") && at == 0) {
        open_case(reader, command);
        return command->num;
    } else if (tri_shell_raw_is(word, "for") || tri_shell_raw_is(word, "function")) {
        return command->num;
    } else if (!tri_shell_raw_is(word, "do") && !tri_shell_raw_is(word, "done") &&
               !tri_shell_raw_is(word, "{") && !tri_shell_raw_is(word, "}") &&
               !tri_shell_raw_is(word, "while") && !tri_shell_raw_is(word, "until") &&
               !tri_shell_raw_is(word, "time") && !tri_shell_raw_is(word, "exec")) {
        return 0;
    }
    return 1;
}

static void run_command(struct reader *reader, struct tri_shell_command *command, char before)
{
    int first = 0;
    while (first < command->num) {
        int taken = run_keyword(reader, command, first);
        if (taken == 0)
            break;
        first += taken;
    }
    struct block *block = reader->num_blocks > 0 ? &reader->blocks[reader->num_blocks - 1] : NULL;
    if (block && block->in_condition)
        add_condition(reader, block, command, first, before);
    else if (first < command->num && is_active(reader))
        run_simple(reader, command->pieces + first, command->num - first);
    if (block && block->is_case && command->end == '!') {
        block->is_taken = false;
        block->wants_pattern = true;
    }
}

static void run_text(struct reader *reader, const char *text)
{
    const char *after = reader->lexer.next;
    struct tri_shell_command command = {0};
    char before = '\n';
    reader->lexer.next = text;
    reader->shell.depth++;
    while (*reader->lexer.next) {
        struct block *block =
            reader->num_blocks > 0 ? &reader->blocks[reader->num_blocks - 1] : NULL;
        if (block && block->wants_pattern) {
            read_pattern(reader, block);
            continue;
        }
        tri_shell_read_command(&reader->lexer, &command);
        run_command(reader, &command, before);
        before = command.end;
    }
    reader->shell.depth--;
    reader->lexer.next = after;
}

/* Arrays and texts of arguments, in the order of the script. */
static void take_variables(struct reader *reader)
{
    const struct tri_shell_variable *variables[256];
    int num = 0;
    for (const struct tri_shell_variable *next = reader->shell.variables; next && num < 256;
         next = next->next) {
        const char *first = next->items.num > 0 ? next->items.words[0] : "";
        if (strncmp(first + strspn(first, " \t\n"), "--", 2) == 0)
            variables[num++] = next;
    }
    while (num-- > 0) {
        for (int i = 0; i < variables[num]->items.num; i++) {
            const char *item = variables[num]->items.words[i];
            tri_shell_expand(&reader->shell,
                             (struct tri_shell_raw){.start = item, .length = strlen(item)},
                             &reader->best.arguments);
        }
    }
}

/* What no word ends at is a blank again. */
static void restore_blanks(struct tri_shell_words *words)
{
    for (int i = 0; i < words->num; i++) {
        char *word = (char *)words->words[i];
        while ((word = strchr(word, TRI_SHELL_BLANK)))
            *word = ' ';
    }
}

/* What Slurm was asked for stands before the launcher's own words, which say it again where they differ. */
static void finish_launcher(struct reader *reader, const struct tri_shell_words *slurm)
{
    struct tri_shell_words all = *slurm;
    const struct tri_shell_words *launcher = &reader->best.launcher;
    for (int i = 0; i < launcher->num; i++)
        tri_shell_push(&reader->shell, &all, launcher->words[i], strlen(launcher->words[i]));
    reader->best.launcher = all;
    restore_blanks(&reader->best.launcher);
    restore_blanks(&reader->best.arguments);
}

tri_status tri_shell_read(const char *text, const char *name, tri_arena *arena, tri_error *err,
                          struct tri_shell_result *result)
{
    struct reader *reader = tri_arena_alloc(arena, sizeof *reader);
    TRI_CHECK(reader, err, TRI_NOMEM, "out of memory while '%s' was read", name);
    reader->shell = (struct tri_shell){.arena = arena, .budget = LARGEST};
    reader->lexer = (struct tri_shell_lexer){.shell = &reader->shell};
    struct tri_shell_words slurm = {0};
    tri_shell_read_slurm(&reader->shell, text, &slurm);
    run_text(reader, text);
    if (reader->best_rank == 0 && reader->plain.num > 0)
        reader->best.arguments = reader->plain;
    else if (reader->best_rank == 0)
        take_variables(reader);
    finish_launcher(reader, &slurm);
    if (reader->shell.is_over)
        return tri_error_add(
            err, TRI_INVALID,
            "%s: its variables make more than %d bytes of arguments; write them out", name,
            LARGEST);
    *result = reader->best;
    return TRI_OK;
}
