/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world over MPI: starts MPI when nobody has, and ends it only then. A run that went well ends
 * with a barrier that has the time limit, then MPI_Finalize(). In a failed run every rank says that
 * it leaves and waits a little for the others to say so: when all have, MPI_Finalize() is safe;
 * when somebody is stuck it would hang, so the process ends without it and the launcher ends the
 * rest.
 */
#include "comm/mpi/engine.h"
#include "comm/staging.h"

#include "base/cancel.h"

#include <stdlib.h>

/* The longest that a rank of a failed run waits for the others before it ends. */
#define LEAVE_SECONDS 10.0

static tri_status world_check(int rc, tri_error *err, const char *call)
{
    TRI_CHECK(rc == MPI_SUCCESS, err, TRI_COMM, "%s failed (code %d); is MPI installed properly?",
              call, rc);
    return TRI_OK;
}

static tri_status mpi_start(tri_error *err, bool *is_ours)
{
    int is_started = 0, is_over = 0, level = 0;
    TRI_TRY(world_check(MPI_Initialized(&is_started), err, "MPI_Initialized"));
    TRI_TRY(world_check(MPI_Finalized(&is_over), err, "MPI_Finalized"));
    TRI_CHECK(!is_over, err, TRI_INVALID,
              "MPI has ended in this process and cannot be started again; create one world only");
    if (is_started)
        TRI_TRY(world_check(MPI_Query_thread(&level), err, "MPI_Query_thread"));
    else
        TRI_TRY(world_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level), err,
                            "MPI_Init_thread"));
    *is_ours = !is_started;
    TRI_CHECK(level >= MPI_THREAD_FUNNELED, err, TRI_UNSUPPORTED,
              "this MPI was started without support for threads; start it with "
              "MPI_THREAD_FUNNELED or more");
    return TRI_OK;
}

/* True when all ranks came to the end of a run that went well. */
static bool world_finish(struct mpi_world *world)
{
    MPI_Request barrier;
    if (MPI_Ibarrier(world->control, &barrier) != MPI_SUCCESS)
        return false;
    double start = tri_clock_seconds();
    for (;;) {
        int is_done = 0;
        MPI_Test(&barrier, &is_done, MPI_STATUS_IGNORE);
        if (is_done)
            return true;
        tri_mpi_control_poll(world);
        double waited = tri_clock_seconds() - start;
        if (world->failure != MPI_NO_FAILURE || waited > world->base.time_limit_seconds)
            return false;
        tri_mpi_nap(waited);
    }
}

static void mpi_world_free(struct mpi_world *world)
{
    tri_mpi_requests_free(world);
    free(world->search.is_asked);
    free(world->search.has_answered);
    free(world->has_left);
    free(world);
}

static void mpi_world_destroy(tri_world *base)
{
    struct mpi_world *world = (struct mpi_world *)base;
    double seconds =
        base->time_limit_seconds < LEAVE_SECONDS ? base->time_limit_seconds : LEAVE_SECONDS;
    tri_mpi_control_poll(world);
    bool is_good = world->failure == MPI_NO_FAILURE && world_finish(world);
    bool is_together = is_good || tri_mpi_leave(world, seconds);
    tri_mpi_control_fini(world);
    if (is_good) {
        MPI_Comm_free(&world->control);
        MPI_Comm_free(&world->arrivals);
    }
    if (is_together && world->is_ours)
        MPI_Finalize();
    mpi_world_free(world);
}

static bool mpi_is_failed(tri_world *base)
{
    struct mpi_world *world = (struct mpi_world *)base;
    tri_mpi_control_poll(world);
    return world->failure != MPI_NO_FAILURE;
}

static tri_status mpi_connect(struct mpi_world *world, tri_error *err)
{
    MPI_Comm *comms[2] = {&world->control, &world->arrivals};
    for (int i = 0; i < 2; i++) {
        TRI_TRY(world_check(MPI_Comm_dup(MPI_COMM_WORLD, comms[i]), err, "MPI_Comm_dup"));
        TRI_TRY(world_check(MPI_Comm_set_errhandler(*comms[i], MPI_ERRORS_RETURN), err,
                            "MPI_Comm_set_errhandler"));
    }
    world->num_kinds = tri_mpi_num_kinds();
    TRI_TRY(world_check(MPI_Comm_rank(MPI_COMM_WORLD, &world->base.rank), err, "MPI_Comm_rank"));
    return world_check(MPI_Comm_size(MPI_COMM_WORLD, &world->base.size), err, "MPI_Comm_size");
}

tri_status tri_world_create_mpi(double time_limit_seconds, tri_reduce_fn *reduce, tri_error *err,
                                tri_world **world)
{
    bool is_ours = false;
    TRI_TRY(mpi_start(err, &is_ours));
    struct mpi_world *created = calloc(1, sizeof *created);
    TRI_CHECK(created, err, TRI_NOMEM, "out of memory for the world of MPI");
    created->is_ours = is_ours;
    created->base = (tri_world){
        .ops = &tri_mpi_ops,
        .time_limit_seconds = time_limit_seconds,
        .reduce = reduce,
        .err = err,
        .destroy = mpi_world_destroy,
        .abandon = tri_mpi_abandon,
        .staging_bytes = tri_staging_mpi,
        .is_failed = mpi_is_failed,
    };
    tri_status status = mpi_connect(created, err);
    if (status == TRI_OK) {
        size_t size = (size_t)created->base.size;
        created->search.is_asked = calloc(size, sizeof *created->search.is_asked);
        created->search.has_answered = calloc(size, sizeof *created->search.has_answered);
        created->has_left = calloc(size, sizeof *created->has_left);
        if (!created->search.is_asked || !created->search.has_answered || !created->has_left)
            status = tri_error_set(err, TRI_NOMEM, "out of memory for %d ranks of MPI",
                                   created->base.size);
    }
    if (status != TRI_OK) {
        mpi_world_free(created);
        return status;
    }
    *world = &created->base;
    return TRI_OK;
}
