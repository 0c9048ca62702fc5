/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A script's commands in order: assignments are kept, if and case choose what is read, and the command that
 * names a Python script gives the arguments. A file without such a command is an argument list as it stands, or
 * arrays of arguments.
 */
#include "explain/shell_inner.h"

#include "base/number.h"

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
    const char *next;
    struct block blocks[MAX_BLOCKS];
    int num_blocks;
    struct tri_shell_words plain; /* commands that begin with "--" */
    struct tri_shell_result best;
    int best_rank; /* of the command in best: 2 for pretrain*.py, 1 for another script */
    bool was_plain;
    const char *heredoc; /* word that ends the text behind this line; NULL: none */
};

/* One command's pieces, and what ended it: '\n', ';', '&' for &&, '|' for || and pipes, '(' or ')'. */
struct command {
    struct tri_shell_raw *pieces;
    int num, room;
    char end;
};

static bool is_active(const struct reader *reader)
{
    for (int i = 0; i < reader->num_blocks; i++) {
        if (!reader->blocks[i].is_taken)
            return false;
    }
    return true;
}

static bool raw_is(struct tri_shell_raw raw, const char *word)
{
    return raw.length == strlen(word) && strncmp(raw.start, word, raw.length) == 0;
}

/* The piece that begins here; an array's brackets belong to its assignment. */
static struct tri_shell_raw read_piece(struct reader *reader)
{
    const char *start = reader->next, *text = start;
    while (*text && !isspace((unsigned char)*text) && !strchr(";&|<>()", *text)) {
        bool is_piece = strchr("'\"`\\", *text) != NULL;
        if (*text == '$' && (text[1] == '(' || text[1] == '{'))
            text = tri_shell_skip(text + 1);
        else if (is_piece)
            text = tri_shell_skip(text);
        else if (*text++ == '=' && *text == '(')
            text = tri_shell_skip(text);
    }
    reader->next = text;
    return (struct tri_shell_raw){.start = start, .length = (size_t)(text - start)};
}

static void skip_blanks(struct reader *reader)
{
    for (;;) {
        if (*reader->next != '\n' && isspace((unsigned char)*reader->next))
            reader->next++;
        else if (reader->next[0] == '\\' && reader->next[1] == '\n')
            reader->next += 2;
        else if (strncmp(reader->next, "\\\r\n", 3) == 0)
            reader->next += 3;
        else if (*reader->next == '#')
            reader->next += strcspn(reader->next, "\n");
        else
            return;
    }
}

/* "> file", "2>&1", "<<WORD": neither arguments nor anything else that matters here. */
static void skip_redirection(struct reader *reader, struct command *command)
{
    if (command->num > 0) {
        struct tri_shell_raw last = command->pieces[command->num - 1];
        bool touches = last.start + last.length == reader->next;
        if (touches && last.length == 1 && isdigit((unsigned char)*last.start))
            command->num--;
    }
    bool is_heredoc = strncmp(reader->next, "<<", 2) == 0 && reader->next[2] != '<';
    reader->next += strspn(reader->next, "<>&-");
    skip_blanks(reader);
    struct tri_shell_words words = {0};
    struct tri_shell_raw target = read_piece(reader);
    if (!is_heredoc)
        return;
    tri_shell_expand(&reader->shell, target, &words);
    reader->heredoc = words.num > 0 ? words.words[0] : NULL;
}

static void skip_heredoc(struct reader *reader)
{
    const char *word = reader->heredoc;
    reader->heredoc = NULL;
    while (*reader->next) {
        const char *line = reader->next + strspn(reader->next, "\t");
        size_t length = strcspn(line, "\r\n");
        bool is_end = length == strlen(word) && strncmp(line, word, length) == 0;
        reader->next = line + strcspn(line, "\n");
        reader->next += *reader->next != '\0';
        if (is_end)
            return;
    }
}

static void end_command(struct reader *reader, struct command *command)
{
    const char *text = reader->next;
    command->end = *text;
    if (*text)
        reader->next += 1 + ((*text == '&' || *text == '|' || *text == ';') && text[1] == *text);
    /* ";;" ends a branch, a single '&' or '|' only a command. */
    if (*text == ';' && text[1] == ';')
        command->end = '!';
    if ((*text == '&' || *text == '|') && text[1] != *text)
        command->end = ';';
    if (*text == '\n' && reader->heredoc)
        skip_heredoc(reader);
}

static void add_piece(struct reader *reader, struct command *command, struct tri_shell_raw piece)
{
    if (command->num == command->room) {
        int room = command->room ? 2 * command->room : 64;
        struct tri_shell_raw *grown =
            room > MAX_COMMAND ? NULL
                               : tri_arena_alloc(reader->shell.arena, (size_t)room * sizeof *grown);
        if (!grown)
            return;
        if (command->num > 0)
            memcpy(grown, command->pieces, (size_t)command->num * sizeof *grown);
        command->pieces = grown;
        command->room = room;
    }
    command->pieces[command->num++] = piece;
}

static void read_command(struct reader *reader, struct command *command)
{
    command->num = 0;
    for (;;) {
        skip_blanks(reader);
        char next = *reader->next;
        bool redirects_both = next == '&' && reader->next[1] == '>';
        if (next == '<' || next == '>' || redirects_both) {
            skip_redirection(reader, command);
        } else if (next == '\0' || strchr("\n;&|()", next)) {
            end_command(reader, command);
            return;
        } else {
            add_piece(reader, command, read_piece(reader));
        }
    }
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
    const char *end = inside.start + inside.length, *after = reader->next;
    reader->next = inside.start;
    while (reader->next < end) {
        skip_blanks(reader);
        if (reader->next >= end)
            break;
        struct tri_shell_raw item = read_piece(reader);
        if (item.length == 0)
            reader->next++;
        else if (item.start + item.length <= end)
            tri_shell_expand(&reader->shell, item, items);
    }
    reader->next = after;
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
        const char *joined = "";
        for (int i = 0; i < words.num && strlen(joined) < shell->budget; i++) {
            joined = tri_arena_format(shell->arena, "%s%s%s", joined, i ? " " : "", words.words[i]);
            joined = joined ? joined : "";
            shell->budget -= strlen(joined) < shell->budget ? strlen(joined) : shell->budget;
        }
        tri_shell_push(shell, &items, joined, strlen(joined));
    }
    struct tri_shell_variable *variable = tri_shell_find(shell, piece.start, length);
    if (!variable) {
        variable = tri_arena_alloc(shell->arena, sizeof *variable);
        if (!variable)
            return;
        variable->name = tri_arena_format(shell->arena, "%.*s", (int)length, piece.start);
        if (!variable->name)
            return;
        variable->next = shell->variables;
        shell->variables = variable;
    }
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

static bool ends_with(const char *word, const char *end)
{
    size_t length = strlen(word), tail = strlen(end);
    return length >= tail && strcmp(word + length - tail, end) == 0;
}

static void take_words(struct tri_shell *shell, struct tri_shell_words *to,
                       const struct tri_shell_words *from, int first, int last)
{
    *to = (struct tri_shell_words){0};
    for (int i = first; i < last; i++)
        tri_shell_push(shell, to, from->words[i], strlen(from->words[i]));
}

static void run_text(struct reader *reader, const char *text);

/* A command with a Python script in it, or one that is nothing but arguments. */
static void note_command(struct reader *reader, const struct tri_shell_words *words)
{
    bool is_plain = words->num > 0 && (strncmp(words->words[0], "--", 2) == 0 || reader->was_plain);
    for (int i = 0; i < words->num; i++) {
        const char *word = words->words[i], *slash = strrchr(word, '/');
        const char *base = slash ? slash + 1 : word;
        bool is_command = strstr(word, ".py ") && strstr(word, " --");
        if (is_command && reader->shell.depth < TRI_SHELL_MAX_DEPTH)
            run_text(reader, word);
        if (!ends_with(word, ".py"))
            continue;
        int rank = strncmp(base, "pretrain", 8) == 0 ? 2 : 1;
        bool has_arguments = i + 1 < words->num;
        if (!has_arguments || rank < reader->best_rank)
            continue;
        reader->best_rank = rank;
        take_words(&reader->shell, &reader->best.launcher, words, 0, i);
        take_words(&reader->shell, &reader->best.arguments, words, i + 1, words->num);
        return;
    }
    reader->was_plain = is_plain;
    for (int i = 0; is_plain && i < words->num; i++)
        tri_shell_push(&reader->shell, &reader->plain, words->words[i], strlen(words->words[i]));
}

static void run_simple(struct reader *reader, struct tri_shell_raw *pieces, int num)
{
    static const char *const declaring[] = {"export", "local", "readonly", "declare", "typeset"};
    int first = 0;
    for (size_t i = 0; num > 0 && i < sizeof declaring / sizeof declaring[0]; i++)
        first += first == 0 && raw_is(pieces[0], declaring[i]);
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
    for (int i = assigned; i < num; i++)
        tri_shell_expand(&reader->shell, pieces[i], &words);
    note_command(reader, &words);
}

enum truth { NO, YES, NOT_KNOWN };

static enum truth compare(const char *a, const char *sign, const char *b)
{
    int64_t left, right;
    if (strcmp(sign, "==") == 0 || strcmp(sign, "=") == 0)
        return fnmatch(b, a, 0) == 0 ? YES : NO;
    if (strcmp(sign, "!=") == 0)
        return fnmatch(b, a, 0) == 0 ? NO : YES;
    if (tri_number_read_int(a, &left) != TRI_NUMBER_OK ||
        tri_number_read_int(b, &right) != TRI_NUMBER_OK)
        return NOT_KNOWN;
    const struct {
        const char *sign;
        bool holds;
    } signs[] = {
        {"-eq", left == right}, {"-ne", left != right}, {"-lt", left < right},
        {"-le", left <= right}, {"-gt", left > right},  {"-ge", left >= right},
    };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (strcmp(sign, signs[i].sign) == 0)
            return signs[i].holds ? YES : NO;
    }
    return NOT_KNOWN;
}

/* "[[ a == b ]]", "[ -z x ]", "true"; its brackets may have been cut off by && and ||. */
static enum truth test(struct reader *reader, struct tri_shell_raw *pieces, int num)
{
    struct tri_shell_words words = {0};
    bool negates = false;
    reader->shell.empties_unset = true;
    for (int i = 0; i < num; i++) {
        int before = words.num;
        bool is_bracket = raw_is(pieces[i], "[") || raw_is(pieces[i], "[[") ||
                          raw_is(pieces[i], "]") || raw_is(pieces[i], "]]") ||
                          raw_is(pieces[i], "test");
        if (is_bracket)
            continue;
        if (raw_is(pieces[i], "!")) {
            negates = !negates;
            continue;
        }
        tri_shell_expand(&reader->shell, pieces[i], &words);
        if (words.num == before)
            tri_shell_push(&reader->shell, &words, "", 0);
    }
    reader->shell.empties_unset = false;
    enum truth truth = NOT_KNOWN;
    if (words.num == 3)
        truth = compare(words.words[0], words.words[1], words.words[2]);
    else if (words.num == 2 && strcmp(words.words[0], "-z") == 0)
        truth = words.words[1][0] == '\0' ? YES : NO;
    else if (words.num == 2 && strcmp(words.words[0], "-n") == 0)
        truth = words.words[1][0] != '\0' ? YES : NO;
    else if (words.num == 1)
        truth = strcmp(words.words[0], "true") == 0    ? YES
                : strcmp(words.words[0], "false") == 0 ? NO
                                                       : NOT_KNOWN;
    if (truth == NOT_KNOWN)
        return truth;
    return (truth == YES) != negates ? YES : NO;
}

static void open_block(struct reader *reader, bool is_case)
{
    if (reader->num_blocks == MAX_BLOCKS)
        return;
    reader->blocks[reader->num_blocks++] =
        (struct block){.is_case = is_case, .in_condition = !is_case, .is_taken = false};
}

/* One more part of a condition; before says how the last part ended. */
static void add_condition(struct reader *reader, struct block *block, struct command *command,
                          int first, char before)
{
    if (first >= command->num)
        return;
    bool holds = test(reader, command->pieces + first, command->num - first) == YES;
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
    while (*reader->next && *reader->next != ')') {
        struct tri_shell_words words = {0};
        while (*reader->next == '\n' || *reader->next == '|' || *reader->next == '(' ||
               *reader->next == ' ' || *reader->next == '\t')
            reader->next++;
        skip_blanks(reader);
        struct tri_shell_raw piece = read_piece(reader);
        if (raw_is(piece, "esac")) {
            reader->num_blocks--;
            return;
        }
        tri_shell_expand(&reader->shell, piece, &words);
        matches = matches || (words.num > 0 && fnmatch(words.words[0], block->subject, 0) == 0);
        if (piece.length == 0 && *reader->next && *reader->next != ')')
            reader->next++;
    }
    reader->next += *reader->next == ')';
    block->is_taken = matches && !block->was_taken;
    block->was_taken = block->was_taken || matches;
    block->wants_pattern = false;
}

static void open_case(struct reader *reader, struct command *command)
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
static int run_keyword(struct reader *reader, struct command *command, int at)
{
    struct tri_shell_raw word = command->pieces[at];
    struct block *block = reader->num_blocks > 0 ? &reader->blocks[reader->num_blocks - 1] : NULL;
    bool in_if = block && !block->is_case;
    if (raw_is(word, "if")) {
        open_block(reader, false);
    } else if (raw_is(word, "then") && in_if) {
        block->in_condition = false;
        block->is_taken = block->is_true && !block->was_taken;
        block->was_taken = block->was_taken || block->is_taken;
    } else if (raw_is(word, "elif") && in_if) {
        block->in_condition = true;
        block->is_taken = block->is_true = false;
    } else if (raw_is(word, "else") && in_if) {
        block->is_taken = !block->was_taken;
    } else if (raw_is(word, "fi") && in_if) {
        reader->num_blocks--;
    } else if (raw_is(word, "esac") && block && block->is_case) {
        reader->num_blocks--;
    } else if (raw_is(word, "case") && at == 0) {
        open_case(reader, command);
        return command->num;
    } else if (raw_is(word, "for") || raw_is(word, "function")) {
        return command->num;
    } else if (!raw_is(word, "do") && !raw_is(word, "done") && !raw_is(word, "{") &&
               !raw_is(word, "}") && !raw_is(word, "while") && !raw_is(word, "until") &&
               !raw_is(word, "time") && !raw_is(word, "exec") && !raw_is(word, "eval")) {
        return 0;
    }
    return 1;
}

static void run_command(struct reader *reader, struct command *command, char before)
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
    const char *after = reader->next;
    struct command command = {0};
    char before = '\n';
    reader->next = text;
    reader->shell.depth++;
    while (*reader->next) {
        struct block *block =
            reader->num_blocks > 0 ? &reader->blocks[reader->num_blocks - 1] : NULL;
        if (block && block->wants_pattern) {
            read_pattern(reader, block);
            continue;
        }
        read_command(reader, &command);
        run_command(reader, &command, before);
        before = command.end;
    }
    reader->shell.depth--;
    reader->next = after;
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

tri_status tri_shell_read(const char *text, const char *name, tri_arena *arena, tri_error *err,
                          struct tri_shell_result *result)
{
    struct reader *reader = tri_arena_alloc(arena, sizeof *reader);
    TRI_CHECK(reader, err, TRI_NOMEM, "out of memory while '%s' was read", name);
    reader->shell = (struct tri_shell){.arena = arena, .budget = LARGEST};
    run_text(reader, text);
    if (reader->best_rank == 0 && reader->plain.num > 0)
        reader->best.arguments = reader->plain;
    else if (reader->best_rank == 0)
        take_variables(reader);
    if (reader->shell.budget < sizeof(char *) + 4096)
        return tri_error_add(
            err, TRI_INVALID,
            "%s: its variables make more than %d bytes of arguments; write them out", name,
            LARGEST);
    *result = reader->best;
    return TRI_OK;
}
