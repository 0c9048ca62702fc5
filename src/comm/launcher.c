/* SPDX-License-Identifier: Apache-2.0 */
/* Tells from the environment whether an MPI launcher started this process; needs no MPI. */
#include "comm/comm.h"

#include <string.h>

/* What Open MPI, PMIx (Open MPI under srun), and PMI (MPICH, Intel MPI, srun) put there. */
static const char *const names[] = {"OMPI_COMM_WORLD_SIZE=", "PMIX_RANK=", "PMI_RANK=", NULL};

bool tri_mpi_was_launched(char *const *env)
{
    for (; env && *env; env++)
        for (const char *const *name = names; *name; name++)
            if (!strncmp(*env, *name, strlen(*name)))
                return true;
    return false;
}
