/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the option machinery share; users include base/options.h. */
#pragma once

#include "base/options.h"

/* A fixed buffer that texts are appended to; what does not fit is cut and noted. */
struct tri_option_text {
    char *buffer;
    size_t room, used;
    bool is_cut;
};

void tri_option_text_init(struct tri_option_text *text, char *buffer, size_t room);
void tri_option_text_add(struct tri_option_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The field of row in config. */
void *tri_option_field(const struct tri_option *row, const void *config);
/* True for the three types that hold several items. */
bool tri_option_is_list(const struct tri_option *row);
/* Bytes of a text's field; 0: it is no text. */
size_t tri_option_text_room(const struct tri_option *row);
/* Sets a field to "nobody has set it": TRI_UNSET, NaN, "", no items; false for a bool. */
void tri_option_unset(const struct tri_option *row, void *config);
void tri_option_set_default(const struct tri_option *row, void *config);
bool tri_option_is_unset(const struct tri_option *row, const void *config);
/* Makes a list field ready for the items of one place: a list begins anew, a map keeps what it has. */
void tri_option_begin(const struct tri_option *row, void *config);
/* Appends one item to a list field; in a map it takes the place of what its key had, at the end. key is NULL
   unless the item was written as "key: value". TRI_UNSUPPORTED: the list is full, and further items would only
   say so again. */
tri_status tri_option_append(const struct tri_option *row, void *config, const char *key,
                             const char *item, const char *where, tri_error *err);
/* Sets a list field from YAML flow text: [a, b] or {a: b}. */
tri_status tri_option_set_flow(const struct tri_option *row, void *config, const char *text,
                               const char *where, tri_error *err);

/* "greater than 0", "from 0 to 1", ...; "" without a range. */
void tri_option_range_text(const struct tri_option *row, char *buffer, size_t bytes);
/* "only with load and without finetune"; "" without a condition. */
void tri_option_when_text(const struct tri_option *row, char *buffer, size_t bytes);
/* "--num-layers". */
void tri_option_flag_text(const struct tri_option *row, char *buffer, size_t bytes);
/* Appends the value as YAML: quoted where another reading would be possible. */
void tri_option_yaml(const struct tri_option *row, const void *config,
                     struct tri_option_text *text);
/* Number of single-character edits between a and b; large when either is longer than 63. */
int tri_option_distance(const char *a, const char *b);
/* Names that are at most this far apart count as near. */
int tri_option_near(const char *name);

/* A row found by name over all bindings; '-' and '_' are the same. */
struct tri_option_found {
    const struct tri_option *row; /* NULL: none */
    int index;                    /* of the row in its table */
    struct tri_option_binding *binding;
};
/* section NULL: any section. */
struct tri_option_found tri_option_lookup(const char *name, const char *section,
                                          struct tri_option_binding *bindings, int num_bindings);
enum tri_option_origin { TRI_OPTION_FROM_DEFAULT, TRI_OPTION_FROM_FILE, TRI_OPTION_FROM_FLAG };
void tri_option_note_origin(const struct tri_option_found *found, enum tri_option_origin origin);
