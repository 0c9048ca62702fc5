/* SPDX-License-Identifier: Apache-2.0 */
/* Invented worlds for the tests of the plan: a model, a grid and a batch in a few numbers. */
#pragma once

#include "placement/plan.h"
#include "t1-sizing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct world {
    struct tri_gpt_config shape;
    struct tri_spec_config spec_config;
    struct tri_placement_config config;
    struct tri_plan_request request;
    struct tri_model_spec *spec;
    struct tri_placement *placement;
    tri_error *err;
};

/* One rank, a GPT-2 of 6 layers, tied, vocabulary 101, batches of 2 x 4 microbatches. */
static inline void world_init(struct world *world)
{
    *world = (struct world){.shape = shape_gpt2(6, 32, 4, 101, 24)};
    tri_option_set_defaults(&tri_spec_options, &world->spec_config);
    world->shape.make_vocab_size_divisible_by = 4;
    tri_option_set_defaults(&tri_placement_options, &world->config);
    world->request = (struct tri_plan_request){
        .world_size = 1,
        .micro_batch_size = 2,
        .global_batch_size = 8,
        .seq_length = 24,
        .team_size = 2,
        .optimizer_bytes = 8,
        .num_moments = 2,
        .scratch = {{"fused", &fake_scratch}, {"plain", &fake_scratch}},
        .num_scratch = 2,
    };
    world->err = tri_error_create();
}

/* A grid of tp x pp x dp ranks with four microbatches each. */
static inline void world_grid(struct world *world, int tp, int pp, int dp)
{
    world->config.tensor_model_parallel_size = tp;
    world->config.pipeline_model_parallel_size = pp;
    world->request.world_size = tp * pp * dp;
    world->request.global_batch_size = world->request.micro_batch_size * dp * 4;
}

static inline tri_status world_try(struct world *world)
{
    if (!world->spec && tri_model_spec_create(&world->shape, &world->spec_config, world->err,
                                              &world->spec) != TRI_OK)
        fail_msg("%s", tri_error_message(world->err, 0));
    return tri_placement_plan(world->spec, &world->config, &world->request, world->err,
                              &world->placement);
}

static inline void world_plan(struct world *world)
{
    if (world_try(world) != TRI_OK)
        fail_msg("%s", tri_error_message(world->err, 0));
}

static inline struct tri_rank_plan world_rank(const struct world *world, int rank, tri_arena *arena)
{
    struct tri_rank_plan plan;
    assert_int_equal(tri_rank_plan_make(world->placement, rank, arena, world->err, &plan), TRI_OK);
    return plan;
}

static inline void world_fini(struct world *world)
{
    tri_placement_destroy(&world->placement);
    tri_model_spec_destroy(&world->spec);
    tri_error_destroy(&world->err);
}

/* The grids that the tests of buckets and memory go through: number i, or false when there is
   none. */
static inline bool world_example(struct world *world, int i)
{
    static const struct {
        int tp, pp, dp, vpp;
        bool llama, sequence, sharded, forward_only;
        const char *schedule;
    } examples[] = {
        {.tp = 1, .pp = 1, .dp = 1},
        {.tp = 2, .pp = 1, .dp = 2, .sequence = true, .sharded = true},
        {.tp = 1, .pp = 3, .dp = 2, .sharded = true},
        {.tp = 2, .pp = 2, .dp = 3, .vpp = 2, .sequence = true, .sharded = true},
        {.tp = 1, .pp = 4, .dp = 1, .vpp = 2, .llama = true},
        {.tp = 4, .pp = 1, .dp = 1, .llama = true},
        {.tp = 1, .pp = 2, .dp = 1, .schedule = "golden/placement/zero-bubble-pp2-m4.txt"},
        {.tp = 1,
         .pp = 2,
         .dp = 2,
         .llama = true,
         .sharded = true,
         .schedule = "golden/placement/zero-bubble-pp2-m4.txt"},
        {.tp = 1, .pp = 1, .dp = 1, .forward_only = true},
        {.tp = 2, .pp = 2, .dp = 1, .vpp = 2, .llama = true, .forward_only = true},
    };
    if (i >= (int)(sizeof(examples) / sizeof(examples[0])))
        return false;
    world_init(world);
    if (examples[i].llama) {
        world->shape = shape_llama(7, 32, 4, 4, 48, 101);
        world->shape.make_vocab_size_divisible_by = 4;
    }
    world_grid(world, examples[i].tp, examples[i].pp, examples[i].dp);
    if (examples[i].vpp)
        world->config.virtual_pipeline_model_parallel_size = examples[i].vpp;
    world->config.sequence_parallel = examples[i].sequence;
    world->config.use_distributed_optimizer = examples[i].sharded;
    world->config.ddp_bucket_size = 20000;
    world->request.forward_only = examples[i].forward_only;
    world->request.checkpoint_staging_bytes = 1000 + (size_t)i;
    if (examples[i].schedule)
        snprintf(world->config.schedule, TRI_OPTION_TEXT, "%s", examples[i].schedule);
    world_plan(world);
    return true;
}
