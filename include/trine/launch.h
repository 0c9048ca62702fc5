/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a body on every rank: alone, as threads of this process, or as one of the processes of an
 * MPI launcher. A rank that fails tells the others, so that nobody waits for it. In-process ranks
 * can be launched again and again; MPI starts once in a process, so there one body does all the
 * work.
 */
#pragma once

#include "trine/error.h"

#include <stdbool.h>

/* What a rank is given: its number, the number of ranks and the means to talk to them. */
typedef struct tri_world tri_world;
struct tri_run_config;

/* What runs on a rank. Its failure is noted in the rank's own record. */
typedef tri_status tri_rank_fn(void *arg, tri_world *world);

/* From 0; the number of ranks; this rank's record, borrowed. */
int tri_world_get_rank(const tri_world *world);
int tri_world_get_size(const tri_world *world);
tri_error *tri_world_get_error(const tri_world *world);

struct tri_launch {
    int ranks;                 /* in-process ranks; ignored under mpi */
    bool mpi;                  /* started by an MPI launcher */
    double time_limit_seconds; /* of a wait for another rank */
    /* Under mpi, called on every rank when its body is done and before the world ends: a
       launcher may end this process as soon as another has gone, so this is the place to print.
       May be NULL. */
    void (*report)(void *arg, int rank, tri_status status, const tri_error *err);
    void *report_arg;
};

/*
 * Runs body(arg, world) on every rank of this process and returns the status that decides the exit
 * code: the first rank's that is neither TRI_OK nor TRI_PEER, else the first that is not TRI_OK.
 * errs has one record per in-process rank (1 under mpi), made by the caller.
 */
tri_status tri_launch_run(const struct tri_launch *launch, tri_rank_fn *body, void *arg,
                          tri_error **errs);

/* Says what a record holds, for example on stderr. */
typedef void tri_report_fn(const tri_error *err);

/*
 * The same as config asks for it: one process of the launcher where env says that there is one,
 * else the option ranks. Messages are gathered, each with its rank; ranks that only learned of a
 * failure stay quiet when one with the cause has spoken. They go to report if there is one, under
 * mpi before the world ends (see above), else into err.
 */
tri_status tri_launch_config(const struct tri_run_config *config, char *const *env,
                             tri_rank_fn *body, void *arg, tri_report_fn *report, tri_error *err);

/* True when this process was started by an MPI launcher (tells by what the launcher put into env, a
   NULL-ended list of "NAME=value": the library reads no environment of its own). */
bool tri_mpi_was_launched(char *const *env);
