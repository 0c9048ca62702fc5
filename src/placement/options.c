/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option rows of the run file's placement section. Ranges that depend on other options (what
 * divides what) are checked by tri_placement_plan(), which knows them all.
 */
#include "placement/config.h"

#define FIELD(name) #name, .offset = offsetof(struct tri_placement_config, name)

static const struct tri_option placement_rows[] = {
    {.name = FIELD(tensor_model_parallel_size),
     .type = TRI_OPTION_INT,
     .default_text = "1",
     .flags = TRI_OPTION_POSITIVE,
     .unit = "ranks",
     .help = "ranks that share the matrices of every layer"},
    {.name = FIELD(pipeline_model_parallel_size),
     .type = TRI_OPTION_INT,
     .default_text = "1",
     .flags = TRI_OPTION_POSITIVE,
     .unit = "stages",
     .help = "stages that the layers are spread over"},
    {.name = FIELD(virtual_pipeline_model_parallel_size),
     .type = TRI_OPTION_INT,
     .flags = TRI_OPTION_POSITIVE,
     .unit = "slices",
     .help = "slices of the model on each stage; unset is 1"},
    {.name = FIELD(num_layers_per_virtual_pipeline_stage),
     .type = TRI_OPTION_INT,
     .flags = TRI_OPTION_POSITIVE | TRI_OPTION_HIDDEN,
     .unit = "layers",
     .help = "the other way to say how many slices: layers in each of them"},
    {.name = FIELD(microbatch_group_size_per_vp_stage),
     .type = TRI_OPTION_INT,
     .flags = TRI_OPTION_POSITIVE | TRI_OPTION_HIDDEN,
     .unit = "microbatches",
     .help =
         "microbatches in a row on one slice of an interleaved schedule; unset is the number of "
         "stages",
     .when = "virtual_pipeline_model_parallel_size>1 or num_layers_per_virtual_pipeline_stage "
             "or pipeline_model_parallel_layout"},
    {.name = FIELD(decoder_first_pipeline_num_layers),
     .type = TRI_OPTION_INT,
     .flags = TRI_OPTION_POSITIVE | TRI_OPTION_HIDDEN,
     .unit = "layers",
     .help = "layers on the first stage; the others share the rest"},
    {.name = FIELD(decoder_last_pipeline_num_layers),
     .type = TRI_OPTION_INT,
     .flags = TRI_OPTION_POSITIVE | TRI_OPTION_HIDDEN,
     .unit = "layers",
     .help = "layers on the last stage; the others share the rest"},
    {.name = FIELD(pipeline_model_parallel_layout),
     .type = TRI_OPTION_STRING,
     .default_text = "",
     .flags = TRI_OPTION_HIDDEN,
     .help = "slices in model order as 'Et*3|(tt|)*2tL' (E embedding, t layer, L head) or as layer "
             "counts '3,4'"},
    {.name = FIELD(sequence_parallel),
     .type = TRI_OPTION_BOOL,
     .default_text = "false",
     .help = "cut activations between tensor-parallel regions along the sequence",
     .when = "tensor_model_parallel_size>1"},
    {.name = FIELD(use_tp_pp_dp_mapping),
     .type = TRI_OPTION_BOOL,
     .default_text = "false",
     .flags = TRI_OPTION_HIDDEN,
     .help = "number ranks tp-cp-ep-pp-dp instead of tp-cp-ep-dp-pp",
     .when = "pipeline_model_parallel_size>1 data_parallel_size>1"},
    {.name = FIELD(use_distributed_optimizer),
     .type = TRI_OPTION_BOOL,
     .default_text = "false",
     .help = "spread optimizer state over the data-parallel ranks",
     .when = "data_parallel_size>1"},
    {.name = FIELD(ddp_bucket_size),
     .type = TRI_OPTION_INT,
     .flags = TRI_OPTION_POSITIVE | TRI_OPTION_HIDDEN,
     .unit = "elements",
     .help = "gradients reduced by one message; unset is the larger of 40m and 1m per "
             "data-parallel rank",
     .when = "data_parallel_size>1"},
    {.name = FIELD(team_size),
     .type = TRI_OPTION_INT,
     .flags = TRI_OPTION_POSITIVE,
     .unit = "threads",
     .help = "threads of each rank; unset shares the machine's cores"},
    {.name = FIELD(schedule),
     .type = TRI_OPTION_STRING,
     .default_text = "auto",
     .flags = TRI_OPTION_HIDDEN,
     .help = "auto, no_pipelining, 1f1b, interleaved, or the path of a schedule in text form"},
};

const struct tri_option_table tri_placement_options = {
    .section = "placement",
    .rows = placement_rows,
    .num_rows = sizeof(placement_rows) / sizeof(placement_rows[0]),
    .struct_bytes = sizeof(struct tri_placement_config),
};
