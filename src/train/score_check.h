/* SPDX-License-Identifier: Apache-2.0 */
/* What a request to score (trine/score.h) may be. */
#pragma once

#include "train/session.h"
#include "trine/score.h"

/* Positions that sequence n takes. */
static inline int64_t tri_score_positions(const struct tri_score_request *request, int64_t n)
{
    int64_t length = request->lengths[n];
    return request->targets || length == 1 ? length : length - 1;
}

/* Refuses a request that is wrong or differs between ranks: rank 0 lists what is wrong. *entropies,
   which each rank sets by itself, becomes true on all where it is on one. Collective over the world. */
tri_status tri_score_check(const struct tri_session *session,
                           const struct tri_score_request *request, bool *entropies);
