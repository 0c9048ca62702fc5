/* SPDX-License-Identifier: Apache-2.0 */
/* Starting ranks. */
#include "train/launch.h"

#include "kernels/reduce.h"

static tri_status run_one(tri_world *world, tri_rank_fn *body, void *arg)
{
    tri_status status = body(arg, world);
    if (status != TRI_OK && status != TRI_STOPPED)
        world->abandon(world, tri_error_message(world->err, 0));
    tri_world_destroy(&world);
    return status;
}

tri_status tri_launch_run(const struct tri_launch *launch, tri_rank_fn *body, void *arg,
                          tri_error **errs)
{
    tri_world *world = NULL;
    if (launch->mpi) {
        TRI_TRY(tri_world_create_mpi(launch->time_limit_seconds, tri_reduce_in_order, errs[0], &world));
        return run_one(world, body, arg);
    }
    if (launch->ranks > 1)
        return tri_threads_run(launch->ranks, launch->time_limit_seconds, tri_reduce_in_order, body, arg,
                               errs);
    TRI_TRY(tri_world_create_self(tri_reduce_in_order, errs[0], &world));
    return run_one(world, body, arg);
}
