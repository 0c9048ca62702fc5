/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets and shards: whole units, block borders, equal shards, the tied table alone. */
#include "t15-worlds.h"

#include "base/exact_sum.h"

static void check_params(const struct tri_rank_plan *plan, int dp)
{
    int64_t end = 0, shards = 0;
    int next = 0;
    for (int i = 0; i < plan->num_buckets; i++) {
        const struct tri_bucket_plan *bucket = &plan->buckets[i];
        assert_int_equal(bucket->offset, end);
        assert_int_equal(bucket->elements % (dp * TRI_NORM_BLOCK), 0);
        assert_int_equal(bucket->first_param, next);
        assert_int_equal(bucket->optim_offset, shards);
        int64_t at = bucket->offset;
        for (int k = 0; k < bucket->num_params; k++) {
            const struct tri_param_plan *param = &plan->params[next + k];
            assert_int_equal(param->bucket, i);
            assert_int_equal(param->slice, bucket->slice);
            assert_int_equal(param->offset % TRI_NORM_BLOCK, 0);
            assert_true(param->offset >= at && param->offset < at + TRI_NORM_BLOCK);
            at = param->offset + param->elements;
            assert_true(param->unit - plan->slices[param->slice].first_unit >= bucket->lowest_unit);
        }
        end = bucket->offset + bucket->elements;
        assert_true(at <= end && end - at < (int64_t)(dp + 1) * TRI_NORM_BLOCK);
        if (i > 0 && bucket[-1].slice == bucket->slice)
            assert_true(bucket[-1].lowest_unit >= bucket->lowest_unit);
        next += bucket->num_params;
        shards += bucket->shard_elements;
    }
    assert_int_equal(next, plan->num_params);
    assert_int_equal(shards, plan->shard_elements);
}

static void test_layout_of_buckets(void **state)
{
    (void)state;
    struct world world;
    for (int example = 0; world_example(&world, example); example++) {
        for (int rank = 0; rank < world.request.world_size; rank++) {
            tri_arena *arena = tri_arena_create();
            struct tri_rank_plan plan = world_rank(&world, rank, arena);
            check_params(&plan, world.placement->dp);
            tri_arena_destroy(&arena);
        }
        world_fini(&world);
    }
}

static void test_shards_cover_buckets(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_grid(&world, 1, 1, 3);
    world.config.use_distributed_optimizer = true;
    world.config.ddp_bucket_size = 30000;
    world_plan(&world);
    tri_arena *arena = tri_arena_create();
    struct tri_rank_plan plans[3];
    for (int rank = 0; rank < 3; rank++)
        plans[rank] = world_rank(&world, rank, arena);
    assert_true(plans[0].num_buckets > 1);
    for (int i = 0; i < plans[0].num_buckets; i++) {
        int64_t at = plans[0].buckets[i].offset;
        for (int rank = 0; rank < 3; rank++) {
            assert_int_equal(plans[rank].buckets[i].shard_offset, at);
            assert_int_equal(plans[rank].buckets[i].shard_elements % TRI_NORM_BLOCK, 0);
            at += plans[rank].buckets[i].shard_elements;
        }
        assert_int_equal(at, plans[0].buckets[i].offset + plans[0].buckets[i].elements);
    }
    tri_arena_destroy(&arena);
    world_fini(&world);
}

/* A layer of width 32: 13,248 parameters in 14 blocks of 1,024 and more for the small ones. */
static void test_bucket_size_counts_whole_units(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world.config.ddp_bucket_size = 1;
    world_plan(&world);
    tri_arena *arena = tri_arena_create();
    struct tri_rank_plan plan = world_rank(&world, 0, arena);
    assert_int_equal(plan.num_buckets, 8); /* one per unit */
    for (int i = 0; i < 8; i++)
        assert_int_equal(plan.buckets[i].lowest_unit, 7 - i);
    int64_t layer = plan.buckets[1].elements;
    tri_arena_destroy(&arena);
    tri_placement_destroy(&world.placement);
    world.config.ddp_bucket_size = 2 * layer;
    world_plan(&world);
    arena = tri_arena_create();
    plan = world_rank(&world, 0, arena);
    assert_int_equal(plan.buckets[0].lowest_unit, 5); /* head and two layers */
    assert_int_equal(plan.buckets[1].lowest_unit, 3);
    tri_arena_destroy(&arena);
    tri_placement_destroy(&world.placement);
    world.config.ddp_bucket_size = TRI_UNSET;
    world_plan(&world);
    arena = tri_arena_create();
    plan = world_rank(&world, 0, arena);
    assert_int_equal(plan.num_buckets, 1);
    tri_arena_destroy(&arena);
    world_fini(&world);
}

static const struct tri_bucket_plan *find_tied(const struct tri_rank_plan *plan)
{
    for (int i = 0; i < plan->num_buckets; i++)
        if (plan->buckets[i].tied)
            return &plan->buckets[i];
    return NULL;
}

static void test_tied_table_has_its_own_bucket(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_grid(&world, 2, 3, 2);
    world.config.use_distributed_optimizer = true;
    world_plan(&world);
    tri_arena *arena = tri_arena_create();
    for (int rank = 0; rank < 4; rank++) { /* the first stage's ranks, and their partners */
        struct tri_rank_plan first = world_rank(&world, rank, arena);
        struct tri_rank_plan last = world_rank(&world, rank + 8, arena);
        struct tri_rank_plan middle = world_rank(&world, rank + 4, arena);
        const struct tri_bucket_plan *a = find_tied(&first), *b = find_tied(&last);
        assert_null(find_tied(&middle));
        assert_int_equal(a->num_params, 1);
        assert_int_equal(b->num_params, 1);
        assert_int_equal(a->elements, b->elements);
        assert_int_equal(a->shard_elements, b->shard_elements);
        assert_int_equal(a->shard_offset - a->offset, b->shard_offset - b->offset);
        assert_true(first.params[a->first_param].counted);
        assert_false(last.params[b->first_param].counted);
        assert_string_equal(first.params[a->first_param].spec->name,
                            last.params[b->first_param].spec->name);
        assert_int_equal(b->lowest_unit, last.slices[0].num_units - 1);
    }
    tri_arena_destroy(&arena);
    world_fini(&world);
    world_init(&world); /* together in one slice: one parameter, nothing to exchange */
    world_plan(&world);
    arena = tri_arena_create();
    struct tri_rank_plan alone = world_rank(&world, 0, arena);
    assert_null(find_tied(&alone));
    tri_arena_destroy(&arena);
    world_fini(&world);
}

static void test_parameters_are_counted_once(void **state)
{
    (void)state;
    struct world world;
    for (int example = 0; world_example(&world, example); example++) {
        struct tri_param_count count;
        assert_int_equal(tri_model_count_params(world.spec, world.err, &count), TRI_OK);
        tri_arena *arena = tri_arena_create();
        int64_t total = 0;
        for (int rank = 0; rank < world.request.world_size; rank++) {
            struct tri_rank_plan plan = world_rank(&world, rank, arena);
            if (plan.coordinate[TRI_AXIS_DP] == 0)
                total += plan.local_parameters;
        }
        assert_int_equal(total, count.total);
        tri_arena_destroy(&arena);
        world_fini(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout_of_buckets),
        cmocka_unit_test(test_shards_cover_buckets),
        cmocka_unit_test(test_bucket_size_counts_whole_units),
        cmocka_unit_test(test_tied_table_has_its_own_bucket),
        cmocka_unit_test(test_parameters_are_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
