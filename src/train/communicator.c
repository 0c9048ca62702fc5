/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of train/communicator.h. */
#include "train/communicator.h"

#include "comm/comm.h"

#include <string.h>

tri_status tri_communicator_plan(const char *asked, bool was_launched, int num_ranks,
                                 tri_error *err, struct tri_plan_comm *comm)
{
    struct tri_plan_comm made = {.name = "threads",
                                 .why = "ranks in one process, as by --ranks; for mpirun: "
                                        "--communicator mpi"};
    if (asked[0])
        made = (struct tri_plan_comm){.name = asked, .why = "as asked"};
    else if (was_launched)
        made = (struct tri_plan_comm){.name = "mpi", .why = "there is a launcher"};
    else if (num_ranks == 1)
        made = (struct tri_plan_comm){.name = "self", .why = "there is one rank"};
    made.staging = tri_comm_staging(made.name);
    TRI_CHECK(made.staging, err, TRI_INVALID,
              "'communicator' is '%s'; use 'threads' for ranks inside one process or 'mpi'", asked);
    TRI_CHECK(num_ranks == 1 || strcmp(made.name, "self") != 0, err, TRI_INVALID,
              "'communicator' is 'self', which has one rank, not %d; use 'threads' or 'mpi'",
              num_ranks);
    *comm = made;
    return TRI_OK;
}
