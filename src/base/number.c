/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text: one grammar for whole and real numbers. */
#include "base/number.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where the parts of a number lie in its text. */
struct number_parts {
    bool negative;
    const char *digits; /* with at most one point */
    size_t num_chars;
    int64_t exponent; /* power of ten, of the exponent part alone */
    int64_t suffix;   /* a factor, 1 without one */
};

static const char *number_skip_digits(const char *text, int *num)
{
    while (isdigit((unsigned char)*text)) {
        text++;
        (*num)++;
    }
    return text;
}

static bool number_read_suffix(const char *text, int64_t *factor)
{
    static const struct {
        const char *name;
        int64_t factor;
    } suffixes[] = {{"", 1},
                    {"k", 1000},
                    {"m", 1000000},
                    {"g", 1000000000},
                    {"ki", INT64_C(1) << 10},
                    {"mi", INT64_C(1) << 20},
                    {"gi", INT64_C(1) << 30}};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (strcasecmp(text, suffixes[i].name) == 0) {
            *factor = suffixes[i].factor;
            return true;
        }
    }
    return false;
}

static bool number_split(const char *text, struct number_parts *parts)
{
    int num_digits = 0;
    parts->negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    parts->digits = text;
    text = number_skip_digits(text, &num_digits);
    if (*text == '.')
        text = number_skip_digits(text + 1, &num_digits);
    if (num_digits == 0)
        return false;
    parts->num_chars = (size_t)(text - parts->digits);
    parts->exponent = 0;
    if (*text == 'e' || *text == 'E') {
        bool negative = text[1] == '-';
        text += text[1] == '-' || text[1] == '+' ? 2 : 1;
        if (!isdigit((unsigned char)*text))
            return false;
        for (; isdigit((unsigned char)*text); text++) {
            if (parts->exponent < 100000)
                parts->exponent = 10 * parts->exponent + (*text - '0');
        }
        if (negative)
            parts->exponent = -parts->exponent;
    }
    return number_read_suffix(text, &parts->suffix);
}

enum tri_number_result tri_number_read_int(const char *text, int64_t *value)
{
    struct number_parts parts;
    if (!number_split(text, &parts))
        return TRI_NUMBER_SYNTAX;
    int64_t total = 0, power = parts.exponent;
    bool after_point = false;
    int64_t zeros = 0; /* not yet multiplied in, so that 1.000000000000000000000 is whole */
    for (size_t i = 0; i < parts.num_chars; i++) {
        char c = parts.digits[i];
        if (c == '.') {
            after_point = true;
            continue;
        }
        power -= after_point;
        if (c == '0') {
            zeros++;
            continue;
        }
        for (; zeros > 0 && total > 0; zeros--) {
            if (__builtin_mul_overflow(total, 10, &total))
                return TRI_NUMBER_RANGE;
        }
        zeros = 0;
        if (__builtin_mul_overflow(total, 10, &total) ||
            __builtin_add_overflow(total, c - '0', &total))
            return TRI_NUMBER_RANGE;
    }
    if (total == 0) {
        *value = 0;
        return TRI_NUMBER_OK;
    }
    if (__builtin_mul_overflow(total, parts.suffix, &total))
        return TRI_NUMBER_RANGE;
    for (power += zeros; power > 0; power--) {
        if (__builtin_mul_overflow(total, 10, &total))
            return TRI_NUMBER_RANGE;
    }
    for (; power < 0; power++) {
        if (total % 10 != 0)
            return TRI_NUMBER_WHOLE;
        total /= 10;
    }
    *value = parts.negative ? -total : total;
    return TRI_NUMBER_OK;
}

enum tri_number_result tri_number_read_double(const char *text, double *value)
{
    bool has_sign = *text == '-' || *text == '+';
    const char *unsigned_text = text + has_sign;
    if (strcasecmp(unsigned_text, "inf") == 0 || strcasecmp(unsigned_text, ".inf") == 0) {
        *value = *text == '-' ? -HUGE_VAL : HUGE_VAL;
        return TRI_NUMBER_OK;
    }
    struct number_parts parts;
    if (!number_split(text, &parts))
        return TRI_NUMBER_SYNTAX;
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double number = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    number *= (double)parts.suffix;
    if (isinf(number))
        return TRI_NUMBER_RANGE;
    *value = number;
    return TRI_NUMBER_OK;
}

void tri_number_format_double(double value, char buffer[TRI_NUMBER_TEXT])
{
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = uselocale(c_locale);
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buffer, TRI_NUMBER_TEXT, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    uselocale(before);
    freelocale(c_locale);
}
