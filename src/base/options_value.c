/* SPDX-License-Identifier: Apache-2.0 */
/* Option values: from text to a field, with the checks of the row, and back to text. */
#include "base/options_inner.h"

#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SUBJECT_TEXT 512

/* "run.yaml:3:5: 'lr'", or "'--lr'" when the value came from a flag. */
static void option_subject(const struct tri_option *row, const char *where, char *subject)
{
    if (strncmp(where, "--", 2) == 0)
        snprintf(subject, SUBJECT_TEXT, "'%s'", where);
    else
        snprintf(subject, SUBJECT_TEXT, "%s: '%s'", where, row->name);
}

static bool is_none(const char *text)
{
    return strcasecmp(text, "none") == 0 || strcasecmp(text, "null") == 0 ||
           strcmp(text, "~") == 0 || text[0] == '\0';
}

void tri_option_range_text(const struct tri_option *row, char *buffer, size_t bytes)
{
    char low[TRI_NUMBER_TEXT], high[TRI_NUMBER_TEXT];
    tri_number_format_double(row->min, low);
    tri_number_format_double(row->max, high);
    bool has_low = isfinite(row->min), has_high = isfinite(row->max);
    if (row->min == 0 && row->max == 0)
        has_low = has_high = false;
    if (row->flags & TRI_OPTION_POSITIVE && !(has_low && row->min > 0)) {
        if (has_high)
            snprintf(buffer, bytes, "greater than 0, at most %s", high);
        else
            snprintf(buffer, bytes, "greater than 0");
    } else if (has_low && has_high) {
        snprintf(buffer, bytes, "from %s to %s", low, high);
    } else if (has_low) {
        snprintf(buffer, bytes, "%s or more", low);
    } else if (row->flags & TRI_OPTION_NON_NEGATIVE) {
        if (has_high)
            snprintf(buffer, bytes, "from 0 to %s", high);
        else
            snprintf(buffer, bytes, "0 or more");
    } else if (has_high) {
        snprintf(buffer, bytes, "at most %s", high);
    } else {
        snprintf(buffer, bytes, "%s", "");
    }
}

static bool option_in_range(const struct tri_option *row, double value)
{
    if (row->flags & TRI_OPTION_POSITIVE && !(value > 0))
        return false;
    if (row->flags & TRI_OPTION_NON_NEGATIVE && !(value >= 0))
        return false;
    if (isinf(value) && !(value > 0 ? row->max == value : row->min == value))
        return false;
    return (row->min == 0 && row->max == 0) || (value >= row->min && value <= row->max);
}

static tri_status option_check_number(const struct tri_option *row, double value, const char *text,
                                      const char *subject, tri_error *err)
{
    if (option_in_range(row, value))
        return TRI_OK;
    char range[96];
    tri_option_range_text(row, range, sizeof(range));
    return tri_error_add(err, TRI_INVALID, "%s is %s; use a number %s", subject, text,
                         range[0] ? range : "that is finite");
}

static tri_status option_read_int(const struct tri_option *row, const char *text,
                                  const char *subject, int64_t *value, tri_error *err)
{
    int64_t number;
    switch (tri_number_read_int(text, &number)) {
    case TRI_NUMBER_SYNTAX:
        return tri_error_add(err, TRI_INVALID,
                             "%s is '%s', which is no number; use a whole number, as 100, 1e2 or "
                             "10k",
                             subject, text);
    case TRI_NUMBER_WHOLE:
        return tri_error_add(err, TRI_INVALID, "%s is %s; use a whole number", subject, text);
    case TRI_NUMBER_RANGE:
        return tri_error_add(err, TRI_INVALID, "%s is %s, which does not fit into 64 bits", subject,
                             text);
    case TRI_NUMBER_OK:
        break;
    }
    TRI_TRY(option_check_number(row, (double)number, text, subject, err));
    *value = number;
    return TRI_OK;
}

static tri_status option_read_double(const struct tri_option *row, const char *text,
                                     const char *subject, double *value, tri_error *err)
{
    double number;
    enum tri_number_result result = tri_number_read_double(text, &number);
    if (result == TRI_NUMBER_RANGE)
        return tri_error_add(err, TRI_INVALID, "%s is %s, which is too large for a number", subject,
                             text);
    if (result != TRI_NUMBER_OK)
        return tri_error_add(err, TRI_INVALID, "%s is '%s'; use a number, as 0.1, 3e-4 or 10k",
                             subject, text);
    TRI_TRY(option_check_number(row, number, text, subject, err));
    *value = number;
    return TRI_OK;
}

static tri_status option_read_bool(const char *text, const char *subject, bool *value,
                                   tri_error *err)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *value = i % 2 == 1;
            return TRI_OK;
        }
    }
    return tri_error_add(err, TRI_INVALID, "%s is '%s'; use true or false", subject, text);
}

static int option_find_choice(const struct tri_option *row, const char *text)
{
    for (const char *const *pair = row->aliases; pair && pair[0]; pair += 2) {
        if (strcmp(pair[0], text) == 0)
            text = pair[1];
    }
    for (int i = 0; row->choices[i]; i++) {
        if (strcmp(row->choices[i], text) == 0)
            return i;
    }
    return -1;
}

static tri_status option_read_choice(const struct tri_option *row, const char *text,
                                     const char *subject, int64_t *value, tri_error *err)
{
    int index = option_find_choice(row, text);
    if (index >= 0) {
        *value = index;
        return TRI_OK;
    }
    char list[512];
    struct tri_option_text choices;
    tri_option_text_init(&choices, list, sizeof(list));
    const char *nearest = NULL;
    int best = tri_option_near(text) + 1;
    for (int i = 0; row->choices[i]; i++) {
        const char *separator = i == 0 ? "" : row->choices[i + 1] ? ", " : " or ";
        tri_option_text_add(&choices, "%s%s", separator, row->choices[i]);
        int distance = tri_option_distance(text, row->choices[i]);
        if (distance < best) {
            best = distance;
            nearest = row->choices[i];
        }
    }
    if (nearest)
        return tri_error_add(err, TRI_INVALID, "%s is '%s', did you mean '%s'? use %s", subject,
                             text, nearest, list);
    return tri_error_add(err, TRI_INVALID, "%s is '%s'; use %s", subject, text, list);
}

/* Run files and JSON hold nothing else, so a text that is no UTF-8 could not be written down. */
static bool text_is_utf8(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int more = *c < 0x80 ? 0 : *c >= 0xc2 && *c < 0xe0 ? 1 : *c >= 0xe0 && *c < 0xf0 ? 2 : 3;
        if ((*c >= 0x80 && *c < 0xc2) || *c > 0xf4)
            return false;
        if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
            (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
            return false;
        for (c++; more > 0; more--, c++) {
            if ((*c & 0xc0) != 0x80)
                return false;
        }
    }
    return true;
}

static tri_status option_check_utf8(const char *text, const char *subject, tri_error *err)
{
    if (text_is_utf8(text))
        return TRI_OK;
    return tri_error_add(err, TRI_INVALID, "%s is no UTF-8 text; use a name in UTF-8", subject);
}

static tri_status option_set_text(const struct tri_option *row, const char *text,
                                  const char *subject, char *field, tri_error *err)
{
    size_t length = strlen(text), room = tri_option_text_room(row);
    TRI_TRY(option_check_utf8(text, subject, err));
    if (length >= room)
        return tri_error_add(err, TRI_INVALID, "%s has %zu bytes; the limit is %zu", subject,
                             length, room - 1);
    memset(field, 0, room);
    memcpy(field, text, length);
    return TRI_OK;
}

static tri_status option_append_text(const char *key, const char *item, const char *subject,
                                     char *field, tri_error *err)
{
    size_t used = strlen(field), separator = used > 0;
    size_t key_bytes = key ? strlen(key) + 1 : 0;
    size_t length = strlen(item);
    TRI_TRY(option_check_utf8(item, subject, err));
    if (strchr(item, '\n') || (key && strpbrk(key, "=\n")))
        return tri_error_add(err, TRI_INVALID,
                             "%s has an item with a line break, or a key with '='; use neither",
                             subject);
    if (length + key_bytes == 0)
        return tri_error_add(err, TRI_INVALID, "%s has an empty item; leave it out", subject);
    if (used + separator + key_bytes + length >= TRI_OPTION_LONG_TEXT)
        return tri_error_add(err, TRI_UNSUPPORTED, "%s has more than %d bytes in all", subject,
                             TRI_OPTION_LONG_TEXT - 1);
    snprintf(field + used, TRI_OPTION_LONG_TEXT - used, "%s%s%s%s", separator ? "\n" : "",
             key ? key : "", key ? "=" : "", item);
    return TRI_OK;
}

static tri_status option_append_int(const struct tri_option *row, const char *item,
                                    const char *subject, struct tri_option_list *list,
                                    tri_error *err)
{
    if (list->num == TRI_OPTION_MAX_ITEMS)
        return tri_error_add(err, TRI_UNSUPPORTED, "%s has more than %d items", subject,
                             TRI_OPTION_MAX_ITEMS);
    TRI_TRY(option_read_int(row, item, subject, &list->value[list->num], err));
    list->num++;
    return TRI_OK;
}

/* Takes the item of a key out of a map. */
static void option_drop_key(char *field, const char *key, size_t length)
{
    for (char *item = field, *after; *item; item = after) {
        size_t bytes = strcspn(item, "\n");
        after = item + bytes + (item[bytes] == '\n');
        if (strncmp(item, key, length) != 0 || item[length] != '=')
            continue;
        bool is_last = *after == '\0', is_only = item == field;
        size_t rest = strlen(after);
        memmove(item, after, rest);
        memset(item + rest, 0, (size_t)(after - item));
        if (is_last && !is_only)
            item[-1] = '\0'; /* the line break before it */
        return;
    }
}

void tri_option_begin(const struct tri_option *row, void *config)
{
    if (row->type != TRI_OPTION_MAP)
        tri_option_unset(row, config);
}

tri_status tri_option_append(const struct tri_option *row, void *config, const char *key,
                             const char *item, const char *where, tri_error *err)
{
    char subject[SUBJECT_TEXT];
    option_subject(row, where, subject);
    if (row->type == TRI_OPTION_INTS)
        return option_append_int(row, item, subject, tri_option_field(row, config), err);
    if (row->type == TRI_OPTION_MAP && !key && !strchr(item, '='))
        return tri_error_add(err, TRI_INVALID, "%s has the item '%s'; use KEY=VALUE", subject,
                             item);
    if (row->type == TRI_OPTION_MAP)
        option_drop_key(tri_option_field(row, config), key ? key : item,
                        key ? strlen(key) : strcspn(item, "="));
    return option_append_text(key, item, subject, tri_option_field(row, config), err);
}

/* Items of a list that was given as one text: whole numbers by comma or blank, others by line. */
static tri_status option_set_list(const struct tri_option *row, void *config, const char *text,
                                  const char *where, tri_error *err)
{
    size_t length = strlen(text);
    bool is_flow = length >= 2 && ((text[0] == '[' && text[length - 1] == ']') ||
                                   (text[0] == '{' && text[length - 1] == '}'));
    if (is_flow)
        return tri_option_set_flow(row, config, text, where, err);
    if (is_none(text)) {
        tri_option_unset(row, config);
        return TRI_OK;
    }
    tri_option_begin(row, config);
    const char *separators = row->type == TRI_OPTION_INTS ? ", \t\n" : "\n";
    tri_status status = TRI_OK;
    char *item = strdup(text), *rest = item;
    TRI_CHECK(item, err, TRI_NOMEM, "out of memory while an option was read");
    for (char *part = strsep(&rest, separators); part; part = strsep(&rest, separators)) {
        if (*part == '\0')
            continue;
        status = tri_option_append(row, config, NULL, part, where, err);
        if (status != TRI_OK)
            break;
    }
    free(item);
    return status;
}

tri_status tri_option_set(const struct tri_option *row, void *config, const char *text,
                          const char *where, tri_error *err)
{
    void *field = tri_option_field(row, config);
    char subject[SUBJECT_TEXT];
    option_subject(row, where, subject);
    if (tri_option_is_list(row))
        return option_set_list(row, config, text, where, err);
    bool can_be_unset = !row->default_text || is_none(row->default_text);
    bool is_choice = row->type == TRI_OPTION_CHOICE && option_find_choice(row, text) >= 0;
    if (is_none(text) && row->type != TRI_OPTION_BOOL && !is_choice &&
        (can_be_unset || row->type == TRI_OPTION_STRING)) {
        tri_option_unset(row, config);
        return TRI_OK;
    }
    switch (row->type) {
    case TRI_OPTION_BOOL:
        return option_read_bool(text, subject, field, err);
    case TRI_OPTION_INT:
        return option_read_int(row, text, subject, field, err);
    case TRI_OPTION_DOUBLE:
        return option_read_double(row, text, subject, field, err);
    case TRI_OPTION_CHOICE:
        return option_read_choice(row, text, subject, field, err);
    case TRI_OPTION_STRING:
    case TRI_OPTION_JSON:
        return option_set_text(row, text, subject, field, err);
    case TRI_OPTION_STRINGS:
    case TRI_OPTION_INTS:
    case TRI_OPTION_MAP:
        break;
    }
    return TRI_BUG;
}
