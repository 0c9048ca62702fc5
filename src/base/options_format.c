/* SPDX-License-Identifier: Apache-2.0 */
/* Option values as text: for people, and as YAML that reads back to the same value. */
#include "base/options_inner.h"

#include "base/number.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Texts that a YAML reader takes for something else, or that this project takes for "unset". */
static bool text_has_meaning(const char *text, size_t length)
{
    static const char *const words[] = {"none", "null", "true", "false", "yes",
                                        "no",   "on",   "off",  "y",     "n"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i]) == length && strncasecmp(text, words[i], length) == 0)
            return true;
    }
    return false;
}

static bool text_is_plain(const char *text, size_t length)
{
    if (length == 0 || !isalpha((unsigned char)text[0]))
        return length > 0 && text[0] == '/' && text_is_plain(text + 1, length - 1);
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && !strchr("_./-+", text[i]))
            return false;
    }
    return !text_has_meaning(text, length);
}

/* The code point at text when YAML reads it as no character or as a line's end, *bytes is its length; else 0. */
static unsigned yaml_code(const unsigned char *text, size_t length, size_t *bytes)
{
    unsigned c = text[0];
    *bytes = 1;
    if (c < 0x20 || c == 0x7f)
        return c;
    if (length >= 2 && c == 0xc2 && text[1] <= 0x9f) {
        *bytes = 2;
        return text[1];
    }
    if (length < 3 || (c != 0xe2 && c != 0xef))
        return 0;
    *bytes = 3;
    unsigned code = (c & 15) << 12 | (text[1] & 63u) << 6 | (text[2] & 63u);
    return code == 0x2028 || code == 0x2029 || code == 0xfeff || code >= 0xfffe ? code : 0;
}

static void yaml_text(struct tri_option_text *out, const char *text, size_t length)
{
    if (text_is_plain(text, length)) {
        tri_option_text_add(out, "%.*s", (int)length, text);
        return;
    }
    tri_option_text_add(out, "\"");
    for (size_t i = 0, bytes; i < length; i += bytes) {
        const char *c = &text[i];
        unsigned code = yaml_code((const unsigned char *)c, length - i, &bytes);
        if (code)
            tri_option_text_add(out, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
        else
            tri_option_text_add(out, "%s%.*s", *c == '"' || *c == '\\' ? "\\" : "", (int)bytes, c);
    }
    tri_option_text_add(out, "\"");
}

/* items: separated by '\n'; a map's items are split at the first '='. */
static void yaml_items(struct tri_option_text *out, const char *items, bool is_map)
{
    tri_option_text_add(out, is_map ? "{" : "[");
    for (const char *item = items; *item;) {
        size_t length = strcspn(item, "\n");
        const char *equals = memchr(item, '=', length);
        if (item != items)
            tri_option_text_add(out, ", ");
        if (is_map && equals) {
            size_t key_length = (size_t)(equals - item);
            yaml_text(out, item, key_length);
            tri_option_text_add(out, ": ");
            yaml_text(out, equals + 1, length - key_length - 1);
        } else {
            yaml_text(out, item, length);
        }
        item += length + (item[length] == '\n');
    }
    tri_option_text_add(out, is_map ? "}" : "]");
}

static void yaml_ints(struct tri_option_text *out, const struct tri_option_list *list)
{
    tri_option_text_add(out, "[");
    for (int64_t i = 0; i < list->num; i++)
        tri_option_text_add(out, "%s%lld", i ? ", " : "", (long long)list->value[i]);
    tri_option_text_add(out, "]");
}

void tri_option_yaml(const struct tri_option *row, const void *config, struct tri_option_text *text)
{
    const void *field = tri_option_field(row, config);
    if (tri_option_is_unset(row, config)) {
        tri_option_text_add(text, "none");
        return;
    }
    switch (row->type) {
    case TRI_OPTION_BOOL:
        tri_option_text_add(text, *(const bool *)field ? "true" : "false");
        break;
    case TRI_OPTION_INT:
        tri_option_text_add(text, "%lld", (long long)*(const int64_t *)field);
        break;
    case TRI_OPTION_DOUBLE: {
        char number[TRI_NUMBER_TEXT];
        tri_number_format_double(*(const double *)field, number);
        tri_option_text_add(text, "%s", number);
        break;
    }
    case TRI_OPTION_CHOICE:
        tri_option_text_add(text, "%s", row->choices[*(const int64_t *)field]);
        break;
    case TRI_OPTION_STRING:
    case TRI_OPTION_JSON:
        yaml_text(text, field, strlen(field));
        break;
    case TRI_OPTION_STRINGS:
    case TRI_OPTION_MAP:
        yaml_items(text, field, row->type == TRI_OPTION_MAP);
        break;
    case TRI_OPTION_INTS:
        yaml_ints(text, field);
        break;
    }
}

void tri_option_format(const struct tri_option *row, const void *config, char *buffer, size_t bytes)
{
    bool is_text = row->type == TRI_OPTION_STRING || row->type == TRI_OPTION_JSON;
    if (is_text && !tri_option_is_unset(row, config)) {
        snprintf(buffer, bytes, "%s", (const char *)tri_option_field(row, config));
        return;
    }
    struct tri_option_text text;
    tri_option_text_init(&text, buffer, bytes);
    tri_option_yaml(row, config, &text);
}
