/* SPDX-License-Identifier: Apache-2.0 */
/* The placement of a run: what it decides, and what it refuses, all at once and with a way out. */
#include "t15-worlds.h"

static void test_default_world(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_plan(&world);
    const struct tri_placement *p = world.placement;
    assert_int_equal(p->num_microbatches, 4);
    assert_int_equal(p->num_stages * p->num_slices, 1);
    assert_int_equal(p->padded_vocab_size, 104);
    assert_false(p->tied_exchange);
    assert_true(p->sizing.shared_head);
    assert_string_equal(p->schedule.name, "no_pipelining");
    assert_int_equal(p->slices[0].num_units, 8);
    world_fini(&world);
}

static void test_pipeline_world(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_grid(&world, 2, 2, 3);
    world.config.virtual_pipeline_model_parallel_size = 2;
    world_plan(&world);
    const struct tri_placement *p = world.placement;
    assert_int_equal(p->dp, 3);
    assert_true(p->tied_exchange);
    assert_int_equal(p->padded_vocab_size, 104);
    assert_string_equal(p->schedule.name, "interleaved");
    assert_int_equal(p->slices[1].first_unit, 4); /* stage 0: E 1 | 2 3; stage 1: ... */
    world_fini(&world);
}

static void test_sequence_parallel_alone_is_off(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world.config.sequence_parallel = true;
    world_plan(&world);
    assert_false(world.placement->config.sequence_parallel);
    assert_int_equal(world.placement->split.sp, 1);
    world_fini(&world);
}

static void test_all_problems_at_once(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_grid(&world, 3, 2, 1);
    world.request.world_size = 7;
    world.config.decoder_first_pipeline_num_layers = 6;
    assert_int_equal(world_try(&world), TRI_INVALID);
    assert_null(world.placement);
    assert_true(
        error_says(world.err, "'7 ranks' are no multiple of tp 3 x cp 1 x pp 2 = 6; use 6 or 12"));
    assert_true(error_says(world.err, "does not divide 'num_attention_heads' 4; use 1, 2 or 4"));
    assert_true(error_says(world.err, "'decoder_first_pipeline_num_layers' 6"));
    world_fini(&world);
}

static void test_batch_layout_and_schedule_together(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_grid(&world, 1, 4, 1);
    world.config.virtual_pipeline_model_parallel_size = 2;
    world.config.tensor_model_parallel_size = 3;
    world.request.world_size = 12;
    world.request.global_batch_size = 6;
    assert_int_equal(world_try(&world), TRI_INVALID);
    assert_true(error_says(world.err, "'num_attention_heads'"));
    assert_true(error_says(world.err, "3 microbatches on 4 stages with 2 slices"));
    tri_error_clear(world.err);
    world.request.global_batch_size = 7;
    assert_int_equal(world_try(&world), TRI_INVALID);
    assert_true(error_says(world.err,
                           "'global_batch_size' 7 is no multiple of 'micro_batch_size' 2 x 1 "
                           "data-parallel ranks = 2; use 6 or 8"));
    world_fini(&world);
}

static void test_refusals_one_by_one(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world.request.global_batch_size = 1;
    assert_int_equal(world_try(&world), TRI_INVALID);
    assert_true(error_says(world.err, "= 2; use 2"));
    tri_error_clear(world.err);
    world.request.global_batch_size = TRI_UNSET;
    world.request.micro_batch_size = 0;
    assert_int_equal(world_try(&world), TRI_INVALID);
    assert_true(error_says(world.err, "'global_batch_size' is not set"));
    assert_true(error_says(world.err, "'micro_batch_size' is 0"));
    tri_error_clear(world.err);
    world.request.micro_batch_size = INT64_MAX / 2;
    world.request.global_batch_size = 8;
    assert_int_equal(world_try(&world), TRI_INVALID);
    tri_error_clear(world.err);
    world.request.micro_batch_size = 2;
    world.config.ddp_bucket_size = 0;
    world.config.tensor_model_parallel_size = -1;
    assert_int_equal(world_try(&world), TRI_INVALID);
    assert_true(error_says(world.err, "'ddp_bucket_size' is 0"));
    assert_true(error_says(world.err, "'tensor_model_parallel_size' is -1"));
    tri_error_clear(world.err);
    world.config.ddp_bucket_size = TRI_UNSET;
    world_grid(&world, 2, 1, 1);
    world.config.sequence_parallel = true;
    world.request.seq_length = 23;
    assert_int_equal(world_try(&world), TRI_INVALID);
    assert_true(error_says(world.err, "'seq_length' 23"));
    tri_error_clear(world.err);
    world.request.seq_length = 24;
    snprintf(world.config.schedule, TRI_OPTION_TEXT, "zigzag");
    assert_int_equal(world_try(&world), TRI_INVALID);
    assert_true(error_says(world.err, "schedule 'zigzag' is no file"));
    world_fini(&world);
}

/* More stages than units: nothing is lost, and the stage that is over passes on what it gets. */
static void test_stage_without_units(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_grid(&world, 1, 9, 1);
    assert_int_equal(world_try(&world), TRI_OK);
    int units = 0, empty = 0;
    for (int i = 0; i < 9; i++) {
        units += world.placement->slices[i].num_units;
        empty += world.placement->slices[i].num_units == 0;
    }
    assert_int_equal(units, world.placement->spec->num_units);
    assert_int_equal(empty, 9 - units);
    for (int rank = 0; rank < 9; rank++) {
        tri_arena *arena = tri_arena_create();
        struct tri_rank_plan plan;
        assert_int_equal(tri_rank_plan_make(world.placement, rank, arena, world.err, &plan),
                         TRI_OK);
        tri_arena_destroy(&arena);
    }
    world_fini(&world);
}

static void test_missing_kernels(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world.request.scratch[0].implementation = "other";
    world.request.num_scratch = 1;
    assert_int_equal(world_try(&world), TRI_UNSUPPORTED);
    assert_null(world.placement);
    world_fini(&world);
}

static void test_rank_outside_world(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_plan(&world);
    tri_arena *arena = tri_arena_create();
    struct tri_rank_plan plan;
    assert_int_equal(tri_rank_plan_make(world.placement, 1, arena, world.err, &plan), TRI_INVALID);
    assert_true(error_says(world.err, "rank 1 is not in a world of 1"));
    tri_arena_destroy(&arena);
    world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_world),
        cmocka_unit_test(test_pipeline_world),
        cmocka_unit_test(test_sequence_parallel_alone_is_off),
        cmocka_unit_test(test_all_problems_at_once),
        cmocka_unit_test(test_batch_layout_and_schedule_together),
        cmocka_unit_test(test_refusals_one_by_one),
        cmocka_unit_test(test_stage_without_units),
        cmocka_unit_test(test_missing_kernels),
        cmocka_unit_test(test_rank_outside_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
