/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of option rows: whether they hold, what they say, and what was given and does nothing. */
#include "base/options_inner.h"

#include <stdlib.h>
#include <string.h>

#define NAME_ROOM    64
#define VALUE_ROOM   256 /* longer values are cut */
#define CAUSE_ROOM   1024
#define SUBJECT_ROOM 2048

/* One term of a condition. */
struct term {
    bool starts_other; /* the first one behind "or" */
    bool is_negated;
    char name[NAME_ROOM];
    char relation;      /* '=', '>', or a blank or 0: none */
    const char *values; /* behind the relation, up to a blank or the end */
};

static bool next_term(const char **text, struct term *term)
{
    term->starts_other = strncmp(*text, "or ", 3) == 0;
    const char *word = *text + (term->starts_other ? 3 : 0);
    term->is_negated = word[0] == '!';
    const char *name = word + term->is_negated;
    size_t length = strcspn(name, " =>");
    snprintf(term->name, sizeof(term->name), "%.*s", (int)length, name);
    term->relation = name[length];
    term->values = name + length + 1;
    *text = word + strcspn(word, " ");
    *text += **text == ' ';
    return length > 0;
}

/* Copies the next of the values to 'value'; false behind the last. */
static bool next_value(const char **values, char *value)
{
    size_t length = strcspn(*values, "| ");
    bool is_last = (*values)[length] != '|';
    if (!*values[0] || *values[0] == ' ')
        return false;
    snprintf(value, VALUE_ROOM, "%.*s", (int)length, *values);
    *values += length + !is_last;
    return true;
}

static bool is_listed(const char *values, const char *value)
{
    char listed[VALUE_ROOM];
    while (next_value(&values, listed))
        if (strcmp(listed, value) == 0)
            return true;
    return false;
}

/* value gets that of the option. */
static bool term_holds(const struct term *term, const struct tri_option_binding *bindings,
                       int num_bindings, char *value)
{
    const struct tri_option *row = NULL;
    for (; num_bindings > 0 && !row; num_bindings--, bindings++)
        row = tri_option_find(bindings->table, term->name);
    if (!row)
        return true;
    const void *config = bindings[-1].config;
    tri_option_format(row, config, value, VALUE_ROOM);
    if (term->relation == '=')
        return is_listed(term->values, value) != term->is_negated;
    if (term->relation == '>')
        return strtod(value, NULL) > strtod(term->values, NULL);
    bool is_set = row->type == TRI_OPTION_BOOL ? *(const bool *)tri_option_field(row, config)
                                               : !tri_option_is_unset(row, config);
    return is_set != term->is_negated;
}

/* Adds "name is value" unless it is there. */
static void add_failure(struct tri_option_text *causes, const char *name, const char *value)
{
    char failure[NAME_ROOM + VALUE_ROOM + 8];
    snprintf(failure, sizeof(failure), "%s is %s", name, value);
    const char *known = causes->room > 0 ? strstr(causes->buffer, failure) : NULL;
    if (!known || (known > causes->buffer && known[-1] != ' '))
        tri_option_text_add(causes, "%s%s", causes->used ? " and " : "", failure);
}

bool tri_option_has_effect(const struct tri_option *row, const struct tri_option_binding *bindings,
                           int num_bindings, char *cause, size_t bytes)
{
    struct tri_option_text causes;
    struct term term;
    bool holds = true;
    tri_option_text_init(&causes, cause, cause ? bytes : 0);
    for (const char *text = row->when ? row->when : ""; next_term(&text, &term);) {
        char value[VALUE_ROOM];
        if (term.starts_other && holds)
            return true;
        holds = holds || term.starts_other;
        if (!holds || term_holds(&term, bindings, num_bindings, value))
            continue;
        holds = false;
        add_failure(&causes, term.name, value);
    }
    return holds;
}

static void add_values(struct tri_option_text *text, const char *values)
{
    char value[VALUE_ROOM];
    for (int i = 0; next_value(&values, value); i++) {
        bool is_last = *values == '\0' || *values == ' ';
        tri_option_text_add(text, "%s%s", i == 0 ? " " : is_last ? " or " : ", ", value);
    }
}

void tri_option_when_text(const struct tri_option *row, char *buffer, size_t bytes)
{
    struct tri_option_text out;
    struct term term;
    const char *joint = "only ";
    tri_option_text_init(&out, buffer, bytes);
    for (const char *text = row->when ? row->when : ""; next_term(&text, &term); joint = " and ") {
        tri_option_text_add(&out, "%s%s %s", term.starts_other ? ", or " : joint,
                            term.is_negated ? "without" : "with", term.name);
        if (term.relation == '>')
            tri_option_text_add(&out, " above");
        if (term.relation == '>' || term.relation == '=')
            add_values(&out, term.values);
    }
}

/* ---- what was given and does nothing ---- */

struct walk {
    const struct tri_option_binding *bindings;
    int num_bindings;
    tri_error *err;
};

/* The next row given from 'origin' that has no effect, at or behind *b and *r; cause gets why. */
static const struct tri_option *next_idle(const struct walk *walk, enum tri_option_origin origin,
                                          int *b, int *r, char *cause)
{
    for (; *b < walk->num_bindings; ++*b, *r = 0) {
        const struct tri_option_binding *binding = &walk->bindings[*b];
        for (; binding->origin && *r < binding->table->num_rows; ++*r) {
            const struct tri_option *row = &binding->table->rows[*r];
            if (binding->origin[*r] == origin && !(row->flags & TRI_OPTION_NEEDS) &&
                !tri_option_is_default(row, binding->config) &&
                !tri_option_has_effect(row, walk->bindings, walk->num_bindings, cause, CAUSE_ROOM))
                return row;
        }
    }
    return NULL;
}

static void note_of_file(const struct walk *walk)
{
    char cause[CAUSE_ROOM];
    const struct tri_option *row;
    for (int b = 0, r = 0; (row = next_idle(walk, TRI_OPTION_FROM_FILE, &b, &r, cause)); r++) {
        const struct tri_option_place *place =
            walk->bindings[b].places ? &walk->bindings[b].places[r] : NULL;
        if (place && place->file)
            tri_error_note(walk->err, "%s:%zu: '%s' has no effect: %s", place->file, place->line,
                           row->name, cause);
        else
            tri_error_note(walk->err, "'%s' has no effect: %s", row->name, cause);
    }
}

/* As it was written: a boolean that is false by "--no-". */
static void add_flag(struct tri_option_text *out, const struct tri_option *row, const void *config)
{
    char flag[NAME_ROOM + 8];
    bool is_off = row->type == TRI_OPTION_BOOL && !*(const bool *)tri_option_field(row, config);
    tri_option_flag_text(row, flag, sizeof(flag));
    tri_option_text_add(out, "%s'--%s%s'", out->used ? ", " : "", is_off ? "no-" : "", flag + 2);
}

/* The flags that have the cause of the one at (b, r), unless one before it has; they are counted. */
static int list_flags(const struct walk *walk, int b, int r, const char *cause,
                      struct tri_option_text *out)
{
    char other[CAUSE_ROOM];
    const struct tri_option *row;
    int num = 0;
    for (int i = 0, k = 0; (row = next_idle(walk, TRI_OPTION_FROM_FLAG, &i, &k, other)); k++) {
        if (strcmp(cause, other) != 0)
            continue;
        if (i < b || (i == b && k < r))
            return 0;
        add_flag(out, row, walk->bindings[i].config);
        num++;
    }
    return num;
}

static void note_of_flags(const struct walk *walk)
{
    char cause[CAUSE_ROOM], flags[SUBJECT_ROOM];
    for (int b = 0, r = 0; next_idle(walk, TRI_OPTION_FROM_FLAG, &b, &r, cause); r++) {
        struct tri_option_text list;
        tri_option_text_init(&list, flags, sizeof(flags));
        int num = list_flags(walk, b, r, cause, &list);
        if (num > 0)
            tri_error_note(walk->err, "%s %s no effect: %s", flags, num > 1 ? "have" : "has",
                           cause);
    }
}

static void set_back(const struct walk *walk, enum tri_option_origin origin)
{
    char cause[CAUSE_ROOM];
    const struct tri_option *row;
    for (int b = 0, r = 0; (row = next_idle(walk, origin, &b, &r, cause)); r++)
        tri_option_set_default(row, walk->bindings[b].config);
}

void tri_option_drop_idle(const struct tri_option_binding *bindings, int num_bindings,
                          tri_error *err)
{
    const struct walk walk = {.bindings = bindings, .num_bindings = num_bindings, .err = err};
    note_of_file(&walk);
    note_of_flags(&walk);
    set_back(&walk, TRI_OPTION_FROM_FILE);
    set_back(&walk, TRI_OPTION_FROM_FLAG);
}
