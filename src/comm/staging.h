/* SPDX-License-Identifier: Apache-2.0 */
/* How mpi cuts an operation, and so what staging it needs: shared by its phases and the plan. */
#pragma once

#include "base/comm_op.h"

#include <stdbool.h>

/* An all_reduce or broadcast of at most this many bytes goes in one phase, whole, to everybody: it
   is bound by the number of messages in a row, not by bytes. */
#define TRI_MPI_SMALL_BYTES ((int64_t)2048)

static inline bool tri_mpi_is_small(int64_t count, int64_t element_bytes)
{
    return count * element_bytes <= TRI_MPI_SMALL_BYTES;
}

/* Elements of the largest part when count elements are cut in size parts. */
static inline int64_t tri_mpi_part_elements(int64_t count, int size)
{
    return (count + size - 1) / size;
}

/* self and threads read the members' own buffers. */
tri_staging_fn tri_staging_none;
/* mpi receives what the others give before it sums. */
tri_staging_fn tri_staging_mpi;
