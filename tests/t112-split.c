/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensor-parallel sizes cut which shapes (FC-06). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spec/split.h"
#include "t1-sizing.h"

static tri_status check(struct tri_gpt_config shape, int64_t tp, bool sequence_parallel,
                        tri_error *err)
{
    struct tri_split split = {.tp = tp, .sp = sequence_parallel ? tp : 1};
    tri_gpt_config_resolve(&shape);
    tri_error_clear(err);
    return tri_split_check(&shape, &split, shape.seq_length, err);
}

static void test_refused(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    assert_int_equal(check(shape_llama(1, 96, 24, 6, 96, 11), 4, false, err), TRI_INVALID);
    assert_int_equal(tri_error_count(err), 1);
    assert_true(error_says(err,
                           "'tensor_model_parallel_size' 4 and 'num_query_groups' 6 do not divide "
                           "each other; use 1, 2, 3, 6, 12 or 24 (key/value heads are cut"));
    assert_int_equal(check(shape_gpt2(1, 28 * 4, 28, 11, 16), 8, false, err), TRI_INVALID);
    assert_true(error_says(err, "'num_attention_heads' 28; use 1, 2, 4, 7, 14 or 28"));
    struct tri_gpt_config c = shape_gpt2(1, 9, 9, 11, 16);
    c.transformer.ffn_hidden_size = 25;
    assert_int_equal(check(c, 2, true, err), TRI_INVALID);
    assert_int_equal(tri_error_count(err), 3);
    assert_true(error_says(err, "'ffn_hidden_size' 25; use 1 ("));
    c = shape_gpt2(1, 36, 6, 11, 16);
    assert_int_equal(check(c, 3, false, err), TRI_OK);
    assert_int_equal(check(c, 3, true, err), TRI_INVALID);
    assert_true(error_says(err, "must divide 'seq_length' 16; use 1 or 2, or turn it off"));
    assert_int_equal(check(c, 0, false, err), TRI_INVALID);
    tri_error_destroy(&err);
}

/* Fewer groups than ranks are held several times; SmolLM2's shape has 9 heads and 3 groups. */
static void test_allowed(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    assert_int_equal(check(shape_llama(1, 64, 8, 2, 64, 11), 4, false, err), TRI_OK);
    assert_int_equal(check(shape_llama(1, 64, 8, 1, 64, 11), 8, false, err), TRI_OK);
    struct tri_gpt_config c = shape_llama(1, 576, 9, 3, 1536, 49152);
    assert_int_equal(check(c, 9, false, err), TRI_INVALID); /* 1536 is no multiple */
    assert_int_equal(check(c, 3, false, err), TRI_OK);
    assert_int_equal(check(c, 2, false, err), TRI_INVALID);
    assert_true(error_says(err, "use 1 or 3"));
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_allowed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
