/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every argument of Megatron-LM's pretrain_gpt.py by name. One list per question; a name and its default are
 * Megatron-LM's, every sentence is about trine.
 */
#pragma once

#include "explain/words.h"

extern const struct tri_word_list tri_megatron_shape, tri_megatron_spec, tri_megatron_placement;
extern const struct tri_word_list tri_megatron_train, tri_megatron_data, tri_megatron_checkpoint;
extern const struct tri_word_list tri_megatron_logging, tri_megatron_other;

extern const struct tri_vocabulary tri_megatron_words;

/* Why trine has no option called name ("num_experts", "--num-experts") although Megatron-LM has: a sentence;
   NULL when it is no argument of Megatron-LM's either. */
const char *tri_megatron_why(const char *name);
