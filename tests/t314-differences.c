/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finite differences in double of every module, up to whole layers of each variant: nn/, the sizes
 * of its rows and cpu_ref are built once more with double for float (harness/as_double.h), and each
 * gradient of each case, dropout on, is compared with a difference quotient; on one rank, and on two
 * with the sequence cut and backward in halves. Two ranks give what one gives but for the last bits.
 */
#include "harness/nn_difference.h"
#include "kernels/reduce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A step so short that no activation's kink lies within it. */
#define STEP            2e-5
#define TOLERANCE       2e-9
#define TOLERANCE_RANKS 1e-13
#define WRONG_FACTOR    (1 + 1e-5)

enum { MAX_CLASSES = 64 };

static const struct nn_way one_rank = {.plain = true, .tp = 1, .rows = 3, .length = 7};
static const struct nn_way two_ranks = {
    .plain = true, .tp = 2, .sequence_parallel = true, .halves = true, .rows = 1, .length = 6};

/* Compares each gradient of c; returns the largest error. */
static double check_case(const struct nn_case *c, const struct nn_way *way)
{
    struct nn_result result;
    double worst = 0;
    nn_run(c, way, &result);
    assert_string_equal(result.problem, "");
    for (int t = 0; t < result.num_tensors; t++) {
        if (!result.tensors[t].is_gradient)
            continue;
        double error = nn_gradient_error(c, way, &result.tensors[t], STEP);
        if (!(error <= TOLERANCE))
            fail_msg("%s on %d ranks: the gradient of '%s' is %g of its norm away from the "
                     "difference quotient",
                     c->name, way->tp, result.tensors[t].name, error);
        worst = fmax(worst, error);
    }
    nn_result_free(&result);
    return worst;
}

static void each_gradient_is_a_difference_quotient(void **state)
{
    (void)state;
    for (int i = 0; i < nn_num_cases; i++)
        print_message("%-28s %.2g\n", nn_cases[i].name, check_case(&nn_cases[i], &one_rank));
}

static void each_gradient_of_two_ranks_is_a_difference_quotient(void **state)
{
    (void)state;
    double worst = 0;
    for (int i = 0; i < nn_num_cases; i++)
        if (nn_cases[i].max_tp != 1)
            worst = fmax(worst, check_case(&nn_cases[i], &two_ranks));
    print_message("largest error: %.2g\n", worst);
}

/* No gradient is so small along its direction that a wrong factor would pass. */
static void a_wrong_factor_is_seen(void **state)
{
    (void)state;
    for (int i = 0; i < nn_num_cases; i++) {
        struct nn_result result;
        nn_run(&nn_cases[i], &one_rank, &result);
        for (int t = 0; t < result.num_tensors; t++) {
            struct nn_tensor *gradient = &result.tensors[t];
            for (int64_t n = 0; n < gradient->elements; n++)
                gradient->values[n] *= WRONG_FACTOR;
            if (gradient->is_gradient &&
                nn_gradient_error(&nn_cases[i], &one_rank, gradient, STEP) <= TOLERANCE)
                fail_msg("%s: a wrong factor of the gradient of '%s' is not seen", nn_cases[i].name,
                         gradient->name);
        }
        nn_result_free(&result);
    }
}

static void check_same(const struct nn_case *c, const struct nn_way *one, const struct nn_way *two)
{
    struct nn_result a, b;
    const char *where;
    nn_run(c, one, &a);
    nn_run(c, two, &b);
    double difference = nn_difference(&a, &b, &where);
    if (!(difference <= TOLERANCE_RANKS))
        fail_msg("%s: two ranks %s differ from one by %g in '%s'", c->name,
                 two->sequence_parallel ? "with the sequence cut" : "with whole sequences",
                 difference, where);
    nn_result_free(&a);
    nn_result_free(&b);
}

/* What two ranks do together is what one does, to the rounding of doubles. */
static void two_ranks_give_what_one_gives(void **state)
{
    (void)state;
    struct nn_way alone = two_ranks, whole = two_ranks;
    alone.sequence_parallel = whole.sequence_parallel = whole.halves = false;
    alone.tp = 1;
    for (int i = 0; i < nn_num_cases; i++) {
        if (nn_cases[i].max_tp == 1)
            continue;
        check_same(&nn_cases[i], &alone, &two_ranks);
        check_same(&nn_cases[i], &alone, &whole);
    }
}

/* Notes in seen the classes of the modules that c is made of. */
static void note_classes(const struct nn_case *c, bool *seen)
{
    tri_world *world;
    struct nn_rank rank = {.c = c, .way = &one_rank};
    tri_error *err = tri_error_create();
    assert_int_equal(tri_world_create_self(tri_reduce_in_order, err, &world), TRI_OK);
    assert_int_equal(nn_rank_create(&rank, world), TRI_OK);
    for (int m = 0; m < rank.size.num_modules; m++)
        for (int n = 0; tri_module_class_get(n); n++)
            seen[n] |= strcmp(rank.size.module_spec[m]->module, tri_module_class_get(n)->name) == 0;
    tri_group_destroy(&rank.tp);
    nn_rank_destroy(&rank);
    tri_world_destroy(&world);
    tri_error_destroy(&err);
}

static void each_class_is_in_a_case(void **state)
{
    (void)state;
    bool seen[MAX_CLASSES] = {false};
    for (int i = 0; i < nn_num_cases; i++)
        note_classes(&nn_cases[i], seen);
    for (int n = 0; tri_module_class_get(n); n++)
        if (!seen[n])
            fail_msg("no case is made of a module '%s': give it a row in harness/nn_cases.c",
                     tri_module_class_get(n)->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gradient_is_a_difference_quotient),
        cmocka_unit_test(each_gradient_of_two_ranks_is_a_difference_quotient),
        cmocka_unit_test(a_wrong_factor_is_seen),
        cmocka_unit_test(two_ranks_give_what_one_gives),
        cmocka_unit_test(each_class_is_in_a_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
