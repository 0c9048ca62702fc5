/* SPDX-License-Identifier: Apache-2.0 */
/* "[[ a == b ]]", "[ -z x ]", "true": conditions of a script. */
#include "explain/shell_inner.h"

#include "base/number.h"

#include <fnmatch.h>
#include <string.h>

enum truth { NO, YES, NOT_KNOWN };

static enum truth compare(const char *a, const char *sign, const char *b)
{
    int64_t left, right;
    if (strcmp(sign, "==") == 0 || strcmp(sign, "=") == 0)
        return fnmatch(b, a, 0) == 0 ? YES : NO;
    if (strcmp(sign, "!=") == 0)
        return fnmatch(b, a, 0) == 0 ? NO : YES;
    if (tri_number_read_int(a, &left) != TRI_NUMBER_OK ||
        tri_number_read_int(b, &right) != TRI_NUMBER_OK)
        return NOT_KNOWN;
    const struct {
        const char *sign;
        bool holds;
    } signs[] = {
        {"-eq", left == right}, {"-ne", left != right}, {"-lt", left < right},
        {"-le", left <= right}, {"-gt", left > right},  {"-ge", left >= right},
    };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (strcmp(sign, signs[i].sign) == 0)
            return signs[i].holds ? YES : NO;
    }
    return NOT_KNOWN;
}

bool tri_shell_test(struct tri_shell *shell, const struct tri_shell_raw *pieces, int num)
{
    struct tri_shell_words words = {0};
    bool negates = false;
    shell->empties_unset = true;
    for (int i = 0; i < num; i++) {
        int before = words.num;
        bool is_bracket = tri_shell_raw_is(pieces[i], "[") || tri_shell_raw_is(pieces[i], "[[") ||
                          tri_shell_raw_is(pieces[i], "]") || tri_shell_raw_is(pieces[i], "]]") ||
                          tri_shell_raw_is(pieces[i], "test");
        if (is_bracket)
            continue;
        if (tri_shell_raw_is(pieces[i], "!")) {
            negates = !negates;
            continue;
        }
        tri_shell_expand(shell, pieces[i], &words);
        if (words.num == before)
            tri_shell_push(shell, &words, "", 0);
    }
    shell->empties_unset = false;
    enum truth truth = NOT_KNOWN;
    if (words.num == 3)
        truth = compare(words.words[0], words.words[1], words.words[2]);
    else if (words.num == 2 && strcmp(words.words[0], "-z") == 0)
        truth = words.words[1][0] == '\0' ? YES : NO;
    else if (words.num == 2 && strcmp(words.words[0], "-n") == 0)
        truth = words.words[1][0] != '\0' ? YES : NO;
    else if (words.num == 1)
        truth = strcmp(words.words[0], "true") == 0    ? YES
                : strcmp(words.words[0], "false") == 0 ? NO
                                                       : NOT_KNOWN;
    return truth != NOT_KNOWN && (truth == YES) != negates;
}
