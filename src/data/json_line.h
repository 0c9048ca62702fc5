/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one line of a JSONL file: checks the whole line by the rules of Python's json module (what
 * the field's own tools accept: NaN and Infinity are, trailing commas and raw control characters
 * are not) and takes out the text of one top-level key. The last of several equal keys counts.
 * Nothing is built in memory but that text.
 */
#pragma once

#include "data/buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum tri_json_line_problem {
    TRI_JSON_LINE_OK,
    TRI_JSON_LINE_UTF8,       /* broken UTF-8 */
    TRI_JSON_LINE_SYNTAX,     /* no JSON */
    TRI_JSON_LINE_NOT_OBJECT, /* JSON, but no object */
    TRI_JSON_LINE_MISSING_KEY,
    TRI_JSON_LINE_NOT_STRING,     /* the value is neither a text nor a list of texts */
    TRI_JSON_LINE_LONE_SURROGATE, /* the text holds half a surrogate pair, which is no character */
    TRI_JSON_LINE_NOMEM
};

/* The value of the key: one text, or several when it is a list. */
struct tri_json_line {
    struct tri_bytes text; /* all texts, one behind the other */
    struct tri_ids ends;   /* where each ends in text */
    size_t offset;         /* of the problem in the line, in bytes from 0 */
};

/* Reads line[0, bytes). value is emptied first and keeps its memory. */
enum tri_json_line_problem tri_json_line_read(const char *line, size_t bytes, const char *key,
                                              struct tri_json_line *value);
/* "no JSON", "the key is missing", ... */
const char *tri_json_line_problem_text(enum tri_json_line_problem problem);
void tri_json_line_fini(struct tri_json_line *value);
