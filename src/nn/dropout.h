/* SPDX-License-Identifier: Apache-2.0 */
/* A module's dropout: its rate and key, turned into the argument of a kernel at each call. */
#pragma once

#include "base/rng.h"
#include "kernels/kernels.h"
#include "nn/slot.h"

struct tri_dropout_site {
    uint32_t threshold;
    float scale;
    struct tri_rng_key key;
};

static inline struct tri_dropout_site tri_dropout_site(double p, uint64_t seed, int purpose,
                                                       int64_t layer)
{
    return (struct tri_dropout_site){
        .threshold = tri_dropout_threshold(p),
        .scale = (float)(1 / (1 - p)),
        .key = tri_rng_key(seed, (enum tri_rng_purpose)purpose, (uint64_t)layer),
    };
}

/* The mask of the slot's microbatch from first_position on; nothing is dropped outside training. */
static inline struct tri_dropout tri_dropout_now(const struct tri_dropout_site *site,
                                                 const struct tri_slot *slot,
                                                 int64_t first_position)
{
    bool on = slot->training && site->threshold > 0;
    return (struct tri_dropout){
        .threshold = on ? site->threshold : 0,
        .scale = on ? site->scale : 1,
        .key = {site->key.word[0], site->key.word[1]},
        .sample_ids = slot->microbatch->sample_ids,
        .first_position = first_position,
    };
}
