/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows as command-line flags. Nothing stops at the first problem. */
#include "base/options_inner.h"

#include <ctype.h>
#include <string.h>

#define FLAG_TEXT  128
#define GUESS_TEXT 512

struct flag_reader {
    int argc, next;
    char **argv;
    struct tri_option_binding *bindings;
    int num_bindings;
    const struct tri_option_megatron *megatron;
    tri_error *err;
    tri_status status; /* of the first problem */
};

/* One word split into its parts. */
struct flag_word {
    char name[FLAG_TEXT];  /* as the user wrote it, without "--" and value */
    char where[FLAG_TEXT]; /* "--name" */
    const char *value;     /* after '=', or NULL */
};

static void flags_note_status(struct flag_reader *reader, tri_status status)
{
    if (reader->status == TRI_OK)
        reader->status = status;
}

static bool is_flag(const char *word)
{
    return word[0] == '-' && word[1] == '-';
}

static bool flags_split(struct flag_reader *reader, const char *word, struct flag_word *parts)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    if (length >= FLAG_TEXT) {
        flags_note_status(
            reader, tri_error_add(reader->err, TRI_INVALID, "unknown option '%.60s...'", word));
        return false;
    }
    snprintf(parts->where, sizeof(parts->where), "%.*s", (int)length, word);
    snprintf(parts->name, sizeof(parts->name), "%s", parts->where + 2);
    parts->value = equals ? equals + 1 : NULL;
    return true;
}

static void flags_skip_values(struct flag_reader *reader)
{
    while (reader->next < reader->argc && !is_flag(reader->argv[reader->next]))
        reader->next++;
}

static void flags_unknown(struct flag_reader *reader, const struct flag_word *word)
{
    char guess[GUESS_TEXT];
    tri_status status;
    if (tri_option_foreign(word->name, word->where, reader->megatron, guess, sizeof(guess))) {
        status = tri_error_add(reader->err, TRI_UNSUPPORTED, "%s", guess);
    } else if (tri_option_guess(word->where, reader->bindings, reader->num_bindings,
                                reader->megatron, guess, sizeof(guess))) {
        status = tri_error_add(reader->err, TRI_INVALID, "unknown option '%s', did you mean %s?",
                               word->where, guess);
    } else {
        status = tri_error_add(reader->err, TRI_INVALID,
                               "unknown option '%s'; see --help for the known ones", word->where);
    }
    flags_note_status(reader, status);
    if (!word->value)
        flags_skip_values(reader);
}

static void flags_set_list(struct flag_reader *reader, const struct tri_option_found *found,
                           const struct flag_word *word)
{
    void *config = found->binding->config;
    int first = reader->next;
    if (!word->value)
        flags_skip_values(reader);
    int num = reader->next - first;
    const char *only = word->value ? word->value : num == 1 ? reader->argv[first] : NULL;
    if (only) {
        flags_note_status(reader,
                          tri_option_set(found->row, config, only, word->where, reader->err));
        return;
    }
    if (num == 0)
        flags_note_status(
            reader, tri_error_add(reader->err, TRI_INVALID, "'%s' needs a value", word->where));
    tri_option_begin(found->row, config);
    tri_status status = TRI_OK;
    for (int i = 0; i < num && status != TRI_UNSUPPORTED; i++) { /* not once the list is full */
        status = tri_option_append(found->row, config, NULL, reader->argv[first + i], word->where,
                                   reader->err);
        flags_note_status(reader, status);
    }
}

/* "--x true" gives x no value: the next word would be a run file. */
static void flags_check_stray(struct flag_reader *reader, const struct flag_word *word)
{
    const char *next = reader->next < reader->argc ? reader->argv[reader->next] : "";
    if (strcmp(next, "true") != 0 && strcmp(next, "false") != 0)
        return;
    reader->next++;
    flags_note_status(reader, tri_error_add(reader->err, TRI_INVALID,
                                            "'%s' takes its value behind '='; use %s=%s",
                                            word->where, word->where, next));
}

static void flags_set(struct flag_reader *reader, const struct tri_option_found *found,
                      const struct flag_word *word)
{
    const char *value = word->value;
    tri_option_note_origin(found, TRI_OPTION_FROM_FLAG);
    if (tri_option_is_list(found->row)) {
        flags_set_list(reader, found, word);
        return;
    }
    if (!value && found->row->type == TRI_OPTION_BOOL) {
        flags_check_stray(reader, word);
        value = "true";
    }
    if (!value && reader->next < reader->argc && !is_flag(reader->argv[reader->next]))
        value = reader->argv[reader->next++];
    if (value && (value[0] || found->row->type == TRI_OPTION_STRING))
        flags_note_status(reader, tri_option_set(found->row, found->binding->config, value,
                                                 word->where, reader->err));
    else
        flags_note_status(
            reader, tri_error_add(reader->err, TRI_INVALID, "'%s' needs a value", word->where));
}

static void flags_read(struct flag_reader *reader, const char *text)
{
    struct flag_word word;
    if (!flags_split(reader, text, &word))
        return;
    struct tri_option_found found =
        tri_option_lookup(word.name, NULL, reader->bindings, reader->num_bindings);
    if (found.row) {
        flags_set(reader, &found, &word);
        return;
    }
    if (strncmp(word.name, "no-", 3) == 0 || strncmp(word.name, "no_", 3) == 0) {
        found = tri_option_lookup(word.name + 3, NULL, reader->bindings, reader->num_bindings);
        if (found.row && found.row->type == TRI_OPTION_BOOL && !word.value) {
            word.value = "false";
            flags_set(reader, &found, &word);
            return;
        }
    }
    flags_unknown(reader, &word);
}

tri_status tri_option_read_flags(int argc, char **argv, struct tri_option_binding *bindings,
                                 int num_bindings, const struct tri_option_megatron *megatron,
                                 const char **positional, int *num_positional, tri_error *err)
{
    struct flag_reader reader = {.argc = argc,
                                 .argv = argv,
                                 .bindings = bindings,
                                 .num_bindings = num_bindings,
                                 .megatron = megatron,
                                 .err = err};
    bool options_ended = false;
    int num = 0;
    while (reader.next < argc) {
        const char *word = argv[reader.next++];
        if (!options_ended && strcmp(word, "--") == 0)
            options_ended = true;
        else if (!options_ended && is_flag(word))
            flags_read(&reader, word);
        else if (!options_ended && word[0] == '-' && isalpha((unsigned char)word[1]))
            flags_note_status(&reader,
                              tri_error_add(err, TRI_INVALID,
                                            "unknown option '%s'; options begin with '--'", word));
        else
            positional[num++] = word;
    }
    *num_positional = num;
    return reader.status;
}
