/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generators: the order of forwards and backwards against what Megatron-LM's own schedules do
 * (golden/placement/schedule.json), soundness over all small pipelines, bubbles, slots, refusals.
 */
#include "t50-schedules.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static int optional(const json_t *object, const char *key, int otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? (int)json_integer_value(value) : otherwise;
}

/* The forwards and backwards of a stage as "F0.0 B0.0", the parts of a cut backward as one. */
static char *order_of(const struct tri_rank_schedule *rank)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < rank->num_actions; i++) {
        const struct tri_action *a = &rank->actions[i];
        const char *space = ftell(out) ? " " : "";
        if (a->kind == TRI_ACTION_FWD)
            fprintf(out, "%sF%d.%d", space, a->microbatch, a->slice);
        else if (a->kind == TRI_ACTION_BWD && a->unit == 0)
            fprintf(out, "%sB%d.%d", space, a->microbatch, a->slice);
    }
    fclose(out);
    return text;
}

static void check_order(const struct tri_schedule *schedule, const json_t *item, bool forward_only)
{
    for (int stage = 0; stage < schedule->num_stages; stage++) {
        const json_t *golden =
            forward_only
                ? json_array_get(json_object_get(item, "forward_only_order"), 0)
                : json_object_get(json_array_get(json_object_get(item, "ranks"), (size_t)stage),
                                  "order");
        char *text = order_of(&schedule->ranks[stage]);
        assert_string_equal(text, json_string_value(golden));
        free(text);
    }
}

static void check_case(const json_t *item, bool forward_only)
{
    struct pipe pipe;
    int pp = optional(item, "pp", 1);
    pipe_init(&pipe, pp, optional(item, "vp", 1), optional(item, "microbatches", 0),
              optional(item, "microbatch_group_size", pp));
    pipe.input.forward_only = forward_only;
    tri_arena *arena = tri_arena_create();
    tri_error *err = tri_error_create();
    struct tri_schedule schedule;
    tri_status status = tri_schedule_plan("auto", &pipe.input, arena, err, &schedule);
    if (json_object_get(item, "rejected")) {
        assert_int_equal(status, TRI_INVALID);
        assert_int_equal(tri_error_count(err), 1);
    } else {
        assert_int_equal(status, TRI_OK);
        check_order(&schedule, item, forward_only);
        expect_sound(&schedule, &pipe.input);
    }
    tri_error_destroy(&err);
    tri_arena_destroy(&arena);
}

static void test_orders_equal_megatron(void **state)
{
    (void)state;
    json_t *root = json_load_file("golden/placement/schedule.json", 0, NULL);
    assert_non_null(root);
    size_t index;
    json_t *item;
    json_array_foreach(json_object_get(root, "cases"), index, item)
    {
        check_case(item, false);
        check_case(item, true);
    }
    assert_true(index > 10);
    json_decref(root);
}

/* Plans and proves one pipeline; false: the generator refuses it. */
static bool plan_and_prove(struct pipe *pipe, bool forward_only, double *bubble)
{
    tri_arena *arena = tri_arena_create();
    struct tri_schedule schedule;
    pipe->input.forward_only = forward_only;
    tri_status status = tri_schedule_plan("auto", &pipe->input, arena, NULL, &schedule);
    if (status == TRI_OK) {
        expect_sound(&schedule, &pipe->input);
        *bubble = tri_schedule_bubble(&schedule);
    }
    tri_arena_destroy(&arena);
    return status == TRI_OK;
}

static void test_all_small_pipelines(void **state)
{
    (void)state;
    int proved = 0, refused = 0;
    for (int p = 1; p <= 8; p++)
        for (int v = 1; v <= (p == 1 ? 1 : 4); v++)
            for (int m = 1; m <= 16; m++)
                for (int group = p; group <= (v == 1 ? p : m > p ? m : p); group++) {
                    struct pipe pipe;
                    double bubble;
                    pipe_init(&pipe, p, v, m, group);
                    bool good = plan_and_prove(&pipe, false, &bubble);
                    assert_int_equal(plan_and_prove(&pipe, true, &bubble), good);
                    proved += good;
                    refused += !good;
                }
    assert_true(proved > 500);
    assert_true(refused > 0);
}

static void test_empty_slices_pass_on(void **state)
{
    (void)state;
    struct pipe pipe;
    double bubble;
    pipe_init(&pipe, 4, 2, 8, 0);
    pipe.num_units[2] = pipe.num_units[5] = 0;
    pipe.num_buckets[2] = pipe.num_buckets[5] = 0;
    assert_true(plan_and_prove(&pipe, false, &bubble));
    assert_true(plan_and_prove(&pipe, true, &bubble));
}

static void test_bubbles(void **state)
{
    (void)state;
    static const struct {
        int p, v, m;
        double bubble;
    } cases[] = {
        {1, 1, 3, 0},       {4, 1, 8, 3.0 / 8}, {4, 2, 8, 3.0 / 16}, {4, 2, 4, 3.0 / 8},
        {4, 1, 1, 3},       {4, 1, 2, 1.5},     {4, 1, 3, 1},        {8, 4, 16, 7.0 / 64},
        {2, 2, 4, 1.0 / 8}, {3, 1, 7, 2.0 / 7},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pipe pipe;
        double bubble;
        pipe_init(&pipe, cases[i].p, cases[i].v, cases[i].m, 0);
        assert_true(plan_and_prove(&pipe, false, &bubble));
        assert_true(fabs(bubble - cases[i].bubble) < 1e-9);
    }
}

static void test_slots_in_flight(void **state)
{
    (void)state;
    for (int m = 1; m <= 9; m++) {
        struct pipe pipe;
        pipe_init(&pipe, 4, 1, m, 0);
        tri_arena *arena = tri_arena_create();
        struct tri_schedule schedule;
        assert_int_equal(tri_schedule_plan("1f1b", &pipe.input, arena, NULL, &schedule), TRI_OK);
        for (int stage = 0; stage < 4; stage++)
            assert_int_equal(schedule.ranks[stage].num_slots[0], m < 4 - stage ? m : 4 - stage);
        tri_arena_destroy(&arena);
    }
}

static void test_reduces_follow_their_units(void **state)
{
    (void)state;
    struct pipe pipe;
    pipe_init(&pipe, 1, 1, 2, 0);
    pipe.num_units[0] = 5;
    pipe.num_buckets[0] = 3;
    memcpy(pipe.bucket_units[0], (const int[]){2, 0, 0}, sizeof(pipe.bucket_units[0]));
    tri_arena *arena = tri_arena_create();
    struct tri_schedule schedule;
    assert_int_equal(tri_schedule_plan("auto", &pipe.input, arena, NULL, &schedule), TRI_OK);
    expect_sound(&schedule, &pipe.input);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    tri_schedule_print(out, &schedule);
    fclose(out);
    assert_string_equal(text,
                        "rank 0: FWD 0.0 BWD 0.0 FWD 1.0 BWD 1.0[2:3] REDUCE 0.0 BWD 1.0[0:2] "
                        "REDUCE 1.0 REDUCE 2.0\n");
    free(text);
    tri_arena_destroy(&arena);
}

static void expect_refusal(const char *name, int p, int v, int m, int group, const char *words)
{
    struct pipe pipe;
    pipe_init(&pipe, p, v, m, group);
    tri_arena *arena = tri_arena_create();
    tri_error *err = tri_error_create();
    struct tri_schedule schedule;
    assert_int_equal(tri_schedule_plan(name, &pipe.input, arena, err, &schedule), TRI_INVALID);
    if (!strstr(tri_error_message(err, 0), words))
        fail_msg("'%s' does not say '%s'", tri_error_message(err, 0), words);
    tri_error_destroy(&err);
    tri_arena_destroy(&arena);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refusal("auto", 4, 2, 3, 0, "3 microbatches on 4 stages with 2 slices");
    expect_refusal("auto", 4, 2, 3, 0, "use 4 microbatches");
    expect_refusal("auto", 4, 2, 6, 0, "use 4 or 8 microbatches");
    expect_refusal("auto", 4, 2, 8, 3, "use 4 or more");
    expect_refusal("1f1b", 2, 2, 4, 0, "use 'interleaved'");
    expect_refusal("interleaved", 2, 1, 4, 0, "virtual_pipeline_model_parallel_size");
    expect_refusal("no_pipelining", 2, 1, 4, 0, "use 'auto'");
    expect_refusal("1f2b", 2, 1, 4, 0, "none of auto");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders_equal_megatron),
        cmocka_unit_test(test_all_small_pipelines),
        cmocka_unit_test(test_empty_slices_pass_on),
        cmocka_unit_test(test_bubbles),
        cmocka_unit_test(test_slots_in_flight),
        cmocka_unit_test(test_reduces_follow_their_units),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
