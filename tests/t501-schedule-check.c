/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker finds planted faults. Every pair of neighbouring actions swapped, every action left
 * out, every action doubled, and wrong numbers: where the checker says nothing, the change must be
 * harmless by a rule stated here.
 */
#include "t50-schedules.h"

#include <stdlib.h>

struct fixture {
    struct pipe pipe;
    tri_arena *arena;
    struct tri_schedule schedule;
    struct tri_rank_schedule *ranks; /* copies that may be changed */
    struct tri_action **actions;
};

static void fixture_init(struct fixture *f, int p, int v, int m, int group)
{
    pipe_init(&f->pipe, p, v, m, group);
    f->arena = tri_arena_create();
    assert_int_equal(tri_schedule_plan("auto", &f->pipe.input, f->arena, NULL, &f->schedule),
                     TRI_OK);
    f->ranks = tri_arena_alloc(f->arena, (size_t)p * sizeof(*f->ranks));
    f->actions = tri_arena_alloc(f->arena, (size_t)p * sizeof(*f->actions));
    for (int i = 0; i < p; i++) {
        f->ranks[i] = f->schedule.ranks[i];
        size_t num = (size_t)f->ranks[i].num_actions;
        f->actions[i] = tri_arena_alloc(f->arena, (num + 1) * sizeof(struct tri_action));
        memcpy(f->actions[i], f->ranks[i].actions, num * sizeof(struct tri_action));
        f->ranks[i].actions = f->actions[i];
    }
    f->schedule.ranks = f->ranks;
}

static void fixture_fini(struct fixture *f)
{
    tri_arena_destroy(&f->arena);
}

static int count_faults(const struct fixture *f, const char *words)
{
    tri_error *err = tri_error_create();
    tri_status status = tri_schedule_check(&f->schedule, &f->pipe.input, err);
    int num = tri_error_count(err);
    assert_int_equal(status == TRI_OK, num == 0);
    bool said = !words;
    for (int i = 0; i < num && !said; i++)
        said = strstr(tri_error_message(err, i), words);
    if (!said)
        fail_msg("%d faults, none says '%s'; first: %s", num, words, tri_error_message(err, 0));
    tri_error_destroy(&err);
    return num;
}

static int find(const struct fixture *f, int stage, enum tri_action_kind kind, int microbatch)
{
    for (int i = 0; i < f->ranks[stage].num_actions; i++)
        if (f->actions[stage][i].kind == kind && f->actions[stage][i].microbatch == microbatch)
            return i;
    fail_msg("no such action");
    return -1;
}

static void swap(struct fixture *f, int stage, int i, int j)
{
    struct tri_action action = f->actions[stage][i];
    f->actions[stage][i] = f->actions[stage][j];
    f->actions[stage][j] = action;
}

static void remove_at(struct fixture *f, int stage, int i)
{
    int num = --f->ranks[stage].num_actions;
    memmove(&f->actions[stage][i], &f->actions[stage][i + 1],
            (size_t)(num - i) * sizeof(struct tri_action));
}

static void insert_at(struct fixture *f, int stage, int i, struct tri_action action)
{
    int num = f->ranks[stage].num_actions++;
    memmove(&f->actions[stage][i + 1], &f->actions[stage][i],
            (size_t)(num - i) * sizeof(struct tri_action));
    f->actions[stage][i] = action;
}

static bool is_backward(const struct tri_action *a)
{
    return a->kind == TRI_ACTION_BWD || a->kind == TRI_ACTION_RECV_BWD ||
           a->kind == TRI_ACTION_SEND_BWD || a->kind == TRI_ACTION_REDUCE;
}

/* Neighbours that do not belong together may change places: another microbatch or slice, or a send
   or a reduce beside what it has nothing to do with. Messages of one link and the gradients of one
   slice keep their order, and a gradient is sent before the next backward. */
static bool may_swap(const struct tri_action *a, const struct tri_action *b)
{
    if (a->kind == TRI_ACTION_REDUCE && b->kind == TRI_ACTION_REDUCE)
        return true;
    if (a->kind == b->kind)
        return a->kind == TRI_ACTION_FWD; /* slots and gradients have an order, forwards none */
    if (is_backward(a) != is_backward(b))
        return a->slice != b->slice || a->microbatch != b->microbatch;
    if (a->kind == TRI_ACTION_REDUCE || b->kind == TRI_ACTION_REDUCE)
        return a->slice != b->slice || a->kind == TRI_ACTION_SEND_BWD ||
               b->kind == TRI_ACTION_SEND_BWD || a->kind == TRI_ACTION_REDUCE;
    return a->slice != b->slice || a->microbatch != b->microbatch;
}

static void try_every_swap(int p, int v, int m)
{
    struct fixture f;
    fixture_init(&f, p, v, m, 0);
    int found = 0;
    for (int stage = 0; stage < p; stage++)
        for (int i = 0; i + 1 < f.ranks[stage].num_actions; i++) {
            const struct tri_action *a = &f.actions[stage][i], *b = a + 1;
            bool harmless = may_swap(a, b);
            swap(&f, stage, i, i + 1);
            int faults = count_faults(&f, NULL);
            if (!faults && !harmless)
                fail_msg("stage %d action %d: swapped unnoticed", stage, i);
            found += faults > 0;
            swap(&f, stage, i, i + 1);
        }
    assert_true(found > 0);
    assert_int_equal(count_faults(&f, NULL), 0);
    fixture_fini(&f);
}

static void test_swapped_actions(void **state)
{
    (void)state;
    try_every_swap(1, 1, 3);
    try_every_swap(3, 1, 5);
    try_every_swap(2, 2, 4);
    try_every_swap(3, 3, 6);
}

static void try_every_drop_and_double(int p, int v, int m)
{
    struct fixture f;
    fixture_init(&f, p, v, m, 0);
    for (int stage = 0; stage < p; stage++)
        for (int i = 0; i < f.ranks[stage].num_actions; i++) {
            struct tri_action action = f.actions[stage][i];
            remove_at(&f, stage, i);
            if (count_faults(&f, NULL) == 0)
                fail_msg("stage %d action %d: left out unnoticed", stage, i);
            insert_at(&f, stage, i, action);
            insert_at(&f, stage, i, action);
            if (count_faults(&f, NULL) == 0)
                fail_msg("stage %d action %d: doubled unnoticed", stage, i);
            remove_at(&f, stage, i);
        }
    fixture_fini(&f);
}

static void test_left_out_and_doubled_actions(void **state)
{
    (void)state;
    try_every_drop_and_double(1, 1, 3);
    try_every_drop_and_double(3, 1, 5);
    try_every_drop_and_double(2, 2, 4);
    try_every_drop_and_double(3, 3, 6);
}

static void test_slot_used_twice(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 1, 4, 0);
    for (int i = 0; i < f.ranks[0].num_actions; i++)
        if (f.actions[0][i].kind != TRI_ACTION_REDUCE)
            f.actions[0][i].slot = 0;
    count_faults(&f, "slot 0 is still held by microbatch 0");
    fixture_fini(&f);
    fixture_init(&f, 2, 1, 4, 0);
    f.actions[0][0].slot = 7;
    count_faults(&f, "slot 7 is not among the slice's 2");
    fixture_fini(&f);
}

static void test_reduce_too_early(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 1, 3, 0);
    int at = find(&f, 0, TRI_ACTION_REDUCE, 2);
    struct tri_action reduce = f.actions[0][at];
    remove_at(&f, 0, at);
    insert_at(&f, 0, 2, reduce);
    count_faults(&f, "still waits for the gradient of microbatch 0");
    fixture_fini(&f);
}

static void test_microbatch_order_of_gradients(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 1, 1, 3, 0);
    for (int i = 0; i < f.ranks[0].num_actions; i++) /* forwards first, then backwards 1 0 2 */
        f.actions[0][i].slot = f.actions[0][i].microbatch;
    *(int *)f.ranks[0].num_slots = 3;
    swap(&f, 0, 1, 2);
    assert_int_equal(count_faults(&f, NULL), 0);
    swap(&f, 0, 2, 3);
    count_faults(&f, "the input half of unit 0 belongs to microbatch 0 now");
    fixture_fini(&f);
}

static void test_interrupted_backward(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 2, 4, 0); /* two gradients between units serve whichever backward runs */
    int at = find(&f, 1, TRI_ACTION_BWD, 0);
    struct tri_action whole = f.actions[1][at];
    assert_true(whole.num_units > 1);
    struct tri_action upper = whole, lower = whole;
    lower.num_units = upper.unit = 1;
    upper.num_units--;
    f.actions[1][at] = upper;
    insert_at(&f, 1, at + 1, lower);
    assert_int_equal(count_faults(&f, NULL), 0);
    int next = find(&f, 1, TRI_ACTION_BWD, 1);
    remove_at(&f, 1, at + 1);
    insert_at(&f, 1, next, lower);
    count_faults(&f, "the backward of 0.1 is not through");
    fixture_fini(&f);
}

static void test_too_few_staging_rows(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 2, 16, 8); /* the first stage runs 7 gradients ahead of the wrap-around */
    assert_int_equal(f.ranks[0].num_send_staging, 8);
    f.ranks[0].num_send_staging = 2;
    for (int i = 0, sent = 0; i < f.ranks[0].num_actions; i++)
        if (f.actions[0][i].kind == TRI_ACTION_SEND_BWD)
            f.actions[0][i].staging = sent++ % 2;
    count_faults(&f, "waits for ever, with 2 staging rows");
    fixture_fini(&f);
}

static void test_circle_of_receives(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 1, 2, 0);
    int at = find(&f, 0, TRI_ACTION_RECV_BWD, 0); /* waits for the gradient before it has sent */
    struct tri_action receive = f.actions[0][at];
    remove_at(&f, 0, at);
    insert_at(&f, 0, 0, receive);
    count_faults(&f, "stage 0, action 0 'RECV_BWD 0.0': it waits for ever");
    count_faults(&f, "stage 1, action 0 'RECV_FWD 0.0': it waits for ever");
    fixture_fini(&f);
}

static void test_numbers_out_of_range(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 2, 1, 2, 0);
    struct tri_action *first = &f.actions[0][0], good = *first;
    first->microbatch = 2;
    count_faults(&f, "no such microbatch or slice");
    *first = good;
    first->slice = -1;
    count_faults(&f, "no such microbatch or slice");
    *first = good;
    first->num_units = 9;
    count_faults(&f, "units [0:9] are not in the slice");
    *first = good;
    int at = find(&f, 0, TRI_ACTION_RECV_BWD, 0);
    f.actions[0][at].staging = 2;
    count_faults(&f, "staging row 2 is not among 2");
    f.actions[0][at].staging = 0;
    at = find(&f, 0, TRI_ACTION_REDUCE, 1);
    f.actions[0][at].bucket = 5;
    count_faults(&f, "no such bucket");
    fixture_fini(&f);
}

static void test_every_fault_is_listed(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, 3, 1, 3, 0);
    remove_at(&f, 2, find(&f, 2, TRI_ACTION_REDUCE, 2));
    remove_at(&f, 1, find(&f, 1, TRI_ACTION_SEND_FWD, 1));
    f.actions[0][0].slot = 9;
    assert_true(count_faults(&f, "slot 9") >= 3);
    count_faults(&f, "is never reduced");
    count_faults(&f, "stage 1: the output of 1.0 is never sent");
    struct tri_schedule_input other = f.pipe.input;
    other.num_microbatches = 4;
    assert_int_equal(tri_schedule_check(&f.schedule, &other, NULL), TRI_INVALID);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swapped_actions),
        cmocka_unit_test(test_left_out_and_doubled_actions),
        cmocka_unit_test(test_slot_used_twice),
        cmocka_unit_test(test_reduce_too_early),
        cmocka_unit_test(test_microbatch_order_of_gradients),
        cmocka_unit_test(test_interrupted_backward),
        cmocka_unit_test(test_too_few_staging_rows),
        cmocka_unit_test(test_circle_of_receives),
        cmocka_unit_test(test_numbers_out_of_range),
        cmocka_unit_test(test_every_fault_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
