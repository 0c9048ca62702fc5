/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The split option ("969,30,1"): which sequences of a token file belong to training, validation and
 * test. Arithmetic as Megatron's, bit for bit: shares are normalised, bounds added from left to
 * right in double, and rounded half to even.
 */
#pragma once

#include "base/check.h"
#include "trine/tokens.h"

#include <stdbool.h>
#include <stdint.h>

/* "train", "validation", "test". */
const char *tri_data_part_name(enum tri_data_part part);

struct tri_data_split {
    double
        bounds[TRI_NUM_DATA_PARTS + 1]; /* part p covers [bounds[p], bounds[p + 1]) of the data */
    bool present[TRI_NUM_DATA_PARTS];
};

/* Reads every run of digits and dots in text as a share; at most three. Fails when there is
   none, more than three, one that is no number, or a sum of zero. */
tri_status tri_data_split_parse(const char *text, struct tri_data_split *split, tri_error *err);

/* The elements [first, end) of num_elements that part covers; empty when the part is absent. */
void tri_data_split_range(const struct tri_data_split *split, enum tri_data_part part,
                          int64_t num_elements, int64_t *first, int64_t *end);

/* The sum of num doubles in numpy's order (pairwise from 8 terms on). */
double tri_data_sum(const double *values, int64_t num);
