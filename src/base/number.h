/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as text, the same in every locale. A number is decimal: an optional sign, digits with at
 * most one point, an optional exponent, an optional suffix: k, m, g (10^3, 10^6, 10^9) or ki, mi,
 * gi (2^10, 2^20, 2^30). Leading zeros mean nothing: 010 is ten.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for any number that tri_number_format() writes. */
#define TRI_NUMBER_TEXT 32

enum tri_number_result {
    TRI_NUMBER_OK,
    TRI_NUMBER_SYNTAX, /* no number */
    TRI_NUMBER_WHOLE,  /* a number, but not a whole one */
    TRI_NUMBER_RANGE,  /* beyond what the type holds */
};

/* Reads all of text; 1e2, 1.5k and 10 are whole numbers, 1.5 is not. */
enum tri_number_result tri_number_read_int(const char *text, int64_t *value);
/* Reads all of text; "inf" and ".inf" with an optional sign are read too, a NaN is SYNTAX. */
enum tri_number_result tri_number_read_double(const char *text, double *value);
/* The shortest decimal that reads back to value. */
void tri_number_format_double(double value, char buffer[TRI_NUMBER_TEXT]);
