/* SPDX-License-Identifier: Apache-2.0 */
/* The plan in print and as JSON says what the plan holds. */
#include "t15-worlds.h"

#include <jansson.h>

static char *print(const struct world *world, int rank, bool json, bool all_rows)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    tri_arena *arena = tri_arena_create();
    struct tri_rank_plan plan = world_rank(world, rank, arena);
    if (json)
        assert_int_equal(tri_plan_print_json(out, world->placement, &plan), TRI_OK);
    else
        tri_plan_print(out, world->placement, &plan, all_rows);
    fclose(out);
    tri_arena_destroy(&arena);
    return text;
}

static void expect_words(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (!strstr(text, *words))
            fail_msg("'%s' is missing in:\n%s", *words, text);
}

static void test_one_screen(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_grid(&world, 2, 3, 2);
    world.config.use_distributed_optimizer = true;
    world_plan(&world);
    char *text = print(&world, 5, false, false);
    expect_words(text, (const char *const[]){
                           "6 layers, width 32", "vocabulary 101 (104 with padding), tied",
                           "fused (fake)", "12 ranks = tp 2 x pp 3 x dp 2, distributed optimizer",
                           "1f1b: 4 microbatches of 2 x 24 tokens; bubble 50.0 %",
                           "embedding, layers 0-1", "layers 2-3", "layers 4-5, head",
                           "heaviest rank", "rank 5: tp 1, pp 1, dp 0", NULL});
    int lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_true(lines <= 24);
    free(text);
    text = print(&world, 5, false, true);
    expect_words(text, (const char *const[]){"bucket 0, exp_avg_sq", "pipeline, send gradient",
                                             "slice 0 decoder.layers.2, hidden", NULL});
    free(text);
    world_fini(&world);
}

/* Stages beyond the layers hold nothing, and it is said; a shape without a family has no name. */
static void test_empty_stages(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world_grid(&world, 1, 10, 1);
    world_plan(&world);
    world.spec->shape.family[0] = '\0';
    char *text = print(&world, 0, false, false);
    expect_words(text, (const char *const[]){"shape      6 layers", "  embedding\n", "  layer 5\n",
                                             "  nothing\n", "  head\n", NULL});
    free(text);
    world_fini(&world);
}

static int64_t number(const json_t *object, const char *key)
{
    assert_true(json_is_integer(json_object_get(object, key)));
    return json_integer_value(json_object_get(object, key));
}

static void test_json(void **state)
{
    (void)state;
    struct world world;
    for (int example = 0; world_example(&world, example); example++) {
        char *text = print(&world, world.request.world_size - 1, true, false);
        json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(root);
        const json_t *stages = json_object_get(root, "stages");
        const json_t *rank = json_object_get(root, "rank");
        assert_int_equal(json_array_size(stages), world.placement->num_stages);
        int64_t layers = 0, heaviest = 0;
        size_t i, k;
        json_t *stage, *slice;
        json_array_foreach(stages, i, stage)
        {
            int64_t bytes = number(json_object_get(stage, "bytes"), "total");
            heaviest = bytes > heaviest ? bytes : heaviest;
            json_array_foreach(json_object_get(stage, "slices"), k, slice) layers +=
                number(slice, "num_layers");
        }
        assert_int_equal(layers, world.shape.transformer.num_layers);
        assert_int_equal(heaviest, number(json_object_get(root, "summary"), "heaviest_bytes"));
        assert_true(json_array_size(json_object_get(rank, "rows")) > 10);
        assert_true(json_array_size(json_object_get(rank, "actions")) > 0);
        json_decref(root);
        free(text);
        world_fini(&world);
    }
}

static void test_many_stages_fit_a_screen(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    world.shape = shape_llama(60, 32, 4, 4, 48, 101);
    world_grid(&world, 1, 40, 1);
    world_plan(&world);
    char *text = print(&world, 0, false, false);
    expect_words(text, (const char *const[]){"... 24 more stages", "layer 59, head", NULL});
    free(text);
    world_fini(&world);
}

static void test_full_device_is_an_error(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    struct world world;
    world_init(&world);
    world_plan(&world);
    tri_arena *arena = tri_arena_create();
    struct tri_rank_plan plan = world_rank(&world, 0, arena);
    assert_int_equal(tri_plan_print_json(full, world.placement, &plan), TRI_IO);
    fclose(full);
    tri_arena_destroy(&arena);
    world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_screen),
        cmocka_unit_test(test_empty_stages),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_many_stages_fit_a_screen),
        cmocka_unit_test(test_full_device_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
