/* SPDX-License-Identifier: Apache-2.0 */
/* Staging as a pure function of the operation, for every backend, also those not in this build. */
#include "comm/staging.h"

#include "comm/comm.h"

#include <string.h>

size_t tri_staging_none(enum tri_comm_op op, int group_size, int64_t count, enum tri_dtype dtype)
{
    (void)op;
    (void)group_size;
    (void)count;
    (void)dtype;
    return 0;
}

size_t tri_staging_mpi(enum tri_comm_op op, int group_size, int64_t count, enum tri_dtype dtype)
{
    int64_t bytes = (int64_t)tri_dtype_bytes(dtype), others = group_size - 1;
    if (op == TRI_COMM_REDUCE_SCATTER ||
        (op == TRI_COMM_ALL_REDUCE && tri_mpi_is_small(count, bytes)))
        return (size_t)(others * count * bytes);
    if (op == TRI_COMM_ALL_REDUCE)
        return (size_t)(others * tri_mpi_part_elements(count, group_size) * bytes);
    return 0;
}

tri_staging_fn *tri_comm_staging(const char *communicator)
{
    if (strcmp(communicator, "self") == 0 || strcmp(communicator, "threads") == 0)
        return tri_staging_none;
    return strcmp(communicator, "mpi") == 0 ? tri_staging_mpi : NULL;
}
