/* SPDX-License-Identifier: Apache-2.0 */
/* A checking scanner for one line of JSON (json_line.h). */
#include "data/json_line.h"
#include "data/unicode.h"

#include <string.h>

enum { JSON_LINE_MAX_DEPTH = 512 };

struct scanner {
    const char *start, *at, *end;
    enum tri_json_line_problem problem;
    size_t problem_offset;
};

/* A string being decoded; text NULL: only checked. */
struct scanned_text {
    struct tri_bytes *text;
    bool lone_surrogate;
    size_t lone_offset;
};

static bool scan_fail(struct scanner *s, enum tri_json_line_problem problem)
{
    if (s->problem == TRI_JSON_LINE_OK) {
        s->problem = problem;
        s->problem_offset = (size_t)(s->at - s->start);
    }
    return false;
}

static void scan_space(struct scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool scan_word(struct scanner *s, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0)
        return false;
    s->at += length;
    return true;
}

static bool scan_char(struct scanner *s, char c)
{
    if (s->at < s->end && *s->at == c) {
        s->at++;
        return true;
    }
    return scan_fail(s, TRI_JSON_LINE_SYNTAX);
}

/* Four hexadecimal digits, the cursor on the first. */
static bool scan_hex(struct scanner *s, uint32_t *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        char c = s->at < s->end ? *s->at : 0;
        if (c >= '0' && c <= '9')
            *unit = *unit << 4 | (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            *unit = *unit << 4 | (uint32_t)((c | 32) - 'a' + 10);
        else
            return scan_fail(s, TRI_JSON_LINE_SYNTAX);
    }
    return true;
}

static bool scan_put(struct scanner *s, struct scanned_text *out, const char *bytes, size_t num)
{
    if (out->text && tri_bytes_append(out->text, bytes, num, NULL) != TRI_OK)
        return scan_fail(s, TRI_JSON_LINE_NOMEM);
    return true;
}

/* A backslash-u escape, and its second half when it is a surrogate pair. */
static bool scan_unicode(struct scanner *s, struct scanned_text *out)
{
    char bytes[4];
    uint32_t c, low;
    size_t offset = (size_t)(s->at - s->start);
    if (!scan_hex(s, &c))
        return false;
    if (c >= 0xd800 && c < 0xdc00 && s->end - s->at >= 2 && s->at[0] == '\\' && s->at[1] == 'u') {
        const char *second = s->at;
        s->at += 2;
        if (!scan_hex(s, &low))
            return false;
        if (low >= 0xdc00 && low < 0xe000)
            c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
        else
            s->at = second;
    }
    if (c >= 0xd800 && c < 0xe000) {
        if (!out->lone_surrogate)
            out->lone_offset = offset;
        out->lone_surrogate = true;
        c = 0xfffd;
    }
    return scan_put(s, out, bytes, (size_t)tri_utf8_encode(c, bytes));
}

static bool scan_escape(struct scanner *s, struct scanned_text *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *name = s->at < s->end && *s->at ? strchr(names, *s->at) : NULL;
    if (s->at < s->end && *s->at == 'u') {
        s->at++;
        return scan_unicode(s, out);
    }
    if (!name)
        return scan_fail(s, TRI_JSON_LINE_SYNTAX);
    s->at++;
    return scan_put(s, out, &values[name - names], 1);
}

static bool scan_string(struct scanner *s, struct scanned_text *out)
{
    if (!scan_char(s, '"'))
        return false;
    for (;;) {
        const char *run = s->at;
        while (s->at < s->end && *s->at != '"' && *s->at != '\\' && (unsigned char)*s->at >= ' ')
            s->at++;
        if (!scan_put(s, out, run, (size_t)(s->at - run)))
            return false;
        if (s->at == s->end || (unsigned char)*s->at < ' ')
            return scan_fail(s, TRI_JSON_LINE_SYNTAX);
        if (*s->at++ == '"')
            return true;
        if (!scan_escape(s, out))
            return false;
    }
}

static bool scan_digits(struct scanner *s)
{
    const char *first = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > first || scan_fail(s, TRI_JSON_LINE_SYNTAX);
}

static bool scan_number(struct scanner *s)
{
    if (*s->at == '-')
        s->at++;
    if (scan_word(s, "Infinity"))
        return true;
    if (s->at < s->end && *s->at == '0')
        s->at++;
    else if (!scan_digits(s))
        return false;
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!scan_digits(s))
            return false;
    }
    if (s->at < s->end && (*s->at | 32) == 'e') {
        s->at++;
        if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
            s->at++;
        return scan_digits(s);
    }
    return true;
}

static bool scan_scalar(struct scanner *s)
{
    struct scanned_text ignored = {0};
    if (s->at == s->end)
        return scan_fail(s, TRI_JSON_LINE_SYNTAX);
    if (*s->at == '"')
        return scan_string(s, &ignored);
    if (scan_word(s, "true") || scan_word(s, "false") || scan_word(s, "null") ||
        scan_word(s, "NaN"))
        return true;
    if (*s->at == '-' || *s->at == 'I' || (*s->at >= '0' && *s->at <= '9'))
        return scan_number(s);
    return scan_fail(s, TRI_JSON_LINE_SYNTAX);
}

/* The key and colon of an object's member. */
static bool scan_key(struct scanner *s)
{
    struct scanned_text ignored = {0};
    scan_space(s);
    if (!scan_string(s, &ignored))
        return false;
    scan_space(s);
    return scan_char(s, ':');
}

/* Any value, checked and passed over; no recursion. */
static bool scan_value(struct scanner *s)
{
    char open[JSON_LINE_MAX_DEPTH];
    int depth = 0;
    for (;;) {
        scan_space(s);
        if (s->at < s->end && (*s->at == '{' || *s->at == '[')) {
            if (depth == JSON_LINE_MAX_DEPTH)
                return scan_fail(s, TRI_JSON_LINE_SYNTAX);
            char kind = open[depth++] = *s->at++;
            scan_space(s);
            if (s->at < s->end && *s->at == (kind == '{' ? '}' : ']')) {
                s->at++;
                depth--;
            } else if (kind == '{' && !scan_key(s)) {
                return false;
            } else {
                continue;
            }
        } else if (!scan_scalar(s)) {
            return false;
        }
        for (;;) { /* a value has ended: close what it closes, or go on behind its comma */
            if (depth == 0)
                return true;
            char kind = open[depth - 1];
            scan_space(s);
            if (s->at < s->end && *s->at == ',') {
                s->at++;
                if (kind == '{' && !scan_key(s))
                    return false;
                break;
            }
            if (!scan_char(s, kind == '{' ? '}' : ']'))
                return false;
            depth--;
        }
    }
}

/* What is wrong with the wanted value itself is only reported when it turns out to be the last
   of its key and the line is sound. */
struct wanted_value {
    bool found;
    enum tri_json_line_problem problem;
    size_t offset;
};

static bool wanted_add_text(struct scanner *s, struct tri_json_line *value,
                            struct wanted_value *wanted)
{
    struct scanned_text text = {.text = &value->text};
    if (!scan_string(s, &text))
        return false;
    if (text.lone_surrogate && wanted->problem == TRI_JSON_LINE_OK) {
        wanted->problem = TRI_JSON_LINE_LONE_SURROGATE;
        wanted->offset = text.lone_offset;
    }
    if (value->text.num > INT32_MAX ||
        tri_ids_append(&value->ends, (int32_t)value->text.num, NULL) != TRI_OK)
        return scan_fail(s, TRI_JSON_LINE_NOMEM);
    return true;
}

static bool wanted_add_list(struct scanner *s, struct tri_json_line *value,
                            struct wanted_value *wanted)
{
    s->at++;
    scan_space(s);
    if (s->at < s->end && *s->at == ']') {
        s->at++;
        return true;
    }
    for (;;) {
        scan_space(s);
        if (s->at < s->end && *s->at == '"') {
            if (!wanted_add_text(s, value, wanted))
                return false;
        } else {
            wanted->problem = TRI_JSON_LINE_NOT_STRING;
            wanted->offset = (size_t)(s->at - s->start);
            if (!scan_value(s))
                return false;
        }
        scan_space(s);
        if (s->at < s->end && *s->at == ',')
            s->at++;
        else
            return scan_char(s, ']');
    }
}

static bool wanted_read(struct scanner *s, struct tri_json_line *value, struct wanted_value *wanted)
{
    value->text.num = 0;
    value->ends.num = 0;
    *wanted = (struct wanted_value){.found = true};
    scan_space(s);
    if (s->at < s->end && *s->at == '"')
        return wanted_add_text(s, value, wanted);
    if (s->at < s->end && *s->at == '[')
        return wanted_add_list(s, value, wanted);
    wanted->problem = TRI_JSON_LINE_NOT_STRING;
    wanted->offset = (size_t)(s->at - s->start);
    return scan_value(s);
}

/* Members up to the closing brace; the opening one is read. name is scratch for keys. */
static bool scan_members(struct scanner *s, const char *key, struct tri_json_line *value,
                         struct wanted_value *wanted, struct tri_bytes *name)
{
    scan_space(s);
    if (s->at < s->end && *s->at == '}') {
        s->at++;
        return true;
    }
    for (;;) {
        struct scanned_text text = {.text = name};
        name->num = 0;
        scan_space(s);
        if (!scan_string(s, &text))
            return false;
        scan_space(s);
        if (!scan_char(s, ':'))
            return false;
        bool is_wanted =
            name->num == strlen(key) && (name->num == 0 || memcmp(name->data, key, name->num) == 0);
        if (!(is_wanted ? wanted_read(s, value, wanted) : scan_value(s)))
            return false;
        scan_space(s);
        if (s->at < s->end && *s->at == ',')
            s->at++;
        else
            return scan_char(s, '}');
    }
}

enum tri_json_line_problem tri_json_line_read(const char *line, size_t bytes, const char *key,
                                              struct tri_json_line *value)
{
    struct scanner s = {.start = line, .at = line, .end = line + bytes};
    struct wanted_value wanted = {0};
    struct tri_bytes name = {0};
    value->text.num = 0;
    value->ends.num = 0;
    value->offset = tri_utf8_check(line, bytes);
    if (value->offset < bytes)
        return TRI_JSON_LINE_UTF8;
    scan_space(&s);
    bool is_object = s.at < s.end && *s.at == '{';
    bool sound;
    if (is_object) {
        s.at++;
        sound = scan_members(&s, key, value, &wanted, &name);
    } else {
        sound = scan_value(&s);
    }
    tri_bytes_fini(&name);
    scan_space(&s);
    if (sound && s.at < s.end)
        scan_fail(&s, TRI_JSON_LINE_SYNTAX);
    value->offset = s.problem_offset;
    if (s.problem != TRI_JSON_LINE_OK)
        return s.problem;
    value->offset = wanted.offset;
    if (!is_object)
        return TRI_JSON_LINE_NOT_OBJECT;
    return wanted.found ? wanted.problem : TRI_JSON_LINE_MISSING_KEY;
}

const char *tri_json_line_problem_text(enum tri_json_line_problem problem)
{
    switch (problem) {
    case TRI_JSON_LINE_OK:
        return "sound";
    case TRI_JSON_LINE_UTF8:
        return "broken UTF-8";
    case TRI_JSON_LINE_SYNTAX:
        return "no JSON";
    case TRI_JSON_LINE_NOT_OBJECT:
        return "JSON, but no object";
    case TRI_JSON_LINE_MISSING_KEY:
        return "the key is missing";
    case TRI_JSON_LINE_NOT_STRING:
        return "the value is neither a text nor a list of texts";
    case TRI_JSON_LINE_LONE_SURROGATE:
        return "the text holds half a surrogate pair";
    case TRI_JSON_LINE_NOMEM:
        break;
    }
    return "out of memory";
}

void tri_json_line_fini(struct tri_json_line *value)
{
    tri_bytes_fini(&value->text);
    tri_ids_fini(&value->ends);
}
