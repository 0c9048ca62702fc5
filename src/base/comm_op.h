/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations between ranks, and how much staging one of them needs: what comm/ implements and
 * placement/ plans for. Read comm/comm.h next.
 */
#pragma once

#include "base/dtype.h"

#include <stddef.h>
#include <stdint.h>

enum tri_comm_op {
    TRI_COMM_ALL_REDUCE,
    TRI_COMM_REDUCE_SCATTER,
    TRI_COMM_ALL_GATHER,
    TRI_COMM_BROADCAST,
    TRI_COMM_ALL_TO_ALL,
    TRI_COMM_SEND,
    TRI_COMM_RECV,
    TRI_COMM_BARRIER,
    TRI_NUM_COMM_OPS
};

/* Bytes of staging that one operation needs on each member for count elements per member. Pure. */
typedef size_t tri_staging_fn(enum tri_comm_op op, int group_size, int64_t count,
                              enum tri_dtype dtype);
