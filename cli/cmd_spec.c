/* SPDX-License-Identifier: Apache-2.0 */
/* trine spec RUN.yaml: the module tree with implementations, reasons and sizes on one rank. */
#include "cli/command.h"
#include "cli/report.h"
#include "spec/model_spec.h"
#include "train/session.h"

#include <stdio.h>

/* Without --ranks, the smallest world that the cuts need: sizes do not depend on data
   parallelism. */
static int spec_world_size(const struct tri_run_config *config)
{
    int64_t tp = config->placement.tensor_model_parallel_size;
    int64_t pp = config->placement.pipeline_model_parallel_size;
    bool is_small = tp >= 1 && pp >= 1 && tp <= 65536 && pp <= 65536 / tp;
    if (config->train.ranks != TRI_UNSET || !is_small)
        return tri_cli_world_size(config);
    return (int)(tp * pp);
}

static struct tri_sizing_input spec_sizing(const struct tri_placement *placement)
{
    const struct tri_plan_request *request = &placement->request;
    struct tri_sizing_input input = {
        .shape = &placement->spec->shape,
        .split = placement->split,
        .micro_batch_size = request->micro_batch_size,
        .seq_length = request->seq_length,
        .team_size = request->team_size,
        .shared_head = !placement->tied_exchange,
        .num_scratch = request->num_scratch,
    };
    for (int i = 0; i < request->num_scratch; i++)
        input.scratch[i] = request->scratch[i];
    return input;
}

struct spec_options {
    bool json;
};
static const struct tri_option spec_option_rows[] = {
    {.name = "json",
     .type = TRI_OPTION_BOOL,
     .offset = offsetof(struct spec_options, json),
     .default_text = "false",
     .help = "Print JSON."},
};
static const struct tri_option_table spec_command_options = {
    .section = "",
    .rows = spec_option_rows,
    .num_rows = sizeof(spec_option_rows) / sizeof(spec_option_rows[0]),
    .struct_bytes = sizeof(struct spec_options),
};

static int spec_run(int argc, char **argv)
{
    struct tri_run_config config;
    struct spec_options options;
    tri_option_set_defaults(&spec_command_options, &options);
    struct tri_option_binding own = {.table = &spec_command_options, .config = &options};
    int exit_code = tri_cli_read_run("spec", argc, argv, &own, &config);
    if (exit_code >= 0)
        return exit_code;
    tri_error *err = tri_error_create();
    struct tri_model_spec *spec = NULL;
    struct tri_placement *placement = NULL;
    tri_run_plan(&config, NULL, spec_world_size(&config), TRI_USE_TRAINING, 0, NULL, err, &spec,
                 &placement);
    if (tri_error_count(err) > 0) {
        exit_code = tri_cli_refuse(err, "spec");
    } else {
        struct tri_sizing_input input = spec_sizing(placement);
        exit_code = TRI_EXIT_DONE;
        tri_status status = options.json ? tri_model_spec_print_json(stdout, spec, &input, err)
                                         : tri_model_spec_print(stdout, spec, &input, err);
        if (status != TRI_OK)
            exit_code = TRI_EXIT_FAILED;
        tri_cli_print_record(err);
    }
    tri_placement_destroy(&placement);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
    return exit_code;
}

const struct tri_command tri_cmd_spec = {
    .name = "spec",
    .usage = "RUN.yaml|MODEL",
    .summary = "the module tree, with implementations and sizes",
    .run = spec_run,
};
