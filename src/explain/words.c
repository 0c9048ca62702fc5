/* SPDX-License-Identifier: Apache-2.0 */
/* Looking words up. */
#include "explain/words.h"

#include "base/options_inner.h"

#include <stdio.h>
#include <string.h>

const char *tri_section_name(enum tri_section section)
{
    static const char *const names[TRI_NUM_SECTIONS] = {
        [TRI_SECTION_SHAPE] = "shape",         [TRI_SECTION_SPEC] = "spec",
        [TRI_SECTION_PLACEMENT] = "placement", [TRI_SECTION_TRAIN] = "train",
        [TRI_SECTION_DATA] = "data",           [TRI_SECTION_CHECKPOINT] = "checkpoint",
        [TRI_SECTION_LOGGING] = "logging",     [TRI_SECTION_OTHER] = "other",
    };
    return names[section];
}

enum tri_section tri_section_find(const char *name)
{
    int i = 0;
    while (i < TRI_SECTION_OTHER && strcmp(tri_section_name((enum tri_section)i), name) != 0)
        i++;
    return (enum tri_section)i;
}

const char *tri_answer_name(enum tri_answer answer)
{
    static const char *const names[TRI_NUM_ANSWERS] = {
        [TRI_UNDERSTOOD] = "understood", [TRI_DIFFERS] = "differs", [TRI_NO_EFFECT] = "no effect",
        [TRI_LATER] = "not yet",         [TRI_REFUSED] = "refused", [TRI_UNKNOWN] = "unknown",
    };
    return names[answer];
}

static char word_letter(char c)
{
    return c == '-' ? '_' : c;
}

/* True when name is the spelling of the given length. */
static bool word_matches(const char *spelling, size_t length, const char *name)
{
    bool any_rest = length > 0 && spelling[length - 1] == '*';
    size_t compared = any_rest ? length - 1 : length;
    for (size_t i = 0; i < compared; i++) {
        if (name[i] == '\0' || word_letter(spelling[i]) != word_letter(name[i]))
            return false;
    }
    return any_rest || name[compared] == '\0';
}

/* Calls of this walk the spellings of a word: the next one from *names on, NULL at the end. */
static const char *next_spelling(const char **names, size_t *length)
{
    const char *start = *names + strspn(*names, " ");
    *length = strcspn(start, " ");
    *names = start + *length;
    return *length > 0 ? start : NULL;
}

static bool word_has_name(const struct tri_word *word, const char *name)
{
    const char *names = word->names, *spelling;
    size_t length;
    while ((spelling = next_spelling(&names, &length))) {
        if (word_matches(spelling, length, name))
            return true;
    }
    return false;
}

struct tri_word_found tri_word_find(const struct tri_vocabulary *vocabulary, const char *name)
{
    for (const struct tri_word_list *const *list = vocabulary->lists; *list; list++) {
        for (int i = 0; i < (*list)->num; i++) {
            if (word_has_name(&(*list)->words[i], name))
                return (struct tri_word_found){.word = &(*list)->words[i],
                                               .section = (*list)->section};
        }
    }
    return (struct tri_word_found){.word = NULL, .section = TRI_SECTION_OTHER};
}

bool tri_word_nearest(const struct tri_vocabulary *vocabulary, const char *name, char *buffer,
                      int bytes)
{
    int best = tri_option_near(name) + 1; /* a difference in length is that many edits */
    bool is_found = false;
    for (const struct tri_word_list *const *list = vocabulary->lists; *list; list++) {
        for (int i = 0; i < (*list)->num && !(*list)->is_never_guessed; i++) {
            const char *names = (*list)->words[i].names, *spelling;
            size_t length;
            char known[64];
            while ((spelling = next_spelling(&names, &length))) {
                int longer = (int)length - (int)strlen(name);
                if (length >= sizeof known || longer >= best || -longer >= best)
                    continue;
                snprintf(known, sizeof known, "%.*s", (int)length, spelling);
                int distance = tri_option_distance(name, known);
                if (distance >= best)
                    continue;
                best = distance;
                snprintf(buffer, (size_t)bytes, "%s", known);
                is_found = true;
            }
        }
    }
    return is_found;
}
