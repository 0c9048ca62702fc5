/* SPDX-License-Identifier: Apache-2.0 */
/* From a piece of a script to words: quotes, variables, splitting. */
#include "explain/shell_inner.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PIECES 64 /* pieces inside pieces */

/* The words being made: one of them is open. */
struct expansion {
    struct tri_shell *shell;
    struct tri_shell_words *words;
    char *open;
    size_t used, room;
    bool has_open; /* "" is a word as well */
};

void tri_shell_push(struct tri_shell *shell, struct tri_shell_words *words, const char *word,
                    size_t length)
{
    size_t cost = length + sizeof(char *);
    if (cost > shell->budget) {
        shell->is_over = true;
        return;
    }
    shell->budget -= cost;
    if (words->num == words->room) {
        int room = words->room ? 2 * words->room : 8;
        const char **grown = tri_arena_alloc(shell->arena, (size_t)room * sizeof *grown);
        if (!grown)
            return;
        if (words->num > 0)
            memcpy(grown, words->words, (size_t)words->num * sizeof *grown);
        words->words = grown;
        words->room = room;
    }
    char *copy = tri_arena_alloc(shell->arena, length + 1);
    if (!copy)
        return;
    memcpy(copy, word, length);
    words->words[words->num++] = copy;
}

struct tri_shell_variable *tri_shell_find(const struct tri_shell *shell, const char *name,
                                          size_t length)
{
    struct tri_shell_variable *variable = shell->variables;
    while (variable &&
           (strncmp(variable->name, name, length) != 0 || variable->name[length] != '\0'))
        variable = variable->next;
    return variable;
}

struct tri_shell_variable *tri_shell_declare(struct tri_shell *shell, const char *name,
                                             size_t length)
{
    struct tri_shell_variable *variable = tri_shell_find(shell, name, length);
    if (variable)
        return variable;
    variable = tri_arena_alloc(shell->arena, sizeof *variable);
    const char *copy = tri_arena_format(shell->arena, "%.*s", (int)length, name);
    if (!variable || !copy)
        return NULL;
    variable->name = copy;
    variable->next = shell->variables;
    shell->variables = variable;
    return variable;
}

static const char *skip_piece(const char *text, int depth);

/* Behind the closing letter of a bracket that begins at text. */
static const char *skip_bracket(const char *text, char open, char close, int depth)
{
    int brackets = 0;
    while (*text) {
        if (*text == open)
            brackets++;
        if (*text == close && --brackets == 0)
            return text + 1;
        if (open == '(' && *text == '#' && isspace((unsigned char)text[-1])) {
            text += strcspn(text, "\n"); /* a comment inside an array */
            continue;
        }
        bool is_piece = *text == '\\' || *text == '\'' || *text == '"' || *text == '`';
        text = is_piece ? skip_piece(text, depth + 1) : text + 1;
    }
    return text;
}

/* Behind a quoted text, in which "$(...)" may have quotes of its own. */
static const char *skip_quoted(const char *text, int depth)
{
    char quote = *text++;
    while (*text && *text != quote) {
        if (*text == '\\' && quote != '\'' && text[1])
            text += 2;
        else if (quote == '"' && *text == '$' && (text[1] == '(' || text[1] == '{'))
            text = skip_piece(text + 1, depth + 1);
        else
            text++;
    }
    return *text ? text + 1 : text;
}

static const char *skip_piece(const char *text, int depth)
{
    if (*text == '\0' || depth > MAX_PIECES)
        return text + (*text != '\0');
    if (*text == '(')
        return skip_bracket(text, '(', ')', depth);
    if (*text == '{')
        return skip_bracket(text, '{', '}', depth);
    if (*text == '\\')
        return text[1] ? text + 2 : text + 1;
    if (*text == '\'' || *text == '"' || *text == '`')
        return skip_quoted(text, depth);
    return text + 1;
}

const char *tri_shell_skip(const char *text)
{
    return skip_piece(text, 0);
}

static void add_bytes(struct expansion *made, const char *bytes, size_t length)
{
    if (made->used + length > made->room) {
        size_t room = 2 * (made->used + length) + 64;
        char *grown = room > made->shell->budget ? NULL : realloc(made->open, room);
        if (!grown) {
            made->shell->is_over = true;
            return;
        }
        made->open = grown;
        made->room = room;
    }
    if (length > 0)
        memcpy(made->open + made->used, bytes, length);
    made->used += length;
    made->has_open = true;
}

static void end_word(struct expansion *made)
{
    if (made->has_open)
        tri_shell_push(made->shell, made->words, made->open ? made->open : "", made->used);
    made->used = 0;
    made->has_open = false;
}

/* A value outside quotes falls into words at its blanks. */
static void add_split(struct expansion *made, const char *value)
{
    while (*value) {
        size_t word = strcspn(value, " \t\n"), blanks = strspn(value + word, " \t\n");
        if (word > 0)
            add_bytes(made, value, word);
        if (blanks > 0)
            end_word(made);
        value += word + blanks;
    }
}

static void add_items(struct expansion *made, const struct tri_shell_words *items, bool is_quoted,
                      bool all)
{
    for (int i = 0; i < items->num && (all || i == 0); i++) {
        if (i > 0)
            end_word(made);
        if (is_quoted)
            add_bytes(made, items->words[i], strlen(items->words[i]));
        else
            add_split(made, items->words[i]);
    }
}

static size_t name_length(const char *text)
{
    size_t length = 0;
    if (isdigit((unsigned char)*text) || (*text && strchr("@*#?$!", *text)))
        return 1;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length;
}

/* What nobody here knows stays as it is written, in one word. */
static void add_unknown(struct expansion *made, const char *start, const char *end)
{
    static const char blank = TRI_SHELL_BLANK;
    for (const char *c = start; c < end && !made->shell->empties_unset; c++)
        add_bytes(made, isspace((unsigned char)*c) ? &blank : c, 1);
}

/* The words of a default have fallen apart already; inside quotes they are one. */
static void add_default(struct expansion *made, const struct tri_shell_words *words, bool is_quoted)
{
    for (int i = 0; i < words->num; i++) {
        if (i > 0 && is_quoted)
            add_bytes(made, " ", 1);
        else if (i > 0)
            end_word(made);
        add_bytes(made, words->words[i], strlen(words->words[i]));
    }
    made->has_open = made->has_open || is_quoted;
}

/* "${NAME[@]:-default}" from text to end. */
static void add_braced(struct expansion *made, const char *text, const char *end, bool is_quoted)
{
    const char *name = text + 2;
    size_t length = name_length(name);
    const char *rest = name + length;
    bool all = strncmp(rest, "[@]", 3) == 0 || strncmp(rest, "[*]", 3) == 0;
    if (all)
        rest += 3;
    const struct tri_shell_variable *variable = tri_shell_find(made->shell, name, length);
    bool has_value = variable && variable->items.num > 0;
    bool tests_empty = *rest == ':';
    if (tests_empty)
        rest++;
    if (tests_empty && has_value && variable->items.num == 1 && !variable->items.words[0][0])
        has_value = false;
    bool has_default = *rest == '-' || *rest == '=', is_instead = *rest == '+';
    struct tri_shell_raw word = {.start = rest + 1, .length = 0};
    if ((has_default || is_instead) && end - 1 > rest + 1)
        word.length = (size_t)(end - 1 - (rest + 1));
    if (is_instead ? has_value : has_default && !has_value) {
        struct tri_shell_words words = {0};
        tri_shell_expand(made->shell, word, &words);
        add_default(made, &words, is_quoted);
    } else if (is_instead) {
        made->has_open = made->has_open || is_quoted;
    } else if (variable && length > 0) {
        add_items(made, &variable->items, is_quoted, all);
        made->has_open = made->has_open || (is_quoted && !all);
    } else {
        add_unknown(made, text, end);
    }
}

/* What '$' at text begins; returns the first byte behind it. */
static const char *add_dollar(struct expansion *made, const char *text, const char *limit,
                              bool is_quoted)
{
    const char *end;
    if (text[1] == '{') {
        end = tri_shell_skip(text + 1);
        end = end < limit ? end : limit;
        add_braced(made, text, end, is_quoted);
        return end;
    }
    if (text[1] == '(') {
        int64_t value;
        char number[32];
        end = tri_shell_skip(text + 1);
        end = end < limit ? end : limit;
        bool is_sum = text[2] == '(' && end - text > 5;
        if (is_sum &&
            tri_shell_arithmetic(made->shell, text + 3, (size_t)(end - text - 5), &value)) {
            snprintf(number, sizeof number, "%" PRId64, value);
            add_bytes(made, number, strlen(number));
        } else {
            add_unknown(made, text, end);
        }
        return end;
    }
    size_t length = name_length(text + 1);
    end = text + 1 + length;
    end = end < limit ? end : limit;
    const struct tri_shell_variable *variable = tri_shell_find(made->shell, text + 1, length);
    if (length == 0)
        add_bytes(made, "$", 1);
    else if (variable)
        add_items(made, &variable->items, is_quoted, false);
    else
        add_unknown(made, text, end);
    return end;
}

static const char *add_double_quoted(struct expansion *made, const char *text, const char *limit)
{
    made->has_open = true;
    for (text++; text < limit && *text != '"';) {
        if (*text == '\\' && text + 1 < limit && strchr("\"\\$`\n", text[1])) {
            if (text[1] != '\n')
                add_bytes(made, text + 1, 1);
            text += 2;
        } else if (*text == '$') {
            text = add_dollar(made, text, limit, true);
        } else {
            add_bytes(made, text++, 1);
        }
    }
    return text < limit ? text + 1 : limit;
}

void tri_shell_expand(struct tri_shell *shell, struct tri_shell_raw raw,
                      struct tri_shell_words *words)
{
    struct expansion made = {.shell = shell, .words = words};
    const char *text = raw.start, *limit = raw.start + raw.length;
    if (shell->depth >= TRI_SHELL_MAX_DEPTH)
        return;
    shell->depth++;
    while (text < limit) {
        bool is_piece = strchr("'\\`", *text) != NULL;
        const char *next = is_piece ? tri_shell_skip(text) : text + 1;
        next = next < limit ? next : limit;
        if (*text == '\'') {
            made.has_open = true;
            size_t closed = next > text + 1 && next[-1] == '\'';
            add_bytes(&made, text + 1, (size_t)(next - text) - 1 - closed);
        } else if (*text == '"') {
            next = add_double_quoted(&made, text, limit);
        } else if (*text == '\\') {
            if (next - text == 2 && text[1] != '\n')
                add_bytes(&made, text + 1, 1);
        } else if (*text == '$') {
            next = add_dollar(&made, text, limit, false);
        } else if (*text == '`') {
            add_unknown(&made, text, next);
        } else {
            if (isspace((unsigned char)*text))
                end_word(&made);
            else
                add_bytes(&made, text, 1);
        }
        text = next > text ? next : text + 1;
    }
    end_word(&made);
    free(made.open);
    shell->depth--;
}
