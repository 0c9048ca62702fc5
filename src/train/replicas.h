/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that must be equal: every parameter over the data-parallel ranks, those that every
 * tensor-parallel rank holds over tp, key/value heads over the tp ranks that share them, the tied table
 * over its two stages. A memory fault or a wrong reduction shows here long before it shows in a loss.
 */
#pragma once

#include "train/session.h"

typedef struct tri_replicas tri_replicas;

/* Makes room, so that a check allocates nothing. Local. */
tri_status tri_replicas_create(struct tri_session *session, tri_replicas **replicas);
void tri_replicas_destroy(tri_replicas **replicas);

/* Compares the bits of all copies. Where some differ, every rank fails with TRI_NUMERIC and the first
   such parameter, the group, and the ranks whose copy is not that of the group's first; others fail
   with TRI_PEER. Collective over the world. */
tri_status tri_replicas_check(tri_replicas *replicas, int64_t iteration);
