/* SPDX-License-Identifier: Apache-2.0 */
/* The summary over all ranks gives what asking rank by rank gives, also for worlds of thousands. */
#include "t15-worlds.h"

#include <math.h>

static void check_rank_by_rank(const struct world *world)
{
    struct tri_plan_summary summary;
    assert_int_equal(tri_plan_summarise(world->placement, world->err, &summary), TRI_OK);
    size_t heaviest = 0, lightest = SIZE_MAX;
    int heaviest_rank = -1;
    int64_t parameters = 0;
    for (int rank = 0; rank < world->request.world_size; rank++) {
        tri_arena *arena = tri_arena_create();
        struct tri_rank_plan plan = world_rank(world, rank, arena);
        if (plan.total_bytes > heaviest) {
            heaviest = plan.total_bytes;
            heaviest_rank = rank;
        }
        lightest = plan.total_bytes < lightest ? plan.total_bytes : lightest;
        parameters += plan.coordinate[TRI_AXIS_DP] == 0 ? plan.local_parameters : 0;
        tri_arena_destroy(&arena);
    }
    assert_int_equal(summary.heaviest_bytes, heaviest);
    assert_int_equal(summary.heaviest_rank, heaviest_rank);
    assert_int_equal(summary.lightest_bytes, lightest);
    assert_int_equal(summary.total_parameters, parameters);
    assert_int_equal(summary.num_classes, world->placement->num_stages);
}

static void test_same_as_rank_by_rank(void **state)
{
    (void)state;
    struct world world;
    for (int example = 0; world_example(&world, example); example++) {
        check_rank_by_rank(&world);
        world_fini(&world);
    }
    world_init(&world);
    world_grid(&world, 2, 3, 4);
    world.config.use_tp_pp_dp_mapping = true;
    world_plan(&world);
    check_rank_by_rank(&world);
    world_fini(&world);
}

/* Layers split 1, 2, 2, 3: the stage with three is the heaviest. */
static void test_heaviest_rank_of_an_uneven_split(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world.shape = shape_llama(8, 64, 4, 4, 256, 64);
    world_grid(&world, 1, 4, 1);
    snprintf(world.config.pipeline_model_parallel_layout, TRI_OPTION_TEXT, "1,2,2,3");
    world_plan(&world);
    struct tri_plan_summary summary;
    assert_int_equal(tri_plan_summarise(world.placement, world.err, &summary), TRI_OK);
    assert_int_equal(summary.heaviest_rank, 3);
    check_rank_by_rank(&world);
    world_fini(&world);
}

static void test_flops(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_plan(&world);
    struct tri_plan_summary summary;
    assert_int_equal(tri_plan_summarise(world.placement, world.err, &summary), TRI_OK);
    double weights =
        6 * 12.0 * 32 * 32 + 104.0 * 32; /* of matrix products; 101 tokens are padded */
    double expected = (6 * weights + 6.0 * 6 * 24 * 32) * 8 * 24;
    assert_true(fabs(summary.flops_per_step / expected - 1) < 1e-12);
    world_fini(&world);
}

static void test_thousands_of_ranks(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world.shape = shape_llama(96, 12288, 96, 96, 49152, 51200);
    world.shape.seq_length = world.shape.max_position_embeddings = 2048;
    world_grid(&world, 8, 16, 32);
    world.request.seq_length = 2048;
    world.request.micro_batch_size = 1;
    world.request.global_batch_size = 32 * 64;
    world.config.virtual_pipeline_model_parallel_size = 2;
    world.config.use_distributed_optimizer = true;
    world.config.sequence_parallel = true;
    world_plan(&world);
    struct tri_plan_summary summary;
    assert_int_equal(tri_plan_summarise(world.placement, world.err, &summary), TRI_OK);
    assert_true(summary.heaviest_bytes > summary.lightest_bytes);
    tri_arena *arena = tri_arena_create();
    struct tri_rank_plan last = world_rank(&world, 4095, arena);
    assert_int_equal(last.coordinate[TRI_AXIS_PP], 15);
    assert_true(last.total_bytes >= summary.lightest_bytes);
    assert_true(last.total_bytes <= summary.heaviest_bytes);
    tri_arena_destroy(&arena);
    world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_rank_by_rank),
        cmocka_unit_test(test_heaviest_rank_of_an_uneven_split),
        cmocka_unit_test(test_flops),
        cmocka_unit_test(test_thousands_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
