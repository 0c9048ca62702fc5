/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flag that asks for an orderly end. It may be set from a signal handler or another thread; the
 * training loop reads it at the end of a step, where all ranks agree on it, saves and returns
 * TRI_STOPPED.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct tri_cancel {
    atomic_int stop; /* 0: run on; 1: stop after this step and save */
};

static inline void tri_cancel_init(struct tri_cancel *cancel)
{
    atomic_init(&cancel->stop, 0);
}
static inline void tri_cancel_request(struct tri_cancel *cancel)
{
    atomic_store(&cancel->stop, 1);
}
static inline bool tri_cancel_requested(struct tri_cancel *cancel)
{
    return atomic_load(&cancel->stop) != 0;
}
