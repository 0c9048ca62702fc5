/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error record: the messages that say what went wrong. One record belongs to one rank (or to
 * one request) and is used from one thread at a time. At run time the first message is kept, since
 * whoever first knows the cause writes it; checks of a request collect every problem.
 *
 * A message is lower case, has no full stop, names the problem first and the subject in single
 * quotes, and gives the value, the constraint and what would work.
 */
#pragma once

#include "trine/status.h"

#include <stdbool.h>

typedef struct tri_error tri_error;

/* Returns an empty record, or NULL when out of memory. The caller destroys it. */
tri_error *tri_error_create(void);
void tri_error_destroy(tri_error **err);

/* Notes a failure at run time: kept only if the record is empty. err may be NULL. Returns status,
   so that "return tri_error_set(...)" is the usual form. */
tri_status tri_error_set(tri_error *err, tri_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes one of several problems of a request: always appended. Returns status. */
tri_status tri_error_add(tri_error *err, tri_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes something the user should know that is no failure. */
void tri_error_note(tri_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The status of the first problem, TRI_OK if there is none. */
tri_status tri_error_status(const tri_error *err);
int tri_error_count(const tri_error *err);
/* Borrowed texts; "" when index is out of range. */
const char *tri_error_message(const tri_error *err, int index);
tri_status tri_error_status_at(const tri_error *err, int index);
int tri_error_note_count(const tri_error *err);
const char *tri_error_note_message(const tri_error *err, int index);
/* Forgets messages and notes. */
void tri_error_clear(tri_error *err);
/* Copies every message and note of from into err. */
void tri_error_append(tri_error *err, const tri_error *from);
