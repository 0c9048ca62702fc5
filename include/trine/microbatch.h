/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a slice of the model reads besides its input, and what the loss is made of. Every stage of a
 * pipeline gets the microbatch from the data; it is never sent. All arrays are the host's and stay
 * valid from the microbatch's first use to its last.
 */
#pragma once

#include <stdint.h>

struct tri_microbatch {
    int64_t rows;             /* b: actual number of samples, <= planned */
    int64_t length;           /* s: actual number of positions, <= planned */
    const int32_t *tokens;    /* [b, s] */
    const int32_t *labels;    /* [b, s], already shifted; < 0: ignored. NULL: no loss wanted */
    const float *weights;     /* [b, s] loss weights, or NULL: 1 where the label is >= 0 */
    const int32_t *positions; /* [b, s] */
    /* NULL, or [3, b, s]: time, height and width, which a model with mrope turns by instead */
    const int32_t *axis_positions;
    /* Positions of the sequences, cached ones too, by which dynamic rotary scaling turns; 0: as many as are planned */
    int64_t turn_length;
    const int32_t *segments;   /* [b, s] document number of each position, or NULL: one document */
    const int64_t *sample_ids; /* [b] consumed-sample index, for dropout masks */
    int64_t num_valid;         /* labels >= 0 */
};

/* A named loss term: sum of values and the count they are divided by, both over one microbatch. */
struct tri_loss_term {
    double value;
    double count;
};
