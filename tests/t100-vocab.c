/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabulary padding against the sizes that Megatron-LM computes (golden/shape/vocab.json). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "shape/config.h"

static void test_against_megatron(void **state)
{
    (void)state;
    json_t *root = NULL;
    assert_int_equal(tri_json_read_file("golden/shape/vocab.json", 1 << 20, NULL, &root), TRI_OK);
    json_t *cases = json_object_get(root, "cases"), *item;
    size_t i, rejected = 0;
    assert_true(json_array_size(cases) > 15);
    json_array_foreach(cases, i, item)
    {
        int64_t padded = tri_vocab_padded(json_integer_value(json_object_get(item, "vocab")),
                                          json_integer_value(json_object_get(item, "divisible_by")),
                                          json_integer_value(json_object_get(item, "tp")));
        rejected += json_is_true(json_object_get(item, "rejected"));
        assert_int_equal(padded, json_integer_value(json_object_get(item, "padded")));
    }
    assert_true(rejected >= 3); /* their "padded" is missing and ours is 0 */
    json_decref(root);
}

static void test_no_overflow(void **state)
{
    (void)state;
    assert_int_equal(tri_vocab_padded(INT64_MAX, 128, 8), 0);
    assert_int_equal(tri_vocab_padded(100, INT64_MAX, 2), 0);
    assert_int_equal(tri_vocab_padded(-5, 128, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_megatron),
        cmocka_unit_test(test_no_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
