/* SPDX-License-Identifier: Apache-2.0 */
/* Starting ranks. */
#include "train/run_config.h"
#include "trine/launch.h"

#include "comm/comm.h"
#include "kernels/reduce.h"

#include <stdio.h>
#include <stdlib.h>

static tri_status run_one(const struct tri_launch *launch, tri_world *world, tri_rank_fn *body,
                          void *arg)
{
    tri_status status = body(arg, world);
    if (status != TRI_OK && status != TRI_STOPPED)
        world->abandon(world, tri_error_message(world->err, 0));
    if (launch->mpi && launch->report)
        launch->report(launch->report_arg, world->rank, status, world->err);
    tri_world_destroy(&world);
    return status;
}

tri_status tri_launch_run(const struct tri_launch *launch, tri_rank_fn *body, void *arg,
                          tri_error **errs)
{
    tri_world *world = NULL;
    if (launch->mpi) {
        TRI_TRY(
            tri_world_create_mpi(launch->time_limit_seconds, tri_reduce_in_order, errs[0], &world));
        return run_one(launch, world, body, arg);
    }
    if (launch->ranks > 1)
        return tri_threads_run(launch->ranks, launch->time_limit_seconds, tri_reduce_in_order, body,
                               arg, errs);
    TRI_TRY(tri_world_create_self(tri_reduce_in_order, errs[0], &world));
    return run_one(launch, world, body, arg);
}

/* The rank with the cause speaks; ranks that only learned of it stay quiet, unless nobody else
   spoke. */
static void gather_records(tri_error **errs, int num, tri_error *err)
{
    bool spoken = false;
    for (int r = 0; r < num; r++)
        spoken = spoken || (tri_error_count(errs[r]) > 0 && tri_error_status(errs[r]) != TRI_PEER);
    for (int i = 0; i < tri_error_note_count(errs[0]); i++)
        tri_error_note(err, "%s", tri_error_note_message(errs[0], i));
    for (int r = 0; r < num; r++) {
        if (spoken && tri_error_status(errs[r]) == TRI_PEER)
            continue;
        for (int i = 0; i < tri_error_count(errs[r]); i++) {
            char rank[32] = "";
            if (num > 1)
                snprintf(rank, sizeof rank, "rank %d: ", r);
            tri_error_add(err, tri_error_status_at(errs[r], i), "%s%s", rank,
                          tri_error_message(errs[r], i));
        }
    }
}

struct reporter {
    tri_report_fn *report;
    bool has_spoken;
};

/* Under mpi, where a process has one rank. */
static void report_rank(void *arg, int rank, tri_status status, const tri_error *own)
{
    struct reporter *reporter = arg;
    char prefix[32] = "";
    tri_error *said = tri_error_create();
    reporter->has_spoken = true;
    if (!said)
        return;
    if (rank > 0)
        snprintf(prefix, sizeof prefix, "rank %d: ", rank);
    for (int i = 0; rank == 0 && i < tri_error_note_count(own); i++)
        tri_error_note(said, "%s", tri_error_note_message(own, i));
    for (int i = 0; status != TRI_PEER && i < tri_error_count(own); i++)
        tri_error_add(said, tri_error_status_at(own, i), "%s%s", prefix, tri_error_message(own, i));
    reporter->report(said);
    tri_error_destroy(&said);
}

static void report_all(tri_error **errs, int num, tri_report_fn *report, tri_error *err)
{
    tri_error *said = report ? tri_error_create() : err;
    if (!said)
        return;
    gather_records(errs, num, said);
    if (!report)
        return;
    report(said);
    tri_error_destroy(&said);
}

tri_status tri_launch_config(const struct tri_run_config *config, char *const *env,
                             tri_rank_fn *body, void *arg, tri_report_fn *report, tri_error *err)
{
    struct reporter reporter = {.report = report};
    struct tri_launch launch = {
        .ranks = config->train.ranks == TRI_UNSET ? 1 : (int)config->train.ranks,
        .mpi = tri_mpi_was_launched(env),
        .time_limit_seconds = config->train.distributed_timeout_minutes * 60.0,
        .report = report ? report_rank : NULL,
        .report_arg = &reporter,
    };
    int num = launch.mpi ? 1 : launch.ranks;
    tri_error **errs = calloc((size_t)num, sizeof(tri_error *));
    bool made = errs != NULL;
    for (int r = 0; made && r < num; r++)
        made = (errs[r] = tri_error_create()) != NULL;
    tri_status status = made ? tri_launch_run(&launch, body, arg, errs)
                             : tri_error_set(err, TRI_NOMEM, "out of memory for %d ranks", num);
    if (made && !reporter.has_spoken)
        report_all(errs, num, report, err);
    for (int r = 0; errs && r < num; r++)
        tri_error_destroy(&errs[r]);
    free(errs);
    return status;
}
