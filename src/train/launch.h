/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a body on every rank: alone, as threads of this process, or as one of the processes of an MPI
 * launcher. A rank that fails tells the others, so that nobody waits for it.
 */
#pragma once

#include "comm/comm.h"

struct tri_launch {
    int ranks;                  /* in-process ranks; ignored under mpi */
    bool mpi;                   /* started by an MPI launcher */
    double time_limit_seconds;  /* of a wait for another rank */
};

/*
 * Runs body(arg, world) on every rank of this process and returns the status that decides the exit code: the
 * first rank's that is neither TRI_OK nor TRI_PEER, else the first that is not TRI_OK. errs has one record
 * per in-process rank (1 under mpi), made by the caller.
 */
tri_status tri_launch_run(const struct tri_launch *launch, tri_rank_fn *body, void *arg,
                          tri_error **errs);
