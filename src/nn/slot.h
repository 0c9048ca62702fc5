/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a module may read and write besides its arguments: the microbatch, the slot's saved tensors
 * and the named loss terms. The slot belongs to the schedule; model/ makes slots from the plan, the
 * executor picks one by number, data/ fills the microbatch. Forward and backward change nothing but
 * the slot, the gradients and the loss terms, so that any step can be repeated.
 */
#pragma once

#include "tensor/tensor.h"
#include "trine/microbatch.h"

#include <stdbool.h>
#include <stdint.h>

enum { TRI_LOSS_LM, TRI_MAX_LOSS_TERMS = 8 }; /* the named terms of a slot */

/* Rows of the cache of one core_attention are RUN rows of the module; this says how much is filled.
   */
struct tri_cache_state {
    int64_t length; /* positions already in the cache: those of the microbatch follow */
};

struct tri_slot {
    const struct tri_microbatch *microbatch;
    char *saved;              /* base of this slot in the SAVED arena */
    struct tri_tensor *views; /* host array: TRI_VIEWS_PER_MODULE for each module of the slice */
    struct tri_loss_term loss[TRI_MAX_LOSS_TERMS];
    bool training;     /* dropout on */
    float seed;        /* d loss / d token loss: a constant power of two for the whole run */
    float *token_loss; /* [b, s] host, filled by the head if not NULL */
    /* [b, s] host: the entropy of each position's distribution in nats, whatever its label; filled by the head if
       not NULL, and then labels are needed. Set on every tp rank of the head or on none. */
    float *token_entropy;
    /* [b, vocab_size] of each row's last position (or all positions, [b, s, vocab_size], with
       all_logits), host, filled by the head if not NULL; then labels may be NULL. Set on every tp
       rank of the head or on none: all of them get the full width. */
    float *logits;
    bool all_logits;
    struct tri_cache_state *cache; /* NULL: no cache */
};
#define TRI_VIEWS_PER_MODULE 4
