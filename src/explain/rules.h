/* SPDX-License-Identifier: Apache-2.0 */
/* What Megatron-LM's arguments mean together: counts in samples, tokenizers, and what it does when an argument is
   missing and trine would do something else. */
#pragma once

#include "explain/record.h"
#include "explain/shell.h"

#define TRI_MEGATRON_SAMPLES 4 /* arguments that count samples */

struct tri_megatron_rules {
    tri_explanation *out;
    bool has_groups, has_num_groups, has_per_token_loss, evaluates_nothing;
    /* Fields whose meaning waits for the others: their number in the explanation, 0-based. */
    int groups_field;
    struct {
        const char *option, *value;
        int field;
    } samples[TRI_MEGATRON_SAMPLES];
    int num_samples;
    const char *tokenizer_type, *tokenizer_model;
    int model_field;
};

/* Keeps what a word says that the word's row leaves to rules. */
void tri_megatron_note(struct tri_megatron_rules *rules, const char *name,
                       struct tri_explain_field *field, const char *const *values, int num);
/* Notes that an argument with a row of its own was given. */
void tri_megatron_see(struct tri_megatron_rules *rules, const char *name);
/* "torchrun --nproc_per_node 8 --nnodes 2": the number of ranks. */
void tri_megatron_launcher(struct tri_megatron_rules *rules, const struct tri_shell_words *words);
/* After the last argument. */
void tri_megatron_finish(struct tri_megatron_rules *rules);
