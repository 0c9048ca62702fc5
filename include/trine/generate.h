/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text generation: the same modules and kernels as training, with a key-value cache. The prompt
 * runs in one call, then one token a call. Works on any grid with one data-parallel rank; the token
 * is picked on the last stage and told to all. Random numbers are a pure function of seed and
 * position, so a sample does not depend on the grid. The session is made forward_only, with a
 * micro- and global batch of 1, a seq_length of at least the prompt's, and a cache.
 */
#pragma once

#include "trine/session.h"

/* How a token is picked from logits. Filters as in Megatron-LM: top-k keeps every value equal to
   the k-th largest; top-p keeps the token that crosses p. Ties go to the lower id. */
struct tri_sampling {
    double temperature; /* 0: greedy */
    int64_t top_k;      /* 0: off */
    double top_p;       /* 0: off */
    uint64_t seed;
};

/* Every problem is added to err. */
tri_status tri_sampling_check(const struct tri_sampling *sampling, int64_t vocab_size,
                              tri_error *err);

enum tri_stop_reason { TRI_STOP_LENGTH, TRI_STOP_END_TOKEN, TRI_STOP_NO_ROOM };

struct tri_generate_request {
    const int32_t *prompt;
    int64_t num_prompt;
    int64_t max_new_tokens;
    int64_t max_positions; /* of the model: the cache has as many rows */
    struct tri_sampling sampling;
    const int32_t *end_tokens;
    int num_end_tokens;
    /* Called on every rank for each new token. */
    void (*token)(void *arg, int32_t id);
    void *arg;
};

/* Fails where the prompt has no room. Collective over the world. */
tri_status tri_generate(struct tri_model *model, tri_executor *executor,
                        const struct tri_generate_request *request, enum tri_stop_reason *reason,
                        int32_t *last_token);
