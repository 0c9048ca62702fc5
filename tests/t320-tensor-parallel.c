/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every module on 2 and 4 tensor-parallel ranks, without and with sequence parallelism, against one
 * rank: its outputs and every gradient, dropout on. And the test of the test: with any one message
 * left out, on any rank count, the comparison fails.
 */
#include "harness/nn_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct nn_way one_rank = {.tp = 1, .rows = 3, .length = 8};

/* Difference of way from one rank, infinite where its ranks disagree; *operations as counted. */
static double compare(const struct nn_case *c, const struct nn_way *way, int *operations,
                      const char **where)
{
    struct nn_way alone = one_rank;
    alone.plain = way->plain;
    struct nn_result expected, result;
    nn_run(c, &alone, &expected);
    nn_run(c, way, &result);
    assert_string_equal(expected.problem, "");
    double difference = nn_difference(&expected, &result, where);
    if (result.problem[0]) {
        difference = INFINITY;
        *where = "ranks that should agree";
    }
    for (int op = 0; op < TRI_NUM_COMM_OPS && operations; op++)
        operations[op] = result.num_operations[op];
    nn_result_free(&expected);
    nn_result_free(&result);
    return difference;
}

static void check_case(const struct nn_case *c, bool plain, bool halves)
{
    for (int tp = 2; tp <= (c->max_tp ? c->max_tp : 4); tp += 2)
        for (int sp = 0; sp < 2; sp++) {
            struct nn_way way = one_rank;
            way.tp = tp;
            way.sequence_parallel = sp;
            way.plain = plain;
            way.halves = halves;
            const char *where;
            double difference = compare(c, &way, NULL, &where);
            if (!(difference <= NN_TOLERANCE_TP))
                fail_msg("%s, tp %d%s: '%s' is %g away from one rank", c->name, tp,
                         sp ? " with sequence parallelism" : "", where, difference);
        }
}

static void ranks_agree_with_one_rank(void **state)
{
    for (int i = 0; i < nn_num_cases; i++) {
        check_case(&nn_cases[i], false, false);
        check_case(&nn_cases[i], true, false);
        check_case(&nn_cases[i], false, true);
    }
    (void)state;
}

/* The overlap of the joint backward with its messages changes no bit. */
static void halves_give_the_bits_of_the_joint_backward(void **state)
{
    for (int i = 0; i < nn_num_cases; i++)
        for (int sp = 0; sp < 2 && nn_cases[i].max_tp == 0; sp++) {
            struct nn_way joint = one_rank;
            joint.tp = 2;
            joint.sequence_parallel = sp;
            struct nn_way halves = joint;
            halves.halves = true;
            struct nn_result first, second;
            nn_run(&nn_cases[i], &joint, &first);
            nn_run(&nn_cases[i], &halves, &second);
            const char *other = nn_first_other_bits(&first, &second);
            if (other)
                fail_msg("%s: '%s' has other bits", nn_cases[i].name, other);
            nn_result_free(&first);
            nn_result_free(&second);
        }
    (void)state;
}

/* Leaves out each message of the case in turn; every time the difference must be far outside the
   band. */
static void check_faults(const char *name, int tp, bool sp, bool halves)
{
    const struct nn_case *c = nn_case_find(name);
    struct nn_way way = one_rank;
    way.tp = tp;
    way.sequence_parallel = sp;
    way.halves = halves;
    int operations[TRI_NUM_COMM_OPS], num_faults = 0;
    const char *where;
    compare(c, &way, operations, &where);
    for (int op = 0; op < TRI_NUM_COMM_OPS; op++)
        for (int i = 1; i <= operations[op]; i++) {
            way.drop = (struct nn_drop){.op = (enum tri_comm_op)op, .ordinal = i};
            double difference = compare(c, &way, NULL, &where);
            num_faults++;
            if (!(difference > 100 * NN_TOLERANCE_TP))
                fail_msg("%s, tp %d%s: without %s %d nothing differs", name, tp, sp ? " sp" : "",
                         tri_comm_op_name((enum tri_comm_op)op), i);
        }
    assert_true(num_faults > 0);
}

static void a_message_left_out_is_found(void **state)
{
    static const char *const names[] = {"column_linear qkv", "row_linear bias", "layer gpt",
                                        "layer llama",       "embedding gpt",   "embedding llama",
                                        "head untied"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        check_faults(names[i], 2, false, false);
        check_faults(names[i], 2, true, false);
        check_faults(names[i], 4, true, true);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_agree_with_one_rank),
        cmocka_unit_test(halves_give_the_bits_of_the_joint_backward),
        cmocka_unit_test(a_message_left_out_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
