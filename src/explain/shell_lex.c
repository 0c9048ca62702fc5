/* SPDX-License-Identifier: Apache-2.0 */
/* A script cut into commands, and commands into pieces; redirections and here-documents are left out. */
#include "explain/shell_inner.h"

#include <ctype.h>
#include <string.h>

#define MAX_COMMAND 65536 /* pieces of one command */

bool tri_shell_raw_is(struct tri_shell_raw raw, const char *word)
{
    return raw.length == strlen(word) && strncmp(raw.start, word, raw.length) == 0;
}

struct tri_shell_raw tri_shell_read_piece(struct tri_shell_lexer *lexer)
{
    const char *start = lexer->next, *text = start;
    while (*text && !isspace((unsigned char)*text) && !strchr(";&|<>()", *text)) {
        bool is_piece = strchr("'\"`\\", *text) != NULL;
        if (*text == '$' && (text[1] == '(' || text[1] == '{'))
            text = tri_shell_skip(text + 1);
        else if (is_piece)
            text = tri_shell_skip(text);
        else if (*text++ == '=' && *text == '(')
            text = tri_shell_skip(text);
    }
    lexer->next = text;
    return (struct tri_shell_raw){.start = start, .length = (size_t)(text - start)};
}

void tri_shell_skip_blanks(struct tri_shell_lexer *lexer)
{
    for (;;) {
        if (*lexer->next != '\n' && isspace((unsigned char)*lexer->next))
            lexer->next++;
        else if (lexer->next[0] == '\\' && lexer->next[1] == '\n')
            lexer->next += 2;
        else if (strncmp(lexer->next, "\\\r\n", 3) == 0)
            lexer->next += 3;
        else if (*lexer->next == '#')
            lexer->next += strcspn(lexer->next, "\n");
        else
            return;
    }
}

/* "> file", "2>&1", "<<WORD": neither arguments nor anything else that matters here. */
static void skip_redirection(struct tri_shell_lexer *lexer, struct tri_shell_command *command)
{
    if (command->num > 0) {
        struct tri_shell_raw last = command->pieces[command->num - 1];
        bool touches = last.start + last.length == lexer->next;
        if (touches && last.length == 1 && isdigit((unsigned char)*last.start))
            command->num--;
    }
    bool is_heredoc = strncmp(lexer->next, "<<", 2) == 0 && lexer->next[2] != '<';
    lexer->next += strspn(lexer->next, "<>&-");
    tri_shell_skip_blanks(lexer);
    struct tri_shell_words words = {0};
    struct tri_shell_raw target = tri_shell_read_piece(lexer);
    if (!is_heredoc)
        return;
    tri_shell_expand(lexer->shell, target, &words);
    lexer->heredoc = words.num > 0 ? words.words[0] : NULL;
}

static void skip_heredoc(struct tri_shell_lexer *lexer)
{
    const char *word = lexer->heredoc;
    lexer->heredoc = NULL;
    while (*lexer->next) {
        const char *line = lexer->next + strspn(lexer->next, "\t");
        size_t length = strcspn(line, "\r\n");
        bool is_end = length == strlen(word) && strncmp(line, word, length) == 0;
        lexer->next = line + strcspn(line, "\n");
        lexer->next += *lexer->next != '\0';
        if (is_end)
            return;
    }
}

static void end_command(struct tri_shell_lexer *lexer, struct tri_shell_command *command)
{
    const char *text = lexer->next;
    command->end = *text;
    if (*text)
        lexer->next += 1 + ((*text == '&' || *text == '|' || *text == ';') && text[1] == *text);
    /* ";;" ends a branch, a single '&' or '|' only a command. */
    if (*text == ';' && text[1] == ';')
        command->end = '!';
    if ((*text == '&' || *text == '|') && text[1] != *text)
        command->end = ';';
    if (*text == '\n' && lexer->heredoc)
        skip_heredoc(lexer);
}

static void add_piece(struct tri_shell_lexer *lexer, struct tri_shell_command *command,
                      struct tri_shell_raw piece)
{
    if (command->num == command->room) {
        int room = command->room ? 2 * command->room : 64;
        struct tri_shell_raw *grown =
            room > MAX_COMMAND ? NULL
                               : tri_arena_alloc(lexer->shell->arena, (size_t)room * sizeof *grown);
        if (!grown)
            return;
        if (command->num > 0)
            memcpy(grown, command->pieces, (size_t)command->num * sizeof *grown);
        command->pieces = grown;
        command->room = room;
    }
    command->pieces[command->num++] = piece;
}

void tri_shell_read_command(struct tri_shell_lexer *lexer, struct tri_shell_command *command)
{
    command->num = 0;
    for (;;) {
        tri_shell_skip_blanks(lexer);
        char next = *lexer->next;
        bool redirects_both = next == '&' && lexer->next[1] == '>';
        if (next == '<' || next == '>' || redirects_both) {
            skip_redirection(lexer, command);
        } else if (next == '\0' || strchr("\n;&|()", next)) {
            end_command(lexer, command);
            return;
        } else {
            add_piece(lexer, command, tri_shell_read_piece(lexer));
        }
    }
}
