/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules as text: what is printed reads back the same, own orders are proved, bad text is
   refused. */
#include "t50-schedules.h"

#include <stdlib.h>
#include <unistd.h>

static char *print(const struct tri_schedule *schedule)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    tri_schedule_print(out, schedule);
    fclose(out);
    return text;
}

/* A temporary file that holds text; the caller unlinks it. */
static void write_file(char *path, const char *text)
{
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
    close(descriptor);
}

static void check_round_trip(int p, int v, int m)
{
    struct pipe pipe;
    pipe_init(&pipe, p, v, m, 0);
    tri_arena *arena = tri_arena_create();
    struct tri_schedule schedule, again;
    assert_int_equal(tri_schedule_plan("auto", &pipe.input, arena, NULL, &schedule), TRI_OK);
    char *text = print(&schedule), path[] = "/tmp/trine-schedule-XXXXXX";
    write_file(path, text);
    assert_int_equal(tri_schedule_plan(path, &pipe.input, arena, NULL, &again), TRI_OK);
    unlink(path);
    for (int stage = 0; stage < p; stage++) {
        const struct tri_rank_schedule *a = &schedule.ranks[stage], *b = &again.ranks[stage];
        assert_int_equal(a->num_actions, b->num_actions);
        assert_int_equal(a->num_send_staging, b->num_send_staging);
        for (int i = 0; i < a->num_actions; i++)
            assert_memory_equal(&a->actions[i], &b->actions[i], sizeof(a->actions[i]));
        for (int i = 0; i < v; i++)
            assert_int_equal(a->num_slots[i], b->num_slots[i]);
    }
    expect_sound(&again, &pipe.input);
    free(text);
    tri_arena_destroy(&arena);
}

static void test_print_and_read_back(void **state)
{
    (void)state;
    check_round_trip(1, 1, 4);
    check_round_trip(3, 1, 5);
    check_round_trip(2, 2, 4);
    check_round_trip(4, 3, 8);
}

static void test_split_backward(void **state)
{
    (void)state;
    static const char path[] = "golden/placement/zero-bubble-pp2-m4.txt";
    struct pipe pipe;
    pipe_init(&pipe, 2, 1, 4, 0);
    pipe.num_units[0] = 3;
    pipe.num_units[1] = 4;
    pipe.num_buckets[0] = pipe.num_buckets[1] = 2;
    pipe.bucket_units[0][0] = pipe.bucket_units[1][0] = 2;
    pipe.bucket_units[0][1] = pipe.bucket_units[1][1] = 0;
    tri_arena *arena = tri_arena_create();
    struct tri_schedule schedule, plain;
    assert_int_equal(tri_schedule_plan(path, &pipe.input, arena, NULL, &schedule), TRI_OK);
    expect_sound(&schedule, &pipe.input);
    assert_true(schedule.ranks[0].split_backward && schedule.ranks[1].split_backward);
    assert_int_equal(tri_schedule_plan("1f1b", &pipe.input, arena, NULL, &plain), TRI_OK);
    assert_true(tri_schedule_bubble(&schedule) < tri_schedule_bubble(&plain));
    char *text = print(&schedule);
    assert_non_null(
        strstr(text, "BWD_WEIGHT 3.0[2:1] REDUCE 0.0 BWD_WEIGHT 3.0[0:2] REDUCE 1.0\n"));
    free(text);
    tri_arena_destroy(&arena);
}

static void expect_refusal(const char *text, const char *words)
{
    struct pipe pipe;
    pipe_init(&pipe, 2, 1, 2, 0);
    tri_arena *arena = tri_arena_create();
    tri_error *err = tri_error_create();
    struct tri_schedule schedule;
    char path[] = "/tmp/trine-schedule-XXXXXX";
    write_file(path, text);
    tri_status status = tri_schedule_read(path, &pipe.input, arena, err, &schedule);
    if (status == TRI_OK)
        status = tri_schedule_check(&schedule, &pipe.input, err);
    unlink(path);
    assert_int_equal(status, TRI_INVALID);
    if (!strstr(tri_error_message(err, 0), words))
        fail_msg("'%s' does not say '%s'", tri_error_message(err, 0), words);
    tri_error_destroy(&err);
    tri_arena_destroy(&arena);
}

static void test_bad_text(void **state)
{
    (void)state;
    expect_refusal("", "no line 'rank 0:'");
    expect_refusal("rank 0: FWD 0.0\n", "no line 'rank 1:'");
    expect_refusal("stage 0: FWD 0.0\n", ":1': the line does not begin");
    expect_refusal("# comment\n\nrank 2: FWD 0.0\n", ":3': rank 2 is not below 2");
    expect_refusal("rank 0: FWD\n", "a microbatch is missing");
    expect_refusal("rank 0: FWD 2.0\n", "microbatch 2 is not below 2");
    expect_refusal("rank 0: FWD 0.1\n", "slice 1 is not below 1");
    expect_refusal("rank 0: FWD 00000000000000000000000000000009.0\n", "is not below 2");
    expect_refusal("rank 0: FWD 99999999999999999999999.0\n", "is not below 2");
    expect_refusal("rank 0: FWD -1.0\n", "a microbatch is missing");
    expect_refusal("rank 0: FWD 0.0[0:9]\n", "number of units 9 is not below 2");
    expect_refusal("rank 0: FWD 0.0[0\n", "a ':' is missing");
    expect_refusal("rank 0: FORWARD 0.0\n", "no action begins with 'FORWARD 0.0'");
    expect_refusal("rank 0: REDUCE 7.0\n", "bucket 7 is not among the slice's 1");
    expect_refusal("rank 0:\nrank 0:\n", "rank 0 is here twice");
    expect_refusal("rank 0:\nrank 1:\n", "still waits for the gradient of microbatch 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print_and_read_back),
        cmocka_unit_test(test_split_backward),
        cmocka_unit_test(test_bad_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
