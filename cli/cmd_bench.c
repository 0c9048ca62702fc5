/* SPDX-License-Identifier: Apache-2.0 */
/* trine bench kernels|step: speed, as CSV, with its share of the machine's limit. */
#include "cli/command.h"
#include "cli/report.h"
#include "cli/request.h"
#include "kernels/bench.h"
#include "train/bench.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct options {
    int64_t repeats;
    char backend[TRI_OPTION_TEXT];
    char only[TRI_OPTION_TEXT];
};

static const struct tri_option rows[] = {
    {.name = "repeats",
     .type = TRI_OPTION_INT,
     .offset = offsetof(struct options, repeats),
     .default_text = "5",
     .min = 1,
     .max = 101,
     .help = "timings of each figure; the median counts"},
    {.name = "backend",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct options, backend),
     .default_text = "cpu_fast",
     .help = "kernels: which operation table"},
    {.name = "only",
     .type = TRI_OPTION_STRING,
     .offset = offsetof(struct options, only),
     .help = "kernels: only operations whose name contains this"},
};
static const struct tri_option_table table = {
    .section = "", .rows = rows, .num_rows = 3, .struct_bytes = sizeof(struct options)};

static int bench_kernels(const struct options *options, const struct tri_run_config *config)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t team = config->placement.team_size;
    struct tri_kernels_bench bench = {
        .backend = options->backend,
        .team_size = team == TRI_UNSET ? (int)cores : (int)team,
        .repeats = (int)options->repeats,
        .only = options->only[0] ? options->only : NULL,
    };
    tri_error *err = tri_error_create();
    tri_status status = tri_kernels_bench(stdout, &bench, err);
    tri_cli_print_record(err);
    tri_error_destroy(&err);
    return status == TRI_OK ? TRI_EXIT_DONE : TRI_EXIT_FAILED;
}

static int bench_step(const struct options *options, const struct tri_run_config *config)
{
    int exit_code = tri_cli_check_run("bench", config, 0);
    if (exit_code >= 0)
        return exit_code;
    struct tri_bench_request request = {
        .config = config, .repeats = (int)options->repeats, .out = stdout};
    return tri_cli_launch(config, tri_bench_step, &request);
}

static int bench_run(int argc, char **argv)
{
    struct options options;
    struct tri_option_binding own = {.table = &table, .config = &options};
    struct tri_run_config config;
    const char *what = argc > 1 ? argv[1] : "";
    bool kernels = strcmp(what, "kernels") == 0, step = strcmp(what, "step") == 0;
    if (!kernels && !step && strcmp(what, "--help") != 0 && strcmp(what, "-h") != 0) {
        fprintf(stderr, "error: '%s' is no benchmark; use kernels or step\n", what);
        return TRI_EXIT_REQUEST;
    }
    int skip = kernels || step;
    tri_option_set_defaults(&table, &options);
    int exit_code = tri_cli_read_run("bench", argc - skip, argv + skip, &own, &config);
    if (exit_code >= 0)
        return exit_code;
    return kernels ? bench_kernels(&options, &config) : bench_step(&options, &config);
}

const struct tri_command tri_cmd_bench = {
    .name = "bench",
    .usage = "step|kernels [RUN.yaml]",
    .summary = "measure kernels or whole training steps",
    .run = bench_run,
};
