/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which samples a data-parallel rank reads. The state is the number of samples consumed so far by
 * all ranks, so a run resumes from that number alone. One block of micro_batch x dp samples is one
 * microbatch of every rank.
 */
#pragma once

#include "base/check.h"

#include <stdbool.h>
#include <stdint.h>

enum tri_sampler_kind {
    TRI_SAMPLER_SINGLE, /* in order, once; Megatron's dataloader_type single */
    TRI_SAMPLER_CYCLIC  /* shuffled anew each epoch, for ever */
};

struct tri_sampler_config {
    enum tri_sampler_kind kind;
    int64_t total;       /* samples of the dataset */
    int64_t micro_batch; /* samples of a microbatch of one rank */
    int64_t dp_size;
    int64_t dp_rank;
    bool data_sharding; /* cyclic: each rank shuffles its own part */
};

typedef struct tri_sampler tri_sampler;

tri_status tri_sampler_create(const struct tri_sampler_config *config, tri_sampler **sampler,
                              tri_error *err);
void tri_sampler_destroy(tri_sampler **sampler);

/* Fills samples [micro_batch] for the block that starts when 'consumed' samples are consumed.
   Fails when the dataset has no full block left (single), or when consumed does not lie on a
   block of this size (cyclic). */
tri_status tri_sampler_read(tri_sampler *sampler, int64_t consumed, int64_t *samples,
                            tri_error *err);
