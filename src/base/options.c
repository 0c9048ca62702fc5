/* SPDX-License-Identifier: Apache-2.0 */
/* Option rows: finding them by name, their defaults, and names that are near. */
#include "base/options_inner.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define DISTANCE_MAX_CHARS 63

void tri_option_text_init(struct tri_option_text *text, char *buffer, size_t room)
{
    *text = (struct tri_option_text){.buffer = buffer, .room = room};
    if (room > 0)
        buffer[0] = '\0';
}

void tri_option_text_add(struct tri_option_text *text, const char *format, ...)
{
    if (text->used >= text->room) {
        text->is_cut = true;
        return;
    }
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->buffer + text->used, text->room - text->used, format, args);
    va_end(args);
    TRI_ASSERT(length >= 0);
    text->used += (size_t)length;
    if (text->used >= text->room) {
        text->used = text->room;
        text->is_cut = true;
    }
}

void *tri_option_field(const struct tri_option *row, const void *config)
{
    return (char *)(uintptr_t)config + row->offset;
}

bool tri_option_is_list(const struct tri_option *row)
{
    return row->type == TRI_OPTION_STRINGS || row->type == TRI_OPTION_INTS ||
           row->type == TRI_OPTION_MAP;
}

size_t tri_option_text_room(const struct tri_option *row)
{
    switch (row->type) {
    case TRI_OPTION_STRING:
        return TRI_OPTION_TEXT;
    case TRI_OPTION_STRINGS:
    case TRI_OPTION_MAP:
        return TRI_OPTION_LONG_TEXT;
    case TRI_OPTION_JSON:
        return TRI_OPTION_JSON_TEXT;
    case TRI_OPTION_BOOL:
    case TRI_OPTION_INT:
    case TRI_OPTION_DOUBLE:
    case TRI_OPTION_CHOICE:
    case TRI_OPTION_INTS:
        break;
    }
    return 0;
}

void tri_option_unset(const struct tri_option *row, void *config)
{
    void *field = tri_option_field(row, config);
    switch (row->type) {
    case TRI_OPTION_BOOL:
        *(bool *)field = false;
        break;
    case TRI_OPTION_INT:
    case TRI_OPTION_CHOICE:
        *(int64_t *)field = TRI_UNSET;
        break;
    case TRI_OPTION_DOUBLE:
        *(double *)field = (double)NAN;
        break;
    case TRI_OPTION_STRING:
    case TRI_OPTION_STRINGS:
    case TRI_OPTION_JSON:
    case TRI_OPTION_MAP:
        memset(field, 0, tri_option_text_room(row));
        break;
    case TRI_OPTION_INTS:
        memset(field, 0, sizeof(struct tri_option_list));
        break;
    }
}

bool tri_option_is_unset(const struct tri_option *row, const void *config)
{
    const void *field = tri_option_field(row, config);
    switch (row->type) {
    case TRI_OPTION_BOOL:
        return false;
    case TRI_OPTION_INT:
    case TRI_OPTION_CHOICE:
        return *(const int64_t *)field == TRI_UNSET;
    case TRI_OPTION_DOUBLE:
        return isnan(*(const double *)field);
    case TRI_OPTION_STRING:
    case TRI_OPTION_STRINGS:
    case TRI_OPTION_JSON:
    case TRI_OPTION_MAP:
        return *(const char *)field == '\0';
    case TRI_OPTION_INTS:
        return ((const struct tri_option_list *)field)->num == 0;
    }
    return false;
}

void tri_option_set_default(const struct tri_option *row, void *config)
{
    tri_option_unset(row, config);
    if (row->default_text)
        TRI_ASSERT(tri_option_set(row, config, row->default_text, row->name, NULL) == TRI_OK);
}

void tri_option_set_defaults(const struct tri_option_table *table, void *config)
{
    for (int i = 0; i < table->num_rows; i++)
        tri_option_set_default(&table->rows[i], config);
}

bool tri_option_is_default(const struct tri_option *row, const void *config)
{
    union {
        int64_t number;
        struct tri_option_list list;
        char text[TRI_OPTION_JSON_TEXT];
    } value;
    struct tri_option alone = *row;
    alone.offset = 0;
    tri_option_set_default(&alone, &value);
    const void *field = tri_option_field(row, config);
    bool both_unset = tri_option_is_unset(row, config) && tri_option_is_unset(&alone, &value);
    switch (row->type) {
    case TRI_OPTION_BOOL:
        return *(const bool *)field == *(const bool *)&value;
    case TRI_OPTION_INT:
    case TRI_OPTION_CHOICE:
        return *(const int64_t *)field == value.number;
    case TRI_OPTION_DOUBLE:
        return both_unset || *(const double *)field == *(const double *)&value;
    case TRI_OPTION_STRING:
    case TRI_OPTION_STRINGS:
    case TRI_OPTION_JSON:
    case TRI_OPTION_MAP:
        return strcmp(field, value.text) == 0;
    case TRI_OPTION_INTS: {
        const struct tri_option_list *list = field;
        size_t bytes = (size_t)value.list.num * sizeof(int64_t);
        return list->num == value.list.num && memcmp(list->value, value.list.value, bytes) == 0;
    }
    }
    return false;
}

static bool option_names_equal(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char left = *a == '-' ? '_' : *a, right = *b == '-' ? '_' : *b;
        if (left != right)
            return false;
    }
    return *a == *b;
}

const struct tri_option *tri_option_find(const struct tri_option_table *table, const char *name)
{
    for (int i = 0; i < table->num_rows; i++) {
        if (option_names_equal(table->rows[i].name, name))
            return &table->rows[i];
    }
    return NULL;
}

struct tri_option_found tri_option_lookup(const char *name, const char *section,
                                          struct tri_option_binding *bindings, int num_bindings)
{
    for (int b = 0; b < num_bindings; b++) {
        const struct tri_option_table *table = bindings[b].table;
        if (section && strcmp(table->section, section) != 0)
            continue;
        const struct tri_option *row = tri_option_find(table, name);
        if (row)
            return (struct tri_option_found){row, (int)(row - table->rows), &bindings[b]};
    }
    return (struct tri_option_found){0};
}

void tri_option_note_origin(const struct tri_option_found *found, enum tri_option_origin origin)
{
    if (found->binding->origin)
        found->binding->origin[found->index] = (unsigned char)origin;
}

static int smallest(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

int tri_option_distance(const char *a, const char *b)
{
    size_t num_a = strlen(a), num_b = strlen(b);
    if (num_a > DISTANCE_MAX_CHARS || num_b > DISTANCE_MAX_CHARS)
        return 1000;
    /* row[j]: edits between the first i characters of a and the first j of b */
    int row[DISTANCE_MAX_CHARS + 1];
    for (size_t j = 0; j <= num_b; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= num_a; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= num_b; j++) {
            int above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[num_b];
}

int tri_option_near(const char *name)
{
    size_t third = strlen(name) / 3;
    return third < 1 ? 1 : third > 6 ? 6 : (int)third;
}

/* Copies name with joint between its words: num_layers, num-layers. */
static void respell(char *buffer, size_t bytes, const char *name, char joint)
{
    snprintf(buffer, bytes, "%s", name);
    for (char *c = buffer; *c; c++)
        *c = *c == '-' || *c == '_' ? joint : *c;
}

const char *tri_option_nearest(const char *name, const struct tri_option_binding *bindings,
                               int num_bindings)
{
    char plain[DISTANCE_MAX_CHARS + 1];
    if (strlen(name) > DISTANCE_MAX_CHARS)
        return NULL;
    respell(plain, sizeof(plain), name, '_');
    const char *best = NULL;
    int best_distance = tri_option_near(name) + 1;
    for (int b = 0; b < num_bindings; b++) {
        const struct tri_option_table *table = bindings[b].table;
        for (int i = 0; i < table->num_rows; i++) {
            int distance = tri_option_distance(plain, table->rows[i].name);
            if (distance < best_distance) {
                best_distance = distance;
                best = table->rows[i].name;
            }
        }
    }
    return best;
}

/* Edits between two names whose words may be joined in other ways. */
static int name_distance(const char *a, const char *b)
{
    char left[DISTANCE_MAX_CHARS + 1], right[DISTANCE_MAX_CHARS + 1];
    respell(left, sizeof(left), a, '_');
    respell(right, sizeof(right), b, '_');
    return tri_option_distance(left, right);
}

bool tri_option_foreign(const char *name, const char *shown,
                        const struct tri_option_megatron *megatron, char *buffer, size_t bytes)
{
    const char *why = megatron ? megatron->why(name) : NULL;
    if (!why)
        return false;
    bool has_way = strncmp(why, "use --", 6) == 0, says_all = strstr(why, "leave it out");
    snprintf(buffer, bytes, "'%s' is known to %s, not to trine%s%s%s%s", shown,
             megatron->whose(name), has_way ? "; " : " (", why, has_way ? "" : ")",
             has_way || says_all ? "" : "; leave it out");
    return true;
}

bool tri_option_guess(const char *name, const struct tri_option_binding *bindings, int num_bindings,
                      const struct tri_option_megatron *megatron, char *buffer, size_t bytes)
{
    char theirs[DISTANCE_MAX_CHARS + 1], spelled[DISTANCE_MAX_CHARS + 1];
    const char *dashes = strncmp(name, "--", 2) == 0 ? "--" : "";
    name += strlen(dashes);
    const char *ours = tri_option_nearest(name, bindings, num_bindings);
    const char *why = NULL;
    if (megatron && strlen(name) <= DISTANCE_MAX_CHARS &&
        megatron->nearest(name, theirs, sizeof(theirs)) &&
        (!ours || name_distance(name, theirs) < name_distance(name, ours)))
        why = megatron->why(theirs);
    if (!ours && !why)
        return false;
    respell(spelled, sizeof(spelled), why ? theirs : ours, dashes[0] ? '-' : '_');
    if (why)
        snprintf(buffer, bytes, "'%s%s', which %s has and trine has not (%s)", dashes, spelled,
                 megatron->whose(theirs), why);
    else
        snprintf(buffer, bytes, "'%s%s'", dashes, spelled);
    return true;
}
