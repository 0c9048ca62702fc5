/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finite differences in double of every operation that has a gradient: cpu_ref, the definition of
 * correct, is built once more with double for float (harness/as_double.h), and each backward is
 * compared with differences of its forward (harness/difference.h). A new operation is a row, with
 * what calls it forward and backward, in harness/difference_rows.c or difference_model.c, or one of
 * without_gradient below; the walk over the table fails until it is there.
 */
#include "harness/difference.h"

enum { NUM_ROUNDS = 6 };

/* Operations that nothing is differentiated through. */
static const struct {
    size_t operation;
    const char *reason;
} without_gradient[] = {
    {OPERATION(ce_entropy), "reported, not trained on"},
    {OPERATION(sum_squares), "the norm of gradients"},
    {OPERATION(adam), "the update itself"},
    {OPERATION(find_non_finite), "an index"},
};

static const char *why_without(size_t operation)
{
    for (size_t i = 0; i < sizeof(without_gradient) / sizeof(without_gradient[0]); i++)
        if (without_gradient[i].operation == operation)
            return without_gradient[i].reason;
    return NULL;
}

/* ---- tests ---- */

/* Row i of both lists; NULL behind the last. */
static const struct difference_case *case_at(int i)
{
    if (i < difference_num_rows)
        return &difference_rows[i];
    i -= difference_num_rows;
    return i < difference_num_model ? &difference_model[i] : NULL;
}

static int num_variants(const struct difference_case *c)
{
    return c->num_variants > 0 ? c->num_variants : 1;
}

/* One variant at the sizes of a round; returns the largest error. */
static double check_gradients(const struct difference_case *c, int variant, int round)
{
    double worst = 0;
    struct difference d;
    difference_open(&d, tri_kernels_cpu_ref(), c, variant, round);
    difference_gradients(&d);
    for (int t = 0; t < DIFFERENCE_TENSORS && c->in[t]; t++) {
        double error = difference_worst(&d, t);
        if (error > DIFFERENCE_TOLERANCE)
            fail_msg("%s: variant %d, round %d: the gradient of input %d is %g of its largest away "
                     "from the difference quotient",
                     c->name, variant, round, t, error);
        worst = fmax(worst, error);
    }
    difference_close(&d);
    return worst;
}

static void each_gradient_is_a_difference_quotient(void **state)
{
    (void)state;
    const struct difference_case *c;
    for (int i = 0; (c = case_at(i)); i++) {
        double worst = 0;
        for (int v = 0; v < num_variants(c); v++)
            for (int round = 0; round < NUM_ROUNDS; round++)
                worst = fmax(worst, check_gradients(c, v, round));
        print_message("%-15s %.2g\n", c->name, worst);
    }
}

/* Each gradient that is not 0 throughout, made too large by a factor that fp32 could not even hold, is found out;
   returns how many there were. */
static int check_wrong_factor(const struct difference_case *c, int variant, int round)
{
    int num_seen = 0;
    struct difference d;
    difference_open(&d, tri_kernels_cpu_ref(), c, variant, round);
    difference_gradients(&d);
    for (int t = 0; t < DIFFERENCE_TENSORS && c->in[t]; t++) {
        if (difference_size(&d, t) < 1e-2)
            continue;
        for (int64_t i = 0; i < tri_tensor_elements(&d.grad[t]); i++)
            tri_tensor_f32(&d.grad[t])[i] *= 1 + 5e-8;
        if (difference_worst(&d, t) <= DIFFERENCE_TOLERANCE)
            fail_msg("%s: variant %d: a wrong factor of the gradient of input %d is not seen",
                     c->name, variant, t);
        num_seen++;
    }
    difference_close(&d);
    return num_seen;
}

static void a_wrong_factor_is_seen(void **state)
{
    (void)state;
    const struct difference_case *c;
    for (int i = 0; (c = case_at(i)); i++)
        for (int v = 0; v < num_variants(c); v++) {
            int num_seen = 0;
            for (int round = 1; round < NUM_ROUNDS; round++)
                num_seen += check_wrong_factor(c, v, round);
            if (num_seen == 0)
                fail_msg("%s: variant %d: all gradients are 0", c->name, v);
        }
}

/* The tests above have called whatever they compare. */
static void each_operation_has_a_row(void **state)
{
    (void)state;
    const char *last = "name";
    for (size_t n = 0; n < NUM_OPERATIONS; n++) {
        const char *reason = why_without(n), *called = difference_called[n];
        if (!called && !reason)
            fail_msg("operation %zu of struct tri_kernels, in the list behind '%s', has no row of "
                     "differences: give it one, or one of without_gradient",
                     n, last);
        if (called && reason)
            fail_msg("'%s' has differences, yet is listed without (%s)", called, reason);
        last = called ? called : last;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_gradient_is_a_difference_quotient),
                                       cmocka_unit_test(a_wrong_factor_is_seen),
                                       cmocka_unit_test(each_operation_has_a_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
