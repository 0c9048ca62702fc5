/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Question 3: which rank holds and does what. The options of the run file's placement section, with
 * Megatron-LM's names; placement/plan.h turns them into a plan for any rank of any world.
 */
#pragma once

#include "base/options.h"

enum tri_sharding { TRI_SHARD_NONE, TRI_SHARD_OPTIM };

struct tri_placement_config {
    int64_t tensor_model_parallel_size;
    int64_t pipeline_model_parallel_size;
    int64_t virtual_pipeline_model_parallel_size;  /* unset: 1 slice per rank */
    int64_t num_layers_per_virtual_pipeline_stage; /* unset; the other way to say it */
    int64_t microbatch_group_size_per_vp_stage;    /* unset: pipeline size */
    int64_t decoder_first_pipeline_num_layers;     /* unset */
    int64_t decoder_last_pipeline_num_layers;      /* unset */
    char
        pipeline_model_parallel_layout[TRI_OPTION_TEXT]; /* "": none; also counts "3,4" per slice */
    bool sequence_parallel;
    bool use_tp_pp_dp_mapping;
    bool use_distributed_optimizer; /* shards optimizer state over dp */
    int64_t ddp_bucket_size;        /* elements; unset: max(40e6, 1e6 * dp) */
    int64_t team_size;              /* threads per rank; unset: cores / ranks, at least 1 */
    char schedule
        [TRI_OPTION_TEXT]; /* "auto", "no_pipelining", "1f1b", "interleaved", or a file's path */
};
extern const struct tri_option_table tri_placement_options;
