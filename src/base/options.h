/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option rows: the one machinery behind the run file, the flags, both levels of help, the run
 * header, the checkpoint's text and docs/OPTIONS.md. Each config struct has one const table of rows
 * that lives with its owner; no other place spells an option name. Names are Megatron-LM's
 * (num_layers in a file, --num-layers as a flag).
 *
 * A config struct owns nothing and is copied by value: numbers are int64_t, double or bool, texts
 * are char[TRI_OPTION_TEXT] (JSON: char[TRI_OPTION_JSON_TEXT]), lists are one text whose items are separated by '\n' (struct
 * tri_option_list for numbers).
 *
 * A row that acts only beside others says so in its condition: "load" (set, or true), "!finetune" (not),
 * "lr_decay_style=linear|cosine" (one of these values), "tensor_model_parallel_size>1". Terms with a blank
 * between them must all hold; "or" stands between alternatives. A term about a name that no binding has holds.
 */
#pragma once

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TRI_OPTION_TEXT      1024
#define TRI_OPTION_LONG_TEXT 8192
#define TRI_OPTION_JSON_TEXT 65536
#define TRI_OPTION_MAX_ITEMS 512
/* An integer nobody has set; a double nobody has set is NaN; a text nobody has set is "". */
#define TRI_UNSET INT64_MIN

enum tri_option_type {
    TRI_OPTION_BOOL,    /* bool */
    TRI_OPTION_INT,     /* int64_t; files and flags take k, m, g and 1e3 when exact */
    TRI_OPTION_DOUBLE,  /* double */
    TRI_OPTION_CHOICE,  /* int64_t: index into choices */
    TRI_OPTION_STRING,  /* char[TRI_OPTION_TEXT] */
    TRI_OPTION_STRINGS, /* char[TRI_OPTION_LONG_TEXT], items separated by '\n' */
    TRI_OPTION_INTS,    /* struct tri_option_list */
    TRI_OPTION_JSON,    /* char[TRI_OPTION_JSON_TEXT]: a text that its owner reads as JSON */
    TRI_OPTION_MAP,     /* char[TRI_OPTION_LONG_TEXT]: "key=value" items separated by '\n' */
};

struct tri_option_list {
    int64_t num;
    int64_t value[TRI_OPTION_MAX_ITEMS];
};

enum tri_option_flags {
    TRI_OPTION_POSITIVE = 1,     /* numbers: greater than zero */
    TRI_OPTION_NON_NEGATIVE = 2, /* numbers: zero or more */
    TRI_OPTION_HIDDEN = 4,       /* not in the short help */
    TRI_OPTION_NEEDS = 8,        /* where its condition does not hold it is refused, not noted */
};

struct tri_option {
    const char *name; /* with underscores, as in a run file */
    enum tri_option_type type;
    size_t offset;              /* of the field in the config struct */
    const char *default_text;   /* as a user would write it; NULL or "none": unset */
    double min, max;            /* numbers, inclusive; both 0: no range beyond the flags */
    const char *const *choices; /* CHOICE: NULL-ended names */
    const char *const *aliases; /* NULL, or pairs (alias, name) of choice names, NULL-ended */
    int flags;
    const char *unit; /* "tokens", "bytes", ... or NULL */
    const char *help; /* one sentence */
    const char *when; /* the condition under which it has an effect; NULL: always */
};

/* One section of the run file. */
struct tri_option_table {
    const char
        *section; /* "shape", "spec", "placement", "train", "data", "checkpoint", "" (flags) */
    const struct tri_option *rows;
    int num_rows;
    size_t struct_bytes;
    /* The row that "section: value" sets; NULL: the section must be a map. */
    const char *scalar_row;
};

/* Where a file gives an option; file is the name that the reader was given. */
struct tri_option_place {
    const char *file; /* NULL: nowhere */
    size_t line;
};

/* A table bound to the struct it fills. */
struct tri_option_binding {
    const struct tri_option_table *table;
    void *config;
    /* Where each row's value came from, num_rows entries, or NULL: 0 default, 1 file, 2 flag. */
    unsigned char *origin;
    struct tri_option_place *places; /* of what came from a file, num_rows entries, or NULL */
};

/* Fills config with the rows' defaults. Defaults are ours: a bad one is an assertion. */
void tri_option_set_defaults(const struct tri_option_table *table, void *config);

/* What Megatron-LM's options are, for those who write its names here. Names may have '-' or '_'. */
struct tri_option_megatron {
    /* Why there is no option called name although Megatron-LM has one: a sentence; NULL when
       Megatron-LM has none either. */
    const char *(*why)(const char *name);
    /* Whose that name is: "Megatron-LM", or programs near it. */
    const char *(*whose)(const char *name);
    /* Copies Megatron-LM's name nearest to name; false when none is near. */
    bool (*nearest)(const char *name, char *buffer, int bytes);
};

/* Reads the run file 'path' into the bindings. Every problem is added to err with file, line and
   column: unknown section or key (with the nearest known name, and the right section when the
   key lives elsewhere), a value of the wrong type or outside its range, a key given twice. A key
   that is itself a map (as spec.override) adds to a MAP row. A key of no table that megatron_why (may
   be NULL) knows gets "known to Megatron-LM, not to trine", and why. Local. */
tri_status tri_option_read_file(const char *path, struct tri_option_binding *bindings,
                                int num_bindings, const struct tri_option_megatron *megatron,
                                tri_error *err);
/* The same from text already in memory; name stands for the file in messages. */
tri_status tri_option_read_text(const char *text, size_t bytes, const char *name,
                                struct tri_option_binding *bindings, int num_bindings,
                                const struct tri_option_megatron *megatron, tri_error *err);

/* Reads flags: "--num-layers 3", "--num-layers=3", "--no-x", "--x" for booleans; lists take all
   words up to the next flag; what is given for a list replaces it, for a map it is added key by
   key; "--" ends options. Words that are no option are returned in order
   in positional (the caller gives room for argc pointers). All problems are added to err. A flag of
   no table that megatron (may be NULL) knows gets "known to Megatron-LM, not to trine", and
   why. */
tri_status tri_option_read_flags(int argc, char **argv, struct tri_option_binding *bindings,
                                 int num_bindings, const struct tri_option_megatron *megatron,
                                 const char **positional, int *num_positional, tri_error *err);

/* Sets one row from text, with the checks of its row; adds the keys to a map, where "none" takes all
   away; where says "file:line:column" or "--flag". */
tri_status tri_option_set(const struct tri_option *row, void *config, const char *text,
                          const char *where, tri_error *err);
/* Writes the value of row as a user would write it ("none" when unset) into buffer. */
void tri_option_format(const struct tri_option *row, const void *config, char *buffer,
                       size_t bytes);
/* True when the value equals the row's default. */
bool tri_option_is_default(const struct tri_option *row, const void *config);

/* Whether the row's condition holds in the bound configs. cause (may be NULL) gets why not, as
   "position_embedding_type is none". */
bool tri_option_has_effect(const struct tri_option *row, const struct tri_option_binding *bindings,
                           int num_bindings, char *cause, size_t bytes);
/* Notes every value that a file or a flag gave, that is not the default and that has no effect:
   "run.yaml:7: 'rotary_base' has no effect: position_embedding_type is none"; flags with one cause
   in one note. Then sets it back to the default, so that nothing depends on it. The bindings have
   origins. */
void tri_option_drop_idle(const struct tri_option_binding *bindings, int num_bindings,
                          tri_error *err);

const struct tri_option *tri_option_find(const struct tri_option_table *table, const char *name);
/* The known name nearest to name by edit distance over all bindings, or NULL if none is near. */
const char *tri_option_nearest(const char *name, const struct tri_option_binding *bindings,
                               int num_bindings);
/* "'--x' is known to Megatron-LM, not to trine (why); leave it out", or what to use instead; shown is name as it
   was written. False when megatron (may be NULL) does not know name. */
bool tri_option_foreign(const char *name, const char *shown,
                        const struct tri_option_megatron *megatron, char *buffer, size_t bytes);
/* What may be meant by a name that no table has, "'lr'" or "'--lr'" as it was written: the nearest
   option, or Megatron-LM's (megatron may be NULL) when that is nearer, "'recompute_activations',
   which Megatron-LM has and trine has not (why)"; false when none is near. */
bool tri_option_guess(const char *name, const struct tri_option_binding *bindings, int num_bindings,
                      const struct tri_option_megatron *megatron, char *buffer, size_t bytes);

/* Prints help: short_form is one screen, rows with their section, type, default, range and text. */
void tri_option_print_help(FILE *out, const struct tri_option_table *const *tables, int num_tables,
                           bool short_form);
/* Prints one row of that help in full. */
void tri_option_print_row(FILE *out, const struct tri_option *row);
/* The bindings as a run file that reads back to the same values; only_changed leaves out
   defaults. */
void tri_option_print_file(FILE *out, const struct tri_option_binding *bindings, int num_bindings,
                           bool only_changed);
/* A column of the option page that rows do not have themselves, in one section. */
struct tri_option_column {
    const char *section, *title;
    void (*format)(const struct tri_option_table *table, const struct tri_option *row, char *buffer,
                   size_t bytes);
};
/* The rows as the Markdown tables of docs/OPTIONS.md; columns ends with a section of NULL. */
void tri_option_print_markdown(FILE *out, const struct tri_option_table *const *tables,
                               int num_tables, const struct tri_option_column *columns);
