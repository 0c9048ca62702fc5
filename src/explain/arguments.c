/* SPDX-License-Identifier: Apache-2.0 */
/* A Megatron-LM argument list, from a launch script or as plain text. */
#include "explain/list_expression.h"
#include "explain/megatron.h"
#include "explain/record.h"
#include "explain/rules.h"
#include "explain/shell.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 1024 /* of one argument */

static bool is_flag(const char *word)
{
    return word[0] == '-' && word[1] == '-' && word[2] != '\0';
}

/* Quotes that a script kept inside an array's item. */
static const char *without_quotes(tri_explanation *out, const char *word)
{
    size_t length = strlen(word);
    bool is_quoted =
        length >= 2 && (word[0] == '\'' || word[0] == '"') && word[length - 1] == word[0];
    if (!is_quoted)
        return word;
    const char *bare = tri_arena_format(out->arena, "%.*s", (int)length - 2, word + 1);
    return bare ? bare : word;
}

/* "([1]*2+[0])" written out: "[1,1,0]"; any other word as it is. */
static const char *without_sums(tri_explanation *out, const char *word)
{
    struct tri_option_list list;
    bool has_sum = strchr(word, '[') && strpbrk(word, "*+");
    if (!has_sum || !tri_list_expression(word, &list))
        return word;
    char text[16 * TRI_OPTION_MAX_ITEMS];
    size_t used = 0;
    for (int64_t i = 0; i < list.num; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId64, i ? "," : "[",
                                 list.value[i]);
    const char *written = tri_arena_format(out->arena, "%s]", text);
    return written ? written : word;
}

/* "220_000_000", as Python writes whole numbers: "220000000"; any other word as it is. */
static const char *without_underscores(tri_explanation *out, const char *word)
{
    char digits[32];
    size_t used = 0, length = strlen(word);
    bool is_number =
        strchr(word, '_') && length < sizeof digits && word[strspn(word, "0123456789_")] == '\0';
    bool is_python = is_number && word[0] != '_' && word[length - 1] != '_' && !strstr(word, "__");
    for (const char *c = word; is_python && *c; c++) {
        if (*c != '_')
            digits[used++] = *c;
    }
    const char *bare = is_python ? tri_arena_format(out->arena, "%.*s", (int)used, digits) : NULL;
    return bare ? bare : word;
}

/* A value as the script's program would read it. */
static const char *plain_value(tri_explanation *out, const char *word)
{
    return without_underscores(out, without_sums(out, without_quotes(out, word)));
}

/* A value that only the script's surroundings know. */
static bool has_placeholder(const char *const *values, int num)
{
    for (int i = 0; i < num; i++) {
        const char *dollar = strchr(values[i], '$');
        if ((dollar && dollar[1]) || strchr(values[i], '`'))
            return true;
    }
    return false;
}

/* A word that is no argument's: arguments of the script's surroundings, or a slip. */
static void explain_stray(tri_explanation *out, const char *word, const char *why)
{
    bool is_open = has_placeholder(&word, 1);
    struct tri_explain_field *field = tri_explain_add(
        out, TRI_SECTION_OTHER, is_open ? TRI_DIFFERS : TRI_UNKNOWN, word[0] ? word : "\"\"", "");
    field->why = is_open ? "known only where the script runs; write it out" : why;
}

static void explain_argument(struct tri_megatron_rules *rules, const char *word,
                             const char *const *values, int num)
{
    tri_explanation *out = rules->out;
    const char *name = word + 2;
    struct tri_word_found found = tri_word_find(&tri_megatron_words, name);
    struct tri_explain_field *field;
    if (!found.word) {
        tri_explain_unknown(out, &tri_megatron_words, "--", name, values, num);
        return;
    }
    bool takes_list = found.word->kind == TRI_WORD_LIST;
    bool takes_one = found.word->kind == TRI_WORD_VALUE;
    int taken = takes_list ? num : takes_one && num > 0 ? 1 : 0;
    if (tri_explain_word(out, &found, word, values, taken, &field))
        tri_megatron_note(rules, name, field, values, taken);
    else
        tri_megatron_see(rules, name, values, taken);
    bool is_open = taken > 0 && has_placeholder(values, taken);
    if (is_open && (field->answer == TRI_UNDERSTOOD || field->answer == TRI_REFUSED)) {
        field->answer = TRI_DIFFERS;
        field->why = "known only where the script runs; fill it in";
    }
    const char *shown = tri_explain_printable(out, tri_explain_format(out, "%.100s", word));
    const char *why =
        tri_explain_format(out, "'%s' takes %s", shown, taken ? "one value" : "no value");
    for (int i = taken; i < num; i++)
        explain_stray(out, values[i], why);
}

/* Words in groups: an argument and the values behind it. */
static void explain_words(struct tri_megatron_rules *rules, const struct tri_shell_words *words)
{
    tri_explanation *out = rules->out;
    const char *values[MAX_VALUES];
    int next = 0;
    while (next < words->num && !out->is_full) {
        const char *word = words->words[next++];
        int num = 0;
        if (!is_flag(word)) {
            explain_stray(out, word, "a word that belongs to no argument");
            continue;
        }
        const char *equals = strchr(word, '=');
        if (equals) {
            values[num++] = plain_value(out, equals + 1);
            word = tri_explain_format(out, "%.*s", (int)(equals - word), word);
        }
        while (next < words->num && !is_flag(words->words[next])) {
            const char *value = plain_value(out, words->words[next++]);
            if (num < MAX_VALUES)
                values[num++] = value;
        }
        explain_argument(rules, word, values, num);
    }
}

/* Says above all words that the script starts another program than pretrain_gpt.py. */
static void note_program(tri_explanation *out, const char *program)
{
    const char *what = program ? tri_megatron_program(program) : NULL;
    if (!what)
        return;
    bool is_open = has_placeholder(&program, 1);
    program = tri_explain_printable(out, tri_explain_format(out, "%.100s", program));
    out->sources[out->num_sources - 1].note =
        is_open ? tri_explain_format(out,
                                     "starts '%s', a program known only where the script runs; "
                                     "its arguments are read as pretrain_gpt.py's",
                                     program)
                : tri_explain_format(out,
                                     "starts '%s', not pretrain_gpt.py%s%s; its arguments are "
                                     "read as pretrain_gpt.py's",
                                     program, what[0] ? ": " : "", what);
}

static tri_status read_megatron(struct tri_explain_input *input)
{
    struct tri_shell_result result;
    TRI_TRY(tri_shell_read(input->text, input->path, input->out->arena, input->err, &result));
    if (result.arguments.num == 0)
        return tri_error_add(
            input->err, TRI_INVALID,
            "%s: no arguments found; give a script that starts pretrain_gpt.py, or "
            "words that begin with '--'",
            input->path);
    note_program(input->out, result.program);
    struct tri_megatron_rules rules = {.out = input->out, .program = result.program};
    tri_launcher_read(&rules.launcher, &result.launcher);
    tri_megatron_ranks(&rules);
    explain_words(&rules, &result.arguments);
    tri_megatron_finish(&rules);
    return TRI_OK;
}

const struct tri_explain_kind tri_explain_megatron = {
    .name = "megatron",
    .title = "a Megatron-LM argument list",
    .read = read_megatron,
};
