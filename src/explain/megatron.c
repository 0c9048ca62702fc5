/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of Megatron-LM's arguments together, and why trine refuses one. */
#include "explain/megatron.h"

#include <stdio.h>
#include <string.h>

static const struct tri_word_list *const lists[] = {
    &tri_megatron_shape,       &tri_megatron_spec,
    &tri_megatron_placement,   &tri_megatron_train,
    &tri_megatron_data,        &tri_megatron_checkpoint,
    &tri_megatron_logging,     &tri_megatron_other,
    &tri_megatron_past[0],     &tri_megatron_past[1],
    &tri_megatron_past[2],     &tri_megatron_past[3],
    &tri_megatron_past[4],     &tri_megatron_past[5],
    &tri_megatron_past[6],     &tri_megatron_past[7],
    &tri_megatron_forks[0],    &tri_megatron_forks[1],
    &tri_megatron_forks[2],    &tri_megatron_forks[3],
    &tri_megatron_forks[4],    &tri_megatron_forks[5],
    &tri_megatron_forks[6],    &tri_megatron_programs[0],
    &tri_megatron_programs[1], NULL,
};

const struct tri_vocabulary tri_megatron_words = {
    .title = "a Megatron-LM argument list",
    .unknown = "pretrain_gpt.py has never taken this argument",
    .lists = lists,
};

const char *tri_megatron_why(const char *name)
{
    if (strncmp(name, "--", 2) == 0)
        name += 2;
    const struct tri_word *word = tri_word_find(&tri_megatron_words, name).word;
    if (!word)
        return NULL;
    if (word->why)
        return word->why;
    return word->answer == TRI_NO_EFFECT ? "it has no effect here"
                                         : "'trine explain' says what it becomes";
}

static bool is_in(const struct tri_word_list *lists_of, int num, const struct tri_word *word)
{
    for (int i = 0; word && i < num; i++)
        if (word >= lists_of[i].words && word < lists_of[i].words + lists_of[i].num)
            return true;
    return false;
}

const char *tri_megatron_whose(const char *name)
{
    name += strncmp(name, "--", 2) == 0 ? 2 : 0;
    const struct tri_word *word = tri_word_find(&tri_megatron_words, name).word;
    if (is_in(tri_megatron_past, TRI_NUM_SECTIONS, word))
        return "earlier versions of Megatron-LM";
    if (is_in(tri_megatron_forks, TRI_NUM_SECTIONS - 1, word))
        return "programs derived from Megatron-LM";
    if (is_in(tri_megatron_programs, 2, word))
        return "other programs of Megatron-LM";
    return "Megatron-LM";
}

static bool nearest(const char *name, char *buffer, int bytes)
{
    char dashed[128];
    snprintf(dashed, sizeof dashed, "%s", name);
    for (char *c = dashed; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return tri_word_nearest(&tri_megatron_words, dashed, buffer, bytes);
}

const struct tri_option_megatron tri_megatron_options = {
    .why = tri_megatron_why, .whose = tri_megatron_whose, .nearest = nearest};
