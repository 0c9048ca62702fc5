/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a configuration file of this or another program says, word by word: which of the questions a word
 * belongs to, its value, and what trine does with it. What trine understands is set in option bindings that
 * the caller gives (trine's run, with room for origins), so several files add up to one run. The kinds of
 * files are rows of kinds.c; words.h has the vocabularies.
 */
#pragma once

#include "base/options.h"
#include "explain/words.h"

#include <stdio.h>

struct tri_explain_field {
    const char *name;    /* as the file spells it */
    const char *value;   /* "" for a flag; cut where it is long */
    const char *becomes; /* "num_layers: 96", or "" */
    const char *why;     /* a sentence, or "" */
    enum tri_section section;
    enum tri_answer answer;
};

typedef struct tri_explanation tri_explanation;

/* bindings live longer than the explanation and have origins; what is understood is set in them. NULL when
   out of memory. */
tri_explanation *tri_explanation_create(struct tri_option_binding *bindings, int num_bindings);
void tri_explanation_destroy(tri_explanation **explanation);

/* Explains a file, or the config.json of a folder. kind is a name of tri_explain_kinds(), or NULL to tell it by
   the content. A file that cannot be read or is of no kind is a problem in err; what it says never is. Local. */
tri_status tri_explain_file(tri_explanation *explanation, const char *path, const char *kind,
                            tri_error *err);
/* The same from text already in memory; path stands for the file in messages. */
tri_status tri_explain_text(tri_explanation *explanation, const char *text, size_t bytes,
                            const char *path, const char *kind, tri_error *err);
/* "run, hf, megatron, vllm or deepspeed", for messages. */
const char *tri_explain_kinds(void);

int tri_explanation_num_fields(const tri_explanation *explanation);
const struct tri_explain_field *tri_explanation_field(const tri_explanation *explanation, int i);
/* Fields with that answer over all files. */
int tri_explanation_count(const tri_explanation *explanation, enum tri_answer answer);

void tri_explanation_print(FILE *out, const tri_explanation *explanation);
tri_status tri_explanation_print_json(FILE *out, const tri_explanation *explanation,
                                      tri_error *err);
/* The run file that says what was understood, with comments for the rest. */
void tri_explanation_print_run_file(FILE *out, const tri_explanation *explanation);
