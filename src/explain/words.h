/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of another program: what each is, which question it belongs to, and what trine does with it.
 * A vocabulary is const data in lists by section. A word names the options it sets; whether trine has
 * them is asked of the option rows when a file is explained, so a new option row needs no change here.
 */
#pragma once

#include <stdbool.h>

enum tri_section {
    TRI_SECTION_SHAPE,
    TRI_SECTION_SPEC,
    TRI_SECTION_PLACEMENT,
    TRI_SECTION_TRAIN,
    TRI_SECTION_DATA,
    TRI_SECTION_CHECKPOINT,
    TRI_SECTION_LOGGING,
    TRI_SECTION_OTHER,
    TRI_NUM_SECTIONS
};
/* "shape", ... */
const char *tri_section_name(enum tri_section section);
/* The section called name; TRI_SECTION_OTHER when there is none. */
enum tri_section tri_section_find(const char *name);

enum tri_answer {
    TRI_UNDERSTOOD, /* it becomes options of the same meaning */
    TRI_DIFFERS,    /* trine does it another way, or with another result */
    TRI_NO_EFFECT,  /* nothing that trine computes depends on it */
    TRI_LATER,      /* refused: not built yet */
    TRI_REFUSED,    /* refused for good, or its value is wrong */
    TRI_UNKNOWN,    /* no word of the vocabulary */
    TRI_NUM_ANSWERS
};
/* "understood", ... */
const char *tri_answer_name(enum tri_answer answer);

enum tri_word_kind {
    TRI_WORD_FLAG,
    TRI_WORD_NEGATED, /* a flag that turns off what is on by default */
    TRI_WORD_VALUE,
    TRI_WORD_LIST, /* any number of values */
};

struct tri_word {
    const char *names; /* separated by blanks, the usual one first; '*' at the end: any rest */
    enum tri_word_kind kind;
    enum tri_answer answer;
    const char *
        preset; /* the other program's default; NULL: none. A refused word with this value is fine */
    /* NULL; "option": gets the value; "option=value option=value": constants,
       and an option without '=' gets the value; "=": a rule of the reader. When
       trine has no such option, the answer is TRI_LATER. */
    const char *sets;
    const char *why; /* why it differs, is refused, or is not there yet; may be NULL */
};

struct tri_word_list {
    enum tri_section section;
    const struct tri_word *words;
    int num;
    bool is_never_guessed; /* nobody who misspells a word means one of these */
};

struct tri_vocabulary {
    const char *title;                        /* "a Megatron-LM argument list" */
    const char *unknown;                      /* why a word that is not here is unknown */
    const struct tri_word_list *const *lists; /* NULL-ended */
};

struct tri_word_found {
    const struct tri_word *word; /* NULL: none */
    enum tri_section section;
};
/* '-' and '_' are the same. */
struct tri_word_found tri_word_find(const struct tri_vocabulary *vocabulary, const char *name);
/* Copies the nearest name to buffer; false when none is near. */
bool tri_word_nearest(const struct tri_vocabulary *vocabulary, const char *name, char *buffer,
                      int bytes);
