/* SPDX-License-Identifier: Apache-2.0 */
/* One line per word of a vocabulary: in designated form the 860 arguments of Megatron-LM alone would be
   5,000 lines, and nobody could compare two of them. Included by vocabulary files only. */
#pragma once

#include "explain/words.h"

/* names, answer, sets, why */
#define FLAG(n, a, s, w)                                                                           \
    {                                                                                              \
        .names = n, .kind = TRI_WORD_FLAG, .answer = a, .sets = s, .why = w                        \
    }
#define NEGATED(n, a, s, w)                                                                        \
    {                                                                                              \
        .names = n, .kind = TRI_WORD_NEGATED, .answer = a, .sets = s, .why = w                     \
    }
/* names, default, answer, sets, why */
#define VALUE(n, d, a, s, w)                                                                       \
    {                                                                                              \
        .names = n, .kind = TRI_WORD_VALUE, .preset = d, .answer = a, .sets = s, .why = w          \
    }
#define LIST(n, d, a, s, w)                                                                        \
    {                                                                                              \
        .names = n, .kind = TRI_WORD_LIST, .preset = d, .answer = a, .sets = s, .why = w           \
    }
