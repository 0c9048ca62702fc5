/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of one kind of file each share: the explanation's inside, and how a reader adds to it. */
#pragma once

#include "base/arena.h"
#include "explain/explain.h"

#include <jansson.h>

/* One file of an explanation: its fields are those up to the next file's first. */
struct tri_explain_source {
    const char *path, *title;
    const char *note; /* what there is to know before its words; "" */
    int first_field;
};

struct tri_explanation {
    tri_arena *arena;
    struct tri_option_binding *bindings;
    int num_bindings;
    struct tri_explain_field *fields;
    int num_fields, room;
    struct tri_explain_source *sources;
    int num_sources;
    struct tri_explain_field nowhere; /* takes what there is no room for */
    int num_guesses;                  /* nearest names that were looked for */
    bool is_full;                     /* out of memory, or more fields than anybody reads */
};

/* A file being read. */
struct tri_explain_input {
    tri_explanation *out;
    const char *text, *path;
    size_t bytes;
    tri_error *err;
};

/* A kind of file: one file each, one row in kinds.c. */
struct tri_explain_kind {
    const char *name, *title;
    tri_status (*read)(struct tri_explain_input *input);
};
extern const struct tri_explain_kind tri_explain_run, tri_explain_hf, tri_explain_megatron;
extern const struct tri_explain_kind tri_explain_vllm, tri_explain_deepspeed;

/* Adds a field; texts are copied, and made printable. The field is written until the next one is added; never
   NULL. */
struct tri_explain_field *tri_explain_add(tri_explanation *out, enum tri_section section,
                                          enum tri_answer answer, const char *name,
                                          const char *value);
/* A copy of text that can be shown on one line: control characters and what is no UTF-8 become '?', a long rest
   "...". */
const char *tri_explain_printable(tri_explanation *out, const char *text);
/* Copies a printf-like text into the explanation's memory; "" when there is none left. */
const char *tri_explain_format(tri_explanation *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets option to text in the bindings and says so in field; a value that the row refuses turns field into
   TRI_REFUSED with the row's sentence. False when trine has no such option: nothing is changed. */
bool tri_explain_set(tri_explanation *out, struct tri_explain_field *field, const char *option,
                     const char *text);
/* The same for a list of values. */
bool tri_explain_set_list(tri_explanation *out, struct tri_explain_field *field, const char *option,
                          const char *const *values, int num);
/* The option's value as text; NULL when nobody has set it. */
const char *tri_explain_get(tri_explanation *out, const char *option);
/* Forgets that option was set. */
void tri_explain_unset(tri_explanation *out, const char *option);

/* DeepSpeed's stage of ZeRO, 0 to 3. */
void tri_explain_zero_stage(tri_explanation *out, struct tri_explain_field *field, int64_t stage);

/* Adds the field of a word with its values (num is 0 for a flag) and does what the word's row says. A word whose
   sets is "=" is left to the caller: true is returned, with the field in *field. */
bool tri_explain_word(tri_explanation *out, const struct tri_word_found *found, const char *name,
                      const char *const *values, int num, struct tri_explain_field **field);
/* Adds a word that vocabulary has not, with the nearest that it has; prefix is "--" or "". A word that is an
   option of trine's sets it. */
void tri_explain_unknown(tri_explanation *out, const struct tri_vocabulary *vocabulary,
                         const char *prefix, const char *name, const char *const *values, int num);

/* Explains an object by a vocabulary: keys of inner objects are joined with '.', unless a word names the whole.
   left is called for each word whose rule is the caller's; may be NULL. */
typedef void tri_explain_left(tri_explanation *out, struct tri_explain_field *field,
                              const char *name, const json_t *value);
void tri_explain_object(tri_explanation *out, const struct tri_vocabulary *vocabulary,
                        const json_t *object, tri_explain_left *left);

/* Reads JSON, or YAML as JSON; the caller ends *root with json_decref(). */
tri_status tri_explain_parse(struct tri_explain_input *input, json_t **root);
