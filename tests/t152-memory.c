/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the arenas: inside their arena, apart while alive, found by name, as many as needed.
   */
#include "t15-worlds.h"

static bool before(struct tri_plan_time a, struct tri_plan_time b)
{
    return a.action != b.action ? a.action < b.action : a.step < b.step;
}

static bool alive_at_once(const struct tri_plan_row *a, const struct tri_plan_row *b)
{
    return !before(a->until, b->from) && !before(b->until, a->from);
}

static bool copies_meet(const struct tri_plan_row *a, const struct tri_plan_row *b)
{
    for (int i = 0; i < a->num_copies; i++)
        for (int k = 0; k < b->num_copies; k++) {
            size_t first = a->offset + (size_t)i * a->stride;
            size_t other = b->offset + (size_t)k * b->stride;
            if (first < other + b->bytes && other < first + a->bytes)
                return true;
        }
    return false;
}

static void check_rows(const struct tri_rank_plan *plan)
{
    size_t total = 0;
    for (int i = 0; i < TRI_NUM_ARENAS; i++)
        total += plan->arena_bytes[i];
    assert_int_equal(total, plan->total_bytes);
    for (int i = 0; i < plan->num_rows; i++) {
        const struct tri_plan_row *row = &plan->rows[i];
        assert_false(before(row->until, row->from));
        assert_int_equal(row->offset % 64, 0);
        assert_int_equal(row->stride % 64, 0);
        assert_true(row->num_copies >= 1);
        assert_true(row->offset + (size_t)(row->num_copies - 1) * row->stride + row->bytes <=
                    plan->arena_bytes[row->arena]);
        for (int k = 0; k < i; k++) {
            const struct tri_plan_row *other = &plan->rows[k];
            if (row->arena == other->arena && alive_at_once(row, other) && copies_meet(row, other))
                fail_msg("'%s' of '%s' and '%s' of '%s' share bytes while both are alive",
                         row->name, row->owner, other->name, other->owner);
            if (strcmp(row->owner, other->owner) == 0 && row->arena == other->arena &&
                before(row->from, other->until))
                assert_true(strcmp(row->name, other->name) != 0 || row->bytes == 0 ||
                            row->arena == TRI_ARENA_WORK);
        }
    }
}

static void test_rows_fit_and_are_apart(void **state)
{
    (void)state;
    struct world world;
    for (int example = 0; world_example(&world, example); example++) {
        for (int stage = 0; stage < world.placement->num_stages; stage++) {
            tri_arena *arena = tri_arena_create();
            int rank = tri_grid_move(&world.placement->grid, 0, TRI_AXIS_PP, stage);
            struct tri_rank_plan plan = world_rank(&world, rank, arena);
            check_rows(&plan);
            tri_arena_destroy(&arena);
        }
        world_fini(&world);
    }
}

/* The builder finds every row of a unit at slot + unit part + row offset, work + row offset, ... */
static void check_builder_view(const struct tri_rank_plan *plan)
{
    const struct tri_placement *placement = plan->placement;
    for (int slice = 0; slice < plan->num_slices; slice++)
        for (int u = 0; u < plan->slices[slice].num_units; u++) {
            const struct tri_unit_size *size =
                &placement->units[plan->slices[slice].first_unit + u];
            size_t slot = tri_rank_plan_slot_offset(plan, slice, 0) +
                          tri_rank_plan_unit_offset(plan, slice, u);
            size_t run = tri_rank_plan_run_offset(plan, slice, u);
            for (int i = 0; i < size->num_rows; i++) {
                const struct tri_size_row *from = &size->rows[i];
                bool work = from->row_class == TRI_ROW_WORK_FORWARD ||
                            from->row_class == TRI_ROW_WORK_BACKWARD;
                size_t base = from->row_class == TRI_ROW_RUN ? run : work ? 0 : slot;
                bool found = false;
                for (int k = 0; k < plan->num_rows && !found; k++)
                    found = plan->rows[k].name == from->name &&
                            plan->rows[k].offset == base + from->offset &&
                            plan->rows[k].bytes == from->bytes;
                assert_true(found);
            }
        }
}

static void test_builder_finds_its_rows(void **state)
{
    (void)state;
    struct world world;
    for (int example = 0; world_example(&world, example); example++) {
        tri_arena *arena = tri_arena_create();
        struct tri_rank_plan plan = world_rank(&world, world.request.world_size - 1, arena);
        check_builder_view(&plan);
        for (int slice = 0; slice + 1 < plan.num_slices; slice++)
            assert_int_equal(tri_rank_plan_slot_offset(&plan, slice + 1, 0),
                             tri_rank_plan_slot_offset(&plan, slice, plan.num_slots[slice]));
        tri_arena_destroy(&arena);
        world_fini(&world);
    }
}

/* Sums that can be done by hand for a model of width 32, microbatches of 2 x 24. */
static void test_known_bytes(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_grid(&world, 1, 2, 2);
    world.config.use_distributed_optimizer = true;
    world.request.checkpoint_staging_bytes = 4096;
    world_plan(&world);
    tri_arena *arena = tri_arena_create();
    struct tri_rank_plan plan = world_rank(&world, 0, arena);
    const size_t hidden = 24 * 2 * 32 * 4;
    /* a layer: qkv 96 x 32 and bias, proj 32 x 32 and bias, fc1 128 x 32 and bias, fc2 32 x 128
       and bias, two norms of weight and bias, in blocks of 1,024 elements: 3+1 +1+1 +4+1 +4+1 +4
       = 20; three of them and the positions (24 x 32: 1 block) make 61, rounded up to 2 x 31; the
       table of 104 x 32 takes 4 */
    assert_int_equal(plan.arena_bytes[TRI_ARENA_PARAMS], (62 + 4) * 1024 * 4);
    assert_int_equal(plan.arena_bytes[TRI_ARENA_GRADS], plan.arena_bytes[TRI_ARENA_PARAMS]);
    assert_int_equal(plan.arena_bytes[TRI_ARENA_OPTIM], plan.arena_bytes[TRI_ARENA_PARAMS]);
    assert_int_equal(plan.num_slots[0], 2);
    assert_int_equal(plan.arena_bytes[TRI_ARENA_SAVED], 2 * plan.slot_bytes[0]);
    assert_int_equal(plan.arena_bytes[TRI_ARENA_COMM],
                     2 * hidden + 4096); /* receives, never sends */
    int row = tri_rank_plan_row(&plan, "pipeline", "receive gradient");
    assert_int_equal(plan.rows[row].num_copies, 2);
    assert_int_equal(plan.rows[row].bytes, hidden);
    assert_int_equal(tri_rank_plan_row(&plan, "pipeline", "send gradient"), -1);
    assert_true(tri_rank_plan_row(&plan, "slice 0 decoder.layers.2", "hidden") >= 0);
    assert_true(tri_rank_plan_row(&plan, "units", "dhidden 1") >= 0);
    assert_int_equal(tri_rank_plan_row(&plan, "slice 0", "input"), -1);
    assert_true(tri_rank_plan_row(&plan, "bucket 1", "exp_avg_sq") >= 0);
    assert_string_equal(tri_arena_name(TRI_ARENA_WORK), "work");
    tri_arena_destroy(&arena);
    world_fini(&world);
}

static void test_forward_only_is_smaller(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world.request.forward_only = true;
    world_plan(&world);
    tri_arena *arena = tri_arena_create();
    struct tri_rank_plan plan = world_rank(&world, 0, arena);
    assert_int_equal(plan.arena_bytes[TRI_ARENA_GRADS], 0);
    assert_int_equal(plan.arena_bytes[TRI_ARENA_OPTIM], 0);
    assert_int_equal(plan.arena_bytes[TRI_ARENA_SAVED],
                     2 * 24 * 2 * 32 * 4); /* two that take turns */
    assert_ptr_equal(plan.schedule->actions, plan.eval_schedule->actions);
    for (int i = 0; i < plan.schedule->num_actions; i++)
        assert_int_equal(plan.schedule->actions[i].kind, TRI_ACTION_FWD);
    tri_arena_destroy(&arena);
    world_fini(&world);
}

static size_t fake_staging(enum tri_comm_op op, int group_size, int64_t count, enum tri_dtype dtype)
{
    return ((size_t)op + 1) * (size_t)group_size * (size_t)count * tri_dtype_bytes(dtype);
}

static void test_staging_of_collectives(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_grid(&world, 2, 1, 2);
    world.request.comm = (struct tri_plan_comm){.staging = fake_staging};
    world_plan(&world);
    tri_arena *arena = tri_arena_create();
    struct tri_rank_plan plan = world_rank(&world, 0, arena);
    int tp = tri_rank_plan_row(&plan, "group tp", "staging");
    int bucket = tri_rank_plan_row(&plan, "bucket 0", "staging");
    assert_int_equal(plan.rows[tp].bytes,
                     fake_staging(TRI_COMM_ALL_REDUCE, 2, 24 * 2 * 32, TRI_DTYPE_F32));
    assert_int_equal(plan.rows[bucket].bytes,
                     fake_staging(TRI_COMM_ALL_REDUCE, 2, plan.buckets[0].elements, TRI_DTYPE_F32));
    tri_arena_destroy(&arena);
    world_fini(&world);
}

/* One key/value head of 8 on two ranks: its rows of k and of v are summed over both. */
static void test_staging_of_shared_heads(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world.shape = shape_llama(7, 32, 4, 1, 48, 101);
    world_grid(&world, 2, 1, 2);
    world.request.comm = (struct tri_plan_comm){.staging = fake_staging};
    world_plan(&world);
    tri_arena *arena = tri_arena_create();
    struct tri_rank_plan plan = world_rank(&world, 0, arena);
    int heads = tri_rank_plan_row(&plan, "group shared_heads 2", "staging");
    int all = tri_rank_plan_row(&plan, "group world", "staging");
    assert_true(heads >= 0 && all >= 0);
    assert_int_equal(plan.rows[heads].bytes,
                     fake_staging(TRI_COMM_ALL_REDUCE, 2, 2 * 8 * 32, TRI_DTYPE_F32));
    assert_int_equal(plan.rows[all].bytes,
                     fake_staging(TRI_COMM_ALL_REDUCE, 4, 65536, TRI_DTYPE_F32));
    tri_arena_destroy(&arena);
    world_fini(&world);
}

/* Other backends behind one implementation need other scratch: the plan follows, and only there. */
static size_t large_gemm(int64_t M, int64_t N, int64_t K, int team_size)
{
    (void)M, (void)N, (void)K, (void)team_size;
    return 1 << 20;
}

static void test_plan_follows_one_module(void **state)
{
    (void)state;
    struct tri_scratch_table large = fake_scratch;
    large.gemm = large_gemm;
    size_t bytes[2][TRI_NUM_ARENAS];
    for (int changed = 0; changed < 2; changed++) {
        struct world world;
        world_init(&world);
        world.request.scratch[1].table = &large;
        if (changed)
            snprintf(world.spec_config.override, TRI_OPTION_LONG_TEXT,
                     "decoder.layers.3.mlp.linear_fc1=plain");
        world_plan(&world);
        tri_arena *arena = tri_arena_create();
        struct tri_rank_plan plan = world_rank(&world, 0, arena);
        memcpy(bytes[changed], plan.arena_bytes, sizeof(bytes[changed]));
        int row = tri_rank_plan_row(&plan, "slice 0 decoder.layers.3.mlp.linear_fc1", "workspace");
        assert_int_equal(plan.rows[row].bytes == 1 << 20, changed);
        row = tri_rank_plan_row(&plan, "slice 0 decoder.layers.2.mlp.linear_fc1", "workspace");
        assert_true(plan.rows[row].bytes < 1 << 20);
        tri_arena_destroy(&arena);
        world_fini(&world);
    }
    assert_true(bytes[1][TRI_ARENA_WORK] > bytes[0][TRI_ARENA_WORK]);
    for (int i = 0; i < TRI_NUM_ARENAS; i++)
        if (i != TRI_ARENA_WORK)
            assert_int_equal(bytes[0][i], bytes[1][i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_fit_and_are_apart),
        cmocka_unit_test(test_builder_finds_its_rows),
        cmocka_unit_test(test_known_bytes),
        cmocka_unit_test(test_forward_only_is_smaller),
        cmocka_unit_test(test_staging_of_collectives),
        cmocka_unit_test(test_staging_of_shared_heads),
        cmocka_unit_test(test_plan_follows_one_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
