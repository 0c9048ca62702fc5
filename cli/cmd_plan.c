/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trine plan RUN.yaml: the three answers, who holds which layers, bytes by purpose and the
 * schedule, for any number of ranks on one core, allocating nothing. It needs no data section.
 */
#include "cli/command.h"
#include "cli/report.h"
#include "cli/request.h"
#include "spec/model_spec.h"
#include "train/communicator.h"
#include "train/session.h"

#include <stdio.h>

extern char **environ;

struct plan_options {
    int64_t rank;
    char communicator[TRI_OPTION_TEXT];
    bool json, all_rows, print_schedule;
};

#define FIELD(name) #name, .offset = offsetof(struct plan_options, name)

static const struct tri_option plan_rows[] = {
    {.name = FIELD(rank),
     .type = TRI_OPTION_INT,
     .flags = TRI_OPTION_NON_NEGATIVE,
     .help = "the rank to show in detail; the heaviest one when unset"},
    {.name = FIELD(communicator),
     .type = TRI_OPTION_STRING,
     .default_text = "",
     .help = "whose staging to count: 'mpi', or 'threads' for ranks inside one process; unset: mpi "
             "under its launcher, else threads"},
    {.name = FIELD(json),
     .type = TRI_OPTION_BOOL,
     .default_text = "false",
     .help = "print one JSON object instead of text"},
    {.name = FIELD(all_rows),
     .type = TRI_OPTION_BOOL,
     .default_text = "false",
     .help = "list every row of the rank's memory"},
    {.name = FIELD(print_schedule),
     .type = TRI_OPTION_BOOL,
     .default_text = "false",
     .help = "print the schedule alone, in the text form that --schedule reads"},
};

static const struct tri_option_table plan_options = {
    .section = "",
    .rows = plan_rows,
    .num_rows = sizeof(plan_rows) / sizeof(plan_rows[0]),
    .struct_bytes = sizeof(struct plan_options),
};

static tri_status plan_show_rank(const struct plan_options *options,
                                 const struct tri_placement *placement, tri_arena *arena,
                                 tri_error *err)
{
    int rank = 0;
    if (options->rank == TRI_UNSET) {
        struct tri_plan_summary summary;
        TRI_TRY(tri_plan_summarise(placement, err, &summary));
        rank = summary.heaviest_rank;
    } else if (options->rank < placement->grid.world_size) {
        rank = (int)options->rank;
    } else {
        return tri_error_add(err, TRI_INVALID, "'rank' %lld is not in a world of %d; use 0 to %d",
                             (long long)options->rank, placement->grid.world_size,
                             placement->grid.world_size - 1);
    }
    struct tri_rank_plan plan;
    TRI_TRY(tri_rank_plan_make(placement, rank, arena, err, &plan));
    if (!options->json) {
        tri_plan_print(stdout, placement, &plan, options->all_rows);
        return TRI_OK;
    }
    tri_status status = tri_plan_print_json(stdout, placement, &plan);
    TRI_CHECK(status == TRI_OK || status == TRI_IO, err, status,
              "the plan cannot be made into JSON");
    return TRI_OK; /* what could not be written is found when the output is closed */
}

static tri_status plan_show(const struct plan_options *options,
                            const struct tri_placement *placement, tri_error *err)
{
    if (options->print_schedule) {
        tri_schedule_print(stdout, &placement->schedule);
        return TRI_OK;
    }
    tri_arena *arena = tri_arena_create();
    TRI_CHECK(arena, err, TRI_NOMEM, "out of memory while planning");
    tri_status status = plan_show_rank(options, placement, arena, err);
    tri_arena_destroy(&arena);
    return status;
}

static int plan_run(int argc, char **argv)
{
    struct tri_run_config config;
    struct plan_options options;
    tri_option_set_defaults(&plan_options, &options);
    struct tri_option_binding own = {.table = &plan_options, .config = &options};
    int exit_code = tri_cli_read_run("plan", argc, argv, &own, &config);
    if (exit_code >= 0)
        return exit_code;
    tri_error *err = tri_error_create();
    struct tri_model_spec *spec = NULL;
    struct tri_placement *placement = NULL;
    struct tri_plan_comm comm = {0};
    int num_ranks = tri_cli_world_size(&config);
    tri_communicator_plan(options.communicator, tri_mpi_was_launched(environ), num_ranks, err,
                          &comm);
    tri_status status = tri_run_plan(&config, NULL, num_ranks, tri_run_training_use(&config), 0,
                                     &comm, err, &spec, &placement);
    tri_cli_check_rest(&config, err);
    if (status == TRI_OK)
        status = tri_error_status(err);
    if (status == TRI_OK)
        status = plan_show(&options, placement, err);
    exit_code = TRI_EXIT_DONE;
    if (status == TRI_NOMEM || status == TRI_BUG)
        exit_code = TRI_EXIT_FAILED;
    if (status != TRI_OK && exit_code == TRI_EXIT_DONE)
        exit_code = tri_cli_refuse(err, "plan");
    else
        tri_cli_print_record(err);
    tri_placement_destroy(&placement);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
    return exit_code;
}

const struct tri_command tri_cmd_plan = {
    .name = "plan",
    .usage = "RUN.yaml|MODEL",
    .summary = "who does and holds what, before anything is allocated",
    .run = plan_run,
};
