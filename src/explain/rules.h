/* SPDX-License-Identifier: Apache-2.0 */
/* What Megatron-LM's arguments mean together: counts in samples, tokenizers, and what it does when an argument is
   missing and trine would do something else. */
#pragma once

#include "explain/launcher.h"
#include "explain/record.h"

#define TRI_MEGATRON_COUNTED 7 /* arguments that count samples or tokens */

struct tri_megatron_rules {
    tri_explanation *out;
    bool has_groups, has_num_groups, has_per_token_loss, evaluates_nothing, has_no_positions;
    /* Fields whose meaning waits for the others: their number in the explanation, 0-based. */
    int groups_field, positions_field;
    struct {
        const char *value; /* NULL: not given */
        int field;
    } counted[TRI_MEGATRON_COUNTED];
    const char *tokenizer_type, *tokenizer_model;
    int model_field;
    struct tri_launcher launcher;
    bool is_launcher_told;
    int launcher_field;
    int64_t ranks;       /* 0: not known */
    const char *program; /* NULL: only words were found */
};

/* Keeps what a word says that the word's row leaves to rules. */
void tri_megatron_note(struct tri_megatron_rules *rules, const char *name,
                       struct tri_explain_field *field, const char *const *values, int num);
/* Notes that an argument with a row of its own was given. */
void tri_megatron_see(struct tri_megatron_rules *rules, const char *name, const char *const *values,
                      int num);
/* Says once how many ranks the launcher's words ask for, when they do. */
void tri_megatron_ranks(struct tri_megatron_rules *rules);
/* After the last argument. */
void tri_megatron_finish(struct tri_megatron_rules *rules);
