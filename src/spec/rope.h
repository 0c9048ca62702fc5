/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotary positions as numbers: what each pair of channels turns by, per position. Pure functions, in the
 * arithmetic of the reference (transformers), each step rounded to fp32 where that rounds, so that late
 * positions agree too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum tri_rope_kind {
    TRI_ROPE_PLAIN,
    TRI_ROPE_LINEAR,  /* every frequency over factor */
    TRI_ROPE_DYNAMIC, /* a base that grows with the length of the sample (NTK) */
    TRI_ROPE_LLAMA3,  /* long waves over factor, short ones as they are, a ramp between */
    TRI_ROPE_YARN,    /* the same with a ramp by turns, and an attention factor */
};

struct tri_rope_spec {
    int kind;      /* enum tri_rope_kind */
    int64_t width; /* channels of a head that turn, even; 0: none */
    double base;
    double factor;
    int64_t original_positions;               /* that the model was first trained with */
    double low_freq_factor, high_freq_factor; /* llama3 */
    double beta_fast, beta_slow;              /* yarn: turns within the original positions */
    bool truncate;                            /* yarn: the ramp's ends are whole pairs */
    double attention_factor;                  /* yarn: of cos and sin; 0: from the next two */
    double mscale, mscale_all_dim;
    bool interleaved;    /* channels (2k, 2k + 1) turn together, not (k, k + width / 2) */
    int64_t sections[3]; /* pairs that turn by each of three positions; all 0: by one */
};

/* Fills frequency[width / 2], radians per position; length: of the longest sample. */
void tri_rope_frequencies(const struct tri_rope_spec *rope, int64_t length, float *frequency);
/* What cos and sin are multiplied by: 1 but for yarn. */
double tri_rope_attention_factor(const struct tri_rope_spec *rope);
/* yarn's 0.1 mscale ln factor + 1; 1 for factors up to 1 */
double tri_yarn_mscale(double factor, double mscale);
