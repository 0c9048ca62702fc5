/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of option rows for tests: what to set so that one holds, and so that it does not. */
#pragma once

#include "base/options_inner.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TERMS = 8, TERM_TEXT = 128 };

/* One thing that a row's first alternative asks of another option. */
struct condition_term {
    char name[TERM_TEXT];
    bool is_negated;
    char relation; /* '=', '>' or 0 */
    char values[TERM_TEXT];
};

/* The terms up to the first "or". */
static inline int condition_terms(const struct tri_option *row, struct condition_term *terms)
{
    char text[512];
    int num = 0;
    snprintf(text, sizeof text, "%s", row->when);
    for (char *rest = text, *word; (word = strsep(&rest, " ")) && strcmp(word, "or") != 0;) {
        struct condition_term *term = &terms[num++];
        *term = (struct condition_term){.is_negated = word[0] == '!'};
        word += term->is_negated;
        size_t length = strcspn(word, "=>");
        term->relation = word[length];
        snprintf(term->values, sizeof term->values, "%s", term->relation ? word + length + 1 : "");
        snprintf(term->name, sizeof term->name, "%.*s", (int)length, word);
    }
    return num;
}

/* A value of row that is no default, as a user would write it. */
static inline void some_value(const struct tri_option *row, char *text, size_t bytes)
{
    static const char *const values[] = {
        [TRI_OPTION_INT] = "2",         [TRI_OPTION_DOUBLE] = "0.5", [TRI_OPTION_STRING] = "there",
        [TRI_OPTION_STRINGS] = "there", [TRI_OPTION_INTS] = "3, 0",  [TRI_OPTION_MAP] = "a=b",
        [TRI_OPTION_JSON] = "{}",
    };
    bool is_on = row->default_text && strcmp(row->default_text, "true") == 0;
    if (row->type == TRI_OPTION_BOOL)
        snprintf(text, bytes, "%s", is_on ? "false" : "true");
    else if (row->type == TRI_OPTION_CHOICE)
        snprintf(text, bytes, "%s",
                 row->choices[strcmp(row->choices[0], row->default_text) == 0 ? 1 : 0]);
    else
        snprintf(text, bytes, "%s", values[row->type]);
}

static inline bool is_listed(const char *values, const char *value)
{
    size_t length = strlen(value);
    for (const char *at = values; (at = strstr(at, value)); at += length)
        if ((at == values || at[-1] == '|') && (at[length] == '|' || at[length] == '\0'))
            return true;
    return false;
}

/* Number i of the choices that the term does not list; NULL past the last. */
static inline const char *unlisted(const struct tri_option *row, const char *values, int i)
{
    for (const char *const *choice = row->choices; *choice; choice++)
        if (!is_listed(values, *choice) && i-- == 0)
            return *choice;
    return NULL;
}

/* Sets the option that term is about, as if by no user, so that the term holds or does not; false when it has
   no such way not to hold. */
static inline bool set_term(const struct condition_term *term, bool holds, int way,
                            struct tri_option_binding *bindings, int num)
{
    char text[TERM_TEXT];
    struct tri_option_found found = tri_option_lookup(term->name, NULL, bindings, num);
    TRI_ASSERT(found.row);
    if (!holds && (term->relation == '=' ? !unlisted(found.row, term->values, way) : way > 0))
        return false;
    if (term->relation == '=')
        snprintf(text, sizeof text, "%.*s", holds ? (int)strcspn(term->values, "|") : TERM_TEXT - 1,
                 holds ? term->values : unlisted(found.row, term->values, way));
    else if (term->relation == '>')
        snprintf(text, sizeof text, "%d", (int)strtol(term->values, NULL, 10) + holds);
    else if (holds == term->is_negated)
        snprintf(text, sizeof text, "%s",
                 found.row->default_text ? found.row->default_text : "none");
    else
        some_value(found.row, text, sizeof text);
    if (!term->relation && found.row->type == TRI_OPTION_BOOL)
        snprintf(text, sizeof text, "%s", holds != term->is_negated ? "true" : "false");
    tri_status status = tri_option_set(found.row, found.binding->config, text, term->name, NULL);
    TRI_ASSERT(status == TRI_OK);
    return true;
}

/* Sets what row's condition asks for, but the term number 'broken' the other way round (-1: none), in the way of
   that number; false when there is no such way. */
static inline bool set_terms(const struct tri_option *row, int broken, int way,
                             struct tri_option_binding *bindings, int num)
{
    struct condition_term terms[MAX_TERMS];
    int num_terms = condition_terms(row, terms);
    bool is_set = true;
    for (int t = 0; t < num_terms; t++)
        is_set = set_term(&terms[t], t != broken, way, bindings, num) && is_set;
    return is_set;
}
