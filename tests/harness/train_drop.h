/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted faults in messages: a group counts its operations and leaves one of them out, on every rank. It
 * stands in the group's own table, so that nothing else of a session changes.
 */
#pragma once

#include "comm/comm.h"

struct train_drop {
    enum tri_comm_op op;
    int ordinal;               /* from 1; 0: only count; -1: every one */
    int num[TRI_NUM_COMM_OPS]; /* out, by rank 0: operations seen */
};

/* From now on group drops what drop says. One group per thread; call it from the rank's own thread. */
void train_drop_plant(tri_group *group, struct train_drop *drop);
