/* SPDX-License-Identifier: Apache-2.0 */
/* "$(( ... ))": sums and products of whole numbers. */
#include "explain/shell_inner.h"

#include "base/number.h"

#include <ctype.h>
#include <string.h>

struct sum {
    struct tri_shell *shell;
    const char *next, *end;
    int depth;
    bool is_known;
};

static int64_t read_sum(struct sum *sum);

static char peek(struct sum *sum)
{
    while (sum->next < sum->end && isspace((unsigned char)*sum->next))
        sum->next++;
    return sum->next < sum->end ? *sum->next : '\0';
}

static int64_t not_known(struct sum *sum)
{
    sum->is_known = false;
    sum->next = sum->end;
    return 0;
}

static int64_t read_text(struct sum *sum, const char *text)
{
    int64_t value;
    if (tri_number_read_int(text, &value) != TRI_NUMBER_OK)
        return not_known(sum);
    return value;
}

/* A number, a variable with or without '$', or a bracket. */
static int64_t read_atom(struct sum *sum)
{
    char first = peek(sum), word[64];
    if (first == '(' && sum->depth < TRI_SHELL_MAX_DEPTH) {
        sum->next++;
        sum->depth++;
        int64_t value = read_sum(sum);
        sum->depth--;
        if (peek(sum) != ')')
            return not_known(sum);
        sum->next++;
        return value;
    }
    bool has_brace = false;
    if (first == '$') {
        sum->next++;
        has_brace = sum->next < sum->end && *sum->next == '{';
        sum->next += has_brace;
    }
    size_t length = 0;
    while (sum->next + length < sum->end &&
           (isalnum((unsigned char)sum->next[length]) || sum->next[length] == '_'))
        length++;
    if (length == 0 || length >= sizeof word)
        return not_known(sum);
    memcpy(word, sum->next, length);
    word[length] = '\0';
    sum->next += length;
    if (has_brace && (sum->next == sum->end || *sum->next++ != '}'))
        return not_known(sum);
    if (isdigit((unsigned char)word[0]))
        return first == '$' ? not_known(sum) : read_text(sum, word);
    const struct tri_shell_variable *variable = tri_shell_find(sum->shell, word, length);
    return variable && variable->items.num == 1 ? read_text(sum, variable->items.words[0])
                                                : not_known(sum);
}

static int64_t read_product(struct sum *sum)
{
    int64_t value = read_atom(sum);
    for (char sign = peek(sum); sum->is_known && sign && strchr("*/%", sign); sign = peek(sum)) {
        sum->next++;
        int64_t factor = read_atom(sum);
        bool divides = sign != '*';
        if (divides && (factor == 0 || (factor == -1 && value == INT64_MIN)))
            return not_known(sum);
        if (!divides && __builtin_mul_overflow(value, factor, &value))
            return not_known(sum);
        if (divides)
            value = sign == '/' ? value / factor : value % factor;
    }
    return value;
}

static int64_t read_sum(struct sum *sum)
{
    int64_t value = read_product(sum);
    for (char sign = peek(sum); sum->is_known && (sign == '+' || sign == '-'); sign = peek(sum)) {
        sum->next++;
        int64_t term = read_product(sum);
        bool is_over = sign == '+' ? __builtin_add_overflow(value, term, &value)
                                   : __builtin_sub_overflow(value, term, &value);
        if (is_over)
            return not_known(sum);
    }
    return value;
}

bool tri_shell_arithmetic(struct tri_shell *shell, const char *text, size_t length, int64_t *value)
{
    struct sum sum = {.shell = shell, .next = text, .end = text + length, .is_known = true};
    *value = read_sum(&sum);
    return sum.is_known && peek(&sum) == '\0';
}
