/* SPDX-License-Identifier: Apache-2.0 */
/* Converting regular expressions (regex_text.h): one pass that copies atoms and quantifiers. */
#include "data/regex_text.h"
#include "data/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGEX_MAX_DEPTH = 64 };

struct regex_reader {
    const char *pattern, *at;
    struct tri_bytes *out;
    size_t atom;                    /* where the last atom starts in out */
    size_t groups[REGEX_MAX_DEPTH]; /* where each open group starts */
    int depth;
    tri_error *err;
};

static tri_status regex_refuse(struct regex_reader *r, const char *what)
{
    return tri_error_set(r->err, TRI_UNSUPPORTED,
                         "regular expression '%s': %s at offset %d is not supported", r->pattern,
                         what, (int)(r->at - r->pattern));
}

static tri_status regex_put(struct regex_reader *r, const char *text, size_t bytes)
{
    return tri_bytes_append(r->out, text, bytes, r->err);
}

static tri_status regex_puts(struct regex_reader *r, const char *text)
{
    return regex_put(r, text, strlen(text));
}

struct regex_class {
    const char *name;
    int categories; /* of which newer ranges are added */
};

static const struct regex_class regex_classes[] = {
    {"L", TRI_UNICODE_L},
    {"Lu", TRI_UNICODE_LU},
    {"Ll", TRI_UNICODE_LL},
    {"Lt", TRI_UNICODE_LT},
    {"Lm", TRI_UNICODE_LM},
    {"Lo", TRI_UNICODE_LO},
    {"M", TRI_UNICODE_M},
    {"N", TRI_UNICODE_N},
    {"P", TRI_UNICODE_P},
    {"S", TRI_UNICODE_S},
    {"Nd", 0},
    {"Nl", 0},
    {"No", 0},
    {"Pc", 0},
    {"Z", 0},
    {"Zs", 0},
    {"Han", 0},
    {"Hiragana", 0},
    {"Katakana", 0},
    {"Hangul", 0},
};

/* Writes the members of one class for use between brackets. */
static tri_status regex_put_class(struct regex_reader *r, const struct regex_class *class)
{
    char text[64];
    snprintf(text, sizeof(text), "\\p{%s}", class->name);
    TRI_TRY(regex_puts(r, text));
    for (const struct tri_unicode_range *range = tri_unicode_newer; range->last; range++) {
        if (!(range->categories & class->categories))
            continue;
        snprintf(text, sizeof(text), "\\x{%x}-\\x{%x}", (unsigned)range->first,
                 (unsigned)range->last);
        TRI_TRY(regex_puts(r, text));
    }
    return TRI_OK;
}

static tri_status regex_put_space(struct regex_reader *r)
{
    return regex_puts(r, "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}"
                         "\\x{2029}\\x{202f}\\x{205f}\\x{3000}");
}

static tri_status regex_put_word(struct regex_reader *r)
{
    TRI_TRY(regex_put_class(r, &regex_classes[0]));
    TRI_TRY(regex_put_class(r, &regex_classes[6]));
    return regex_puts(r, "\\p{Nd}\\p{Pc}");
}

/* \p{Name} or \P{Name}, the cursor on the letter; leaves it behind the brace. */
static tri_status regex_read_property(struct regex_reader *r, const struct regex_class **class)
{
    const char *name = r->at + 2, *end = r->at[1] == '{' ? strchr(name, '}') : NULL;
    if (!end)
        return regex_refuse(r, "a property without braces");
    for (size_t i = 0; i < sizeof(regex_classes) / sizeof(*regex_classes); i++) {
        size_t length = strlen(regex_classes[i].name);
        if (length == (size_t)(end - name) && memcmp(regex_classes[i].name, name, length) == 0) {
            *class = &regex_classes[i];
            r->at = end + 1;
            return TRI_OK;
        }
    }
    return regex_refuse(r, "this property");
}

/* An escape that stands for a set: wraps its members in brackets unless it is inside some. */
static tri_status regex_read_set(struct regex_reader *r, bool inside, bool *is_set)
{
    const struct regex_class *class = NULL;
    char kind = *r->at, lower = (char)(kind | 32);
    *is_set = strchr("pswd", lower) != NULL;
    if (!*is_set)
        return TRI_OK;
    if (inside && kind != lower)
        return regex_refuse(r, "a negated set in brackets");
    if (!inside)
        TRI_TRY(regex_puts(r, kind == lower ? "[" : "[^"));
    if (lower == 'p')
        TRI_TRY(regex_read_property(r, &class));
    else
        r->at++;
    if (lower == 'p')
        TRI_TRY(regex_put_class(r, class));
    else if (lower == 's')
        TRI_TRY(regex_put_space(r));
    else if (lower == 'w')
        TRI_TRY(regex_put_word(r));
    else
        TRI_TRY(regex_puts(r, "\\p{Nd}"));
    return inside ? TRI_OK : regex_puts(r, "]");
}

/* The cursor is behind a backslash. */
static tri_status regex_read_escape(struct regex_reader *r, bool inside)
{
    bool is_set;
    char text[16];
    if (!*r->at)
        return regex_refuse(r, "a backslash at the end");
    TRI_TRY(regex_read_set(r, inside, &is_set));
    if (is_set)
        return TRI_OK;
    if (strchr("rntfv", *r->at)) {
        snprintf(text, sizeof(text), "\\x%02x",
                 *r->at == 'r'   ? 13u
                 : *r->at == 'n' ? 10u
                 : *r->at == 't' ? 9u
                 : *r->at == 'f' ? 12u
                                 : 11u);
        r->at++;
        return regex_puts(r, text);
    }
    if (*r->at == 'u' && strspn(r->at + 1, "0123456789abcdefABCDEF") >= 4) {
        snprintf(text, sizeof(text), "\\x{%.4s}", r->at + 1);
        r->at += 5;
        return regex_puts(r, text);
    }
    if (*r->at & 0x80 || (*r->at | 32) < 'a' || (*r->at | 32) > 'z') {
        if (*r->at >= '0' && *r->at <= '9')
            return regex_refuse(r, "a numbered escape");
        TRI_TRY(regex_put(r, r->at - 1, 2));
        r->at++;
        return TRI_OK;
    }
    return regex_refuse(r, "this escape");
}

/* The cursor is behind an opening bracket. */
static tri_status regex_read_brackets(struct regex_reader *r)
{
    TRI_TRY(regex_puts(r, "["));
    if (*r->at == '^') {
        TRI_TRY(regex_puts(r, "^"));
        r->at++;
    }
    if (*r->at == ']')
        return regex_refuse(r, "an empty set");
    while (*r->at && *r->at != ']') {
        if (*r->at == '[' || (r->at[0] == '&' && r->at[1] == '&'))
            return regex_refuse(r, "a set within a set");
        if (*r->at == '\\') {
            r->at++;
            TRI_TRY(regex_read_escape(r, true));
            continue;
        }
        TRI_TRY(regex_put(r, r->at++, 1));
    }
    if (!*r->at)
        return regex_refuse(r, "a set without its closing bracket");
    r->at++;
    return regex_puts(r, "]");
}

static tri_status regex_open_group(struct regex_reader *r)
{
    static const char *const kinds[] = {"?:", "?i:", "?=", "?!", "?<=", "?<!", "?>"};
    if (r->depth == REGEX_MAX_DEPTH)
        return regex_refuse(r, "nesting this deep");
    r->groups[r->depth++] = r->out->num;
    r->at++;
    if (*r->at != '?')
        return regex_puts(r, "(?:");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        size_t length = strlen(kinds[i]);
        if (strncmp(r->at, kinds[i], length) == 0) {
            TRI_TRY(regex_puts(r, "("));
            TRI_TRY(regex_put(r, r->at, length));
            r->at += length;
            return TRI_OK;
        }
    }
    return regex_refuse(r, "this kind of group");
}

static size_t regex_count_length(const char *at)
{
    size_t digits = strspn(at + 1, "0123456789,");
    return digits > 0 && at[1 + digits] == '}' ? digits + 2 : 0;
}

/* Copies a quantifier. After {n,m} a plus is a second quantifier, not possession. */
static tri_status regex_read_quantifier(struct regex_reader *r)
{
    size_t length = *r->at == '{' ? regex_count_length(r->at) : 1;
    bool counted = *r->at == '{';
    TRI_TRY(regex_put(r, r->at, length));
    r->at += length;
    if (*r->at == '?' || (*r->at == '+' && !counted)) {
        TRI_TRY(regex_put(r, r->at++, 1));
    } else if (*r->at == '+') {
        struct tri_bytes *out = r->out;
        TRI_TRY(regex_puts(r, "   "));
        memmove(out->data + r->atom + 3, out->data + r->atom, out->num - 3 - r->atom);
        memcpy(out->data + r->atom, "(?:", 3);
        TRI_TRY(regex_puts(r, ")+"));
        r->at++;
    }
    return TRI_OK;
}

static tri_status regex_read_atom(struct regex_reader *r)
{
    char c = *r->at;
    if (c == ')') {
        if (r->depth == 0)
            return regex_refuse(r, "a closing parenthesis too many");
        r->atom = r->groups[--r->depth];
        return regex_put(r, r->at++, 1);
    }
    r->atom = r->out->num;
    if (c == '(')
        return regex_open_group(r);
    r->at++;
    if (c == '[')
        return regex_read_brackets(r);
    if (c == '\\')
        return regex_read_escape(r, false);
    r->at--;
    size_t length = 1;
    while (r->at[length] && (r->at[length] & 0xc0) == 0x80)
        length++;
    TRI_TRY(regex_put(r, r->at, length));
    r->at += length;
    return TRI_OK;
}

tri_status tri_regex_text_convert(const char *pattern, struct tri_bytes *out, tri_error *err)
{
    struct regex_reader r = {.pattern = pattern, .at = pattern, .out = out, .err = err};
    while (*r.at) {
        bool counted = *r.at == '{' && regex_count_length(r.at) > 0;
        if (*r.at == '*' || *r.at == '+' || *r.at == '?' || counted)
            TRI_TRY(regex_read_quantifier(&r));
        else
            TRI_TRY(regex_read_atom(&r));
    }
    if (r.depth)
        return regex_refuse(&r, "the end inside a group");
    TRI_TRY(tri_bytes_append_byte(out, '\0', err));
    out->num--;
    return TRI_OK;
}
