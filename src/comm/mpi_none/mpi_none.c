/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for the mpi backend in a build without MPI: says so, and how to get it. */
#include "comm/comm.h"

tri_status tri_world_create_mpi(double time_limit_seconds, tri_reduce_fn *reduce, tri_error *err,
                                tri_world **world)
{
    (void)time_limit_seconds;
    (void)reduce;
    (void)world;
    return tri_error_set(err, TRI_UNSUPPORTED,
                         "communicator 'mpi' is not in this build; install an MPI (Debian: "
                         "libopenmpi-dev openmpi-bin) and rebuild with -DTRI_MPI=ON, or use "
                         "--ranks for ranks inside one process");
}
