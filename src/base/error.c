/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error record: two growing lists of texts, problems with a status and notes without. When
 * memory runs out while a message is made, a fixed text takes its place, so that a failure is never
 * lost.
 */
#include "base/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct error_entry {
    tri_status status;
    char *text; /* owned; NULL: there was no memory for it */
};

struct error_list {
    struct error_entry *entries;
    int num, room;
    tri_status lost; /* status of an entry for which the list itself found no memory */
};

struct tri_error {
    struct error_list problems;
    struct error_list notes;
};

static const char text_lost[] = "out of memory while a message was written";

tri_error *tri_error_create(void)
{
    return calloc(1, sizeof(tri_error));
}

static void error_list_clear(struct error_list *list)
{
    for (int i = 0; i < list->num; i++)
        free(list->entries[i].text);
    free(list->entries);
    *list = (struct error_list){0};
}

void tri_error_destroy(tri_error **err)
{
    if (!*err)
        return;
    tri_error_clear(*err);
    free(*err);
    *err = NULL;
}

static void error_list_push(struct error_list *list, tri_status status, char *text)
{
    if (list->num == list->room) {
        int room = list->room ? 2 * list->room : 4;
        struct error_entry *entries = realloc(list->entries, (size_t)room * sizeof(*entries));
        if (!entries) {
            if (list->lost == TRI_OK)
                list->lost = status;
            free(text);
            return;
        }
        list->entries = entries;
        list->room = room;
    }
    list->entries[list->num++] = (struct error_entry){.status = status, .text = text};
}

/* A message is one line, and what it quotes from a file or flag paints no terminal. */
static char *error_format(const char *format, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        return NULL;
    for (unsigned char *c = (unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            *c = *c == '\t' ? ' ' : '?';
    return text;
}

tri_status tri_error_set(tri_error *err, tri_status status, const char *format, ...)
{
    if (!err || tri_error_status(err) != TRI_OK)
        return status;
    va_list args;
    va_start(args, format);
    error_list_push(&err->problems, status, error_format(format, args));
    va_end(args);
    return status;
}

tri_status tri_error_add(tri_error *err, tri_status status, const char *format, ...)
{
    if (!err)
        return status;
    va_list args;
    va_start(args, format);
    error_list_push(&err->problems, status, error_format(format, args));
    va_end(args);
    return status;
}

void tri_error_note(tri_error *err, const char *format, ...)
{
    if (!err)
        return;
    va_list args;
    va_start(args, format);
    error_list_push(&err->notes, TRI_OK, error_format(format, args));
    va_end(args);
}

tri_status tri_error_status(const tri_error *err)
{
    if (!err)
        return TRI_OK;
    return err->problems.num > 0 ? err->problems.entries[0].status : err->problems.lost;
}

int tri_error_count(const tri_error *err)
{
    return err ? err->problems.num + (err->problems.lost != TRI_OK) : 0;
}

static const char *error_list_text(const struct error_list *list, int index)
{
    if (index == list->num && list->lost != TRI_OK)
        return text_lost;
    if (index < 0 || index >= list->num)
        return "";
    return list->entries[index].text ? list->entries[index].text : text_lost;
}

const char *tri_error_message(const tri_error *err, int index)
{
    return err ? error_list_text(&err->problems, index) : "";
}

tri_status tri_error_status_at(const tri_error *err, int index)
{
    if (!err || index < 0 || index > err->problems.num)
        return TRI_OK;
    return index < err->problems.num ? err->problems.entries[index].status : err->problems.lost;
}

int tri_error_note_count(const tri_error *err)
{
    return err ? err->notes.num : 0;
}

const char *tri_error_note_message(const tri_error *err, int index)
{
    return err ? error_list_text(&err->notes, index) : "";
}

void tri_error_clear(tri_error *err)
{
    if (!err)
        return;
    error_list_clear(&err->problems);
    error_list_clear(&err->notes);
}

static void error_list_append(struct error_list *list, const struct error_list *from)
{
    int num = from->num; /* from may be list itself */
    for (int i = 0; i < num; i++) {
        const char *text = from->entries[i].text;
        error_list_push(list, from->entries[i].status, text ? strdup(text) : NULL);
    }
    if (list->lost == TRI_OK)
        list->lost = from->lost;
}

void tri_error_append(tri_error *err, const tri_error *from)
{
    if (!err || !from)
        return;
    error_list_append(&err->problems, &from->problems);
    error_list_append(&err->notes, &from->notes);
}
