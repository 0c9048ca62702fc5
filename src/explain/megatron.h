/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every argument of Megatron-LM's pretrain_gpt.py by name: today's, one list per question; those that it took once,
 * those of programs derived from it, and those of the programs beside it. A name and its default are Megatron-LM's,
 * every sentence is about trine.
 */
#pragma once

#include "base/options.h"
#include "explain/words.h"

extern const struct tri_word_list tri_megatron_shape, tri_megatron_spec, tri_megatron_placement;
extern const struct tri_word_list tri_megatron_train, tri_megatron_data, tri_megatron_checkpoint;
extern const struct tri_word_list tri_megatron_logging, tri_megatron_other;

extern const struct tri_word_list tri_megatron_past[TRI_NUM_SECTIONS];
extern const struct tri_word_list tri_megatron_forks[TRI_NUM_SECTIONS - 1];
extern const struct tri_word_list tri_megatron_programs[2];

extern const struct tri_vocabulary tri_megatron_words;

/* Why trine has no option called name ("num_experts", "--num-experts") although Megatron-LM has: a sentence;
   NULL when it is no argument of Megatron-LM's either. */
const char *tri_megatron_why(const char *name);
/* Whose argument it is: "Megatron-LM", or its earlier versions, its forks, its other programs. */
const char *tri_megatron_whose(const char *name);
/* The same and the nearest name, for the readers of options. */
extern const struct tri_option_megatron tri_megatron_options;

/* What a Python script of that name is for, "" when that is not known; NULL when it is pretrain_gpt.py. */
const char *tri_megatron_program(const char *script);
