/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every module alone on one rank, with both tables of kernels and dropout on: its gradients against
 * difference quotients, joint backward against its halves bit for bit, a slot planned for more rows
 * and positions, teams, and writes that stay inside the rows of the record.
 */
#include "harness/nn_difference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct nn_way one_rank = {.tp = 1, .rows = 3, .length = 7};

/* So far apart that fp32 tells them from each other. */
#define STEP 4e-3

static void check_gradient(const struct nn_case *c, const struct nn_way *way,
                           const struct nn_tensor *gradient)
{
    double error = nn_gradient_error(c, way, gradient, STEP);
    if (!(error <= NN_TOLERANCE_DIFFERENCE))
        fail_msg("%s: the gradient of '%s' is %g of its norm away from the difference quotient",
                 c->name, gradient->name, error);
}

static void each_gradient_is_a_difference_quotient(void **state)
{
    for (int i = 0; i < nn_num_cases; i++)
        for (int plain = 0; plain < 2; plain++) {
            struct nn_way way = one_rank;
            way.plain = plain;
            struct nn_result result;
            nn_run(&nn_cases[i], &way, &result);
            assert_string_equal(result.problem, "");
            for (int t = 0; t < result.num_tensors; t++)
                if (result.tensors[t].is_gradient)
                    check_gradient(&nn_cases[i], &way, &result.tensors[t]);
            nn_result_free(&result);
        }
    (void)state;
}

static void check_same_bits(const struct nn_case *c, const struct nn_way *a, const struct nn_way *b)
{
    struct nn_result first, second;
    nn_run(c, a, &first);
    nn_run(c, b, &second);
    assert_string_equal(first.problem, "");
    assert_string_equal(second.problem, "");
    const char *other = nn_first_other_bits(&first, &second);
    if (other)
        fail_msg("%s: '%s' has other bits", c->name, other);
    nn_result_free(&first);
    nn_result_free(&second);
}

static void halves_give_the_bits_of_the_joint_backward(void **state)
{
    for (int i = 0; i < nn_num_cases; i++)
        for (int plain = 0; plain < 2; plain++) {
            struct nn_way joint = one_rank;
            joint.plain = plain;
            struct nn_way halves = joint;
            halves.halves = true;
            check_same_bits(&nn_cases[i], &joint, &halves);
        }
    (void)state;
}

static void a_larger_plan_changes_no_bit(void **state)
{
    for (int i = 0; i < nn_num_cases; i++) {
        struct nn_way larger = one_rank, exact = one_rank;
        larger.more_rows = 2;
        larger.halves = exact.halves = true;
        check_same_bits(&nn_cases[i], &exact, &larger);
        larger.more_length = exact.more_length = 5; /* numbers the rows of attention's mask */
        exact.more_rows = 0;
        check_same_bits(&nn_cases[i], &exact, &larger);
    }
    (void)state;
}

static void the_size_of_a_team_changes_no_bit(void **state)
{
    for (int i = 0; i < nn_num_cases; i++)
        for (int size = 2; size <= 3; size++) {
            struct nn_way team = one_rank;
            team.team_size = size;
            check_same_bits(&nn_cases[i], &one_rank, &team);
        }
    (void)state;
}

/* cpu_fast against the definition of correct. */
static void both_implementations_agree(void **state)
{
    for (int i = 0; i < nn_num_cases; i++) {
        struct nn_way plain = one_rank;
        plain.plain = true;
        struct nn_result fused_result, plain_result;
        nn_run(&nn_cases[i], &one_rank, &fused_result);
        nn_run(&nn_cases[i], &plain, &plain_result);
        const char *where;
        double difference = nn_difference(&plain_result, &fused_result, &where);
        if (difference > NN_TOLERANCE_TP)
            fail_msg("%s: fused and plain differ by %g in '%s'", nn_cases[i].name, difference,
                     where);
        nn_result_free(&fused_result);
        nn_result_free(&plain_result);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gradient_is_a_difference_quotient),
        cmocka_unit_test(halves_give_the_bits_of_the_joint_backward),
        cmocka_unit_test(a_larger_plan_changes_no_bit),
        cmocka_unit_test(the_size_of_a_team_changes_no_bit),
        cmocka_unit_test(both_implementations_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
