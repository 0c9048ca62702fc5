/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary positions of a module: its tables of cosines and sines, and turning heads by them. Local. */
#pragma once

#include "nn/build.h"
#include "spec/modules.h"

struct tri_rotary {
    struct tri_rope_spec rope; /* width 0: positions do not turn */
    int64_t rows;              /* positions in the tables */
    struct tri_row_ref cos, sin;
    float *frequency; /* [width / 2] */
    /* What the tables hold: positions [first, end), of sequences of so many positions. Only dynamic scaling makes
       them anew. */
    int64_t length, first, end;
};

/* Takes rows "cos" and "sin" of self and fills them. */
tri_status tri_rotary_init(struct tri_rotary *rotary, struct tri_build *build,
                           const tri_module *self, const struct tri_self_attention_params *params);
/* Every position of the microbatch must be in the tables. */
tri_status tri_rotary_check(const struct tri_rotary *rotary, const tri_module *self,
                            const struct tri_microbatch *microbatch);
void tri_rotary_fini(struct tri_rotary *rotary);
/* Turns heads [s, B, n, D] by the slot's positions, in place; inverse turns gradients back. */
void tri_rotary_turn(struct tri_rotary *rotary, const tri_module *self, const struct tri_slot *slot,
                     struct tri_tensor heads, bool inverse);
