/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and multiples of lists of whole numbers. */
#include "explain/list_expression.h"

#include <ctype.h>
#include <string.h>

#define MAX_DEPTH  8
#define MAX_NUMBER 1000000

struct expression {
    const char *next;
    int depth;
    struct tri_option_list *list; /* grows at its end only */
    bool is_wrong;
};

static void read_sum(struct expression *text);

static bool skip(struct expression *text, char letter)
{
    text->next += strspn(text->next, " ");
    if (*text->next != letter)
        return false;
    text->next++;
    return true;
}

static int64_t read_number(struct expression *text)
{
    int64_t number = 0;
    text->next += strspn(text->next, " ");
    text->is_wrong = text->is_wrong || !isdigit((unsigned char)*text->next);
    while (isdigit((unsigned char)*text->next) && number < MAX_NUMBER)
        number = 10 * number + (*text->next++ - '0');
    return number;
}

static void read_items(struct expression *text)
{
    do {
        int64_t number = read_number(text);
        text->is_wrong = text->is_wrong || text->list->num == TRI_OPTION_MAX_ITEMS;
        if (!text->is_wrong)
            text->list->value[text->list->num++] = number;
    } while (!text->is_wrong && skip(text, ','));
    text->is_wrong = text->is_wrong || !skip(text, ']');
}

/* Items from first on, that many times. */
static void repeat(struct expression *text, int64_t first, int64_t times)
{
    int64_t length = text->list->num - first;
    text->is_wrong =
        text->is_wrong || (length > 0 && times > (TRI_OPTION_MAX_ITEMS - first) / length);
    if (text->is_wrong)
        return;
    for (int64_t i = length; i < length * times; i++)
        text->list->value[first + i] = text->list->value[first + i - length];
    text->list->num = first + length * times;
}

static void read_product(struct expression *text)
{
    int64_t first = text->list->num;
    if (skip(text, '[')) {
        read_items(text);
    } else if (skip(text, '(') && text->depth < MAX_DEPTH) {
        text->depth++;
        read_sum(text);
        text->depth--;
        text->is_wrong = text->is_wrong || !skip(text, ')');
    } else {
        text->is_wrong = true;
    }
    while (!text->is_wrong && skip(text, '*'))
        repeat(text, first, read_number(text));
}

static void read_sum(struct expression *text)
{
    do
        read_product(text);
    while (!text->is_wrong && skip(text, '+'));
}

bool tri_list_expression(const char *text, struct tri_option_list *list)
{
    struct expression expression = {.next = text, .list = list};
    list->num = 0;
    read_sum(&expression);
    text = expression.next + strspn(expression.next, " ");
    return !expression.is_wrong && *text == '\0' && list->num > 0;
}
