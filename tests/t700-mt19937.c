/* SPDX-License-Identifier: Apache-2.0 */
/* The Mersenne Twister against numpy's RandomState and torch's randperm (values recorded from both),
   and the split arithmetic against Megatron's. */
#include "t70-cases.h"

#include "data/mt19937.h"
#include "data/split.h"

#include <zlib.h>

struct outputs {
    uint32_t seed;
    uint32_t first[5];
};

static void test_outputs(void **state)
{
    (void)state;
    static const struct outputs known[] = {
        {1234u, {822569775u, 2137449171u, 2671936806u, 3512589365u, 1880026316u}},
        {0u, {2357136044u, 2546248239u, 3071714933u, 3626093760u, 2588848963u}},
        {1u, {1791095845u, 4282876139u, 3093770124u, 4005303368u, 491263u}},
        {42u, {1608637542u, 3421126067u, 4083286876u, 787846414u, 3143890026u}},
        {4294967295u, {419326371u, 479346978u, 3918654476u, 2416749639u, 3388880820u}},
    };
    struct tri_mt19937 rng;
    for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++) {
        tri_mt19937_init(&rng, known[k].seed);
        for (int i = 0; i < 5; i++)
            assert_int_equal(tri_mt19937_next32(&rng), known[k].first[i]);
    }
    tri_mt19937_init(&rng, 1234);
    assert_true(tri_mt19937_next64(&rng) == UINT64_C(0x31076b2f7f66e2d3));
    assert_true(tri_mt19937_next64(&rng) == UINT64_C(0x9f428526d15ddc35));
    tri_mt19937_init(&rng, 1234);
    assert_true(tri_mt19937_next_double(&rng) == 0.1915194503788923);
}

static void test_shuffle(void **state)
{
    (void)state;
    static const int32_t first[10] = {7, 2, 9, 1, 0, 8, 4, 5, 6, 3};
    static const int32_t second[10] = {5, 1, 8, 2, 0, 6, 7, 9, 4, 3};
    int32_t items[10];
    struct tri_mt19937 rng;
    tri_mt19937_init(&rng, 1234);
    for (int i = 0; i < 10; i++)
        items[i] = i;
    tri_mt19937_shuffle_i32(&rng, items, 10);
    assert_memory_equal(items, first, sizeof(first));
    tri_mt19937_shuffle_i32(&rng, items, 10);
    assert_memory_equal(items, second, sizeof(second));

    enum { MANY = 100000 };
    int32_t *many = malloc(MANY * sizeof(*many));
    int64_t *wide = malloc(MANY * sizeof(*wide));
    for (int i = 0; i < MANY; i++)
        wide[i] = many[i] = i;
    tri_mt19937_init(&rng, 1234);
    tri_mt19937_shuffle_i32(&rng, many, MANY);
    assert_int_equal(crc32(0, (const Bytef *)many, MANY * sizeof(*many)), 0xca325235u);
    tri_mt19937_init(&rng, 1234);
    tri_mt19937_shuffle_i64(&rng, wide, MANY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(wide[i], many[i]);
    free(many);
    free(wide);
}

/* Above 32 bits a trial takes two outputs. */
static void test_interval(void **state)
{
    (void)state;
    struct tri_mt19937 rng, copy;
    tri_mt19937_init(&rng, 7);
    copy = rng;
    assert_int_equal(tri_mt19937_interval(&rng, 0), 0);
    assert_int_equal(tri_mt19937_next32(&rng), tri_mt19937_next32(&copy));
    uint64_t max = UINT64_C(0x1ffffffff), value = tri_mt19937_interval(&rng, max);
    assert_true(value == (tri_mt19937_next64(&copy) & max));
    for (int i = 0; i < 1000; i++)
        assert_true(tri_mt19937_interval(&rng, UINT64_C(5000000000)) <= UINT64_C(5000000000));
}

static void test_torch_randperm(void **state)
{
    (void)state;
    static const int64_t zero[10] = {4, 1, 7, 5, 3, 9, 0, 8, 6, 2};
    static const int64_t one[10] = {5, 6, 1, 2, 0, 8, 9, 3, 7, 4};
    int64_t items[10];
    tri_mt19937_torch_randperm(0, items, 10);
    assert_memory_equal(items, zero, sizeof(zero));
    tri_mt19937_torch_randperm(1, items, 10);
    assert_memory_equal(items, one, sizeof(one));
}

static void test_split_cases(void **state)
{
    (void)state;
    json_t *file = case_load("golden/dataset/split.json"), *one, *count, *range;
    size_t i, k, p;
    json_array_foreach(json_object_get(file, "cases"), i, one)
    {
        struct tri_data_split split;
        case_ok(NULL, tri_data_split_parse(case_text(one, "split"), &split, NULL));
        json_t *matrix = json_object_get(one, "matrix");
        for (p = 0; p < 3; p++) {
            json_t *row = json_array_get(matrix, p);
            assert_int_equal(split.present[p], !json_is_null(row));
            if (json_is_null(row))
                continue;
            assert_true(split.bounds[p] == json_number_value(json_array_get(row, 0)));
            assert_true(split.bounds[p + 1] == json_number_value(json_array_get(row, 1)));
        }
        json_array_foreach(json_object_get(one, "ranges"), k, count)
        {
            json_array_foreach(json_object_get(count, "ranges"), p, range)
            {
                int64_t first, end;
                tri_data_split_range(&split, (enum tri_data_part)p, case_int(count, "elements"),
                                     &first, &end);
                if (json_is_null(range)) {
                    assert_int_equal(first, end);
                    continue;
                }
                assert_int_equal(first, json_integer_value(json_array_get(range, 0)));
                assert_int_equal(end, json_integer_value(json_array_get(range, 1)));
            }
        }
    }
    json_decref(file);
}

static void test_split_refused(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_data_split split;
    case_expect(err, tri_data_split_parse("1,2,3,4", &split, err), TRI_INVALID, "1,2,3,4",
                "more than three", NULL);
    case_expect(err, tri_data_split_parse("", &split, err), TRI_INVALID, "969,30,1", NULL);
    case_expect(err, tri_data_split_parse("0,0,0", &split, err), TRI_INVALID, "sum to 0", NULL);
    case_expect(err, tri_data_split_parse("1.2.3,4", &split, err), TRI_INVALID, "'1.2.3'", NULL);
    tri_error_destroy(&err);
}

/* numpy's pairwise sum: ten times 0.1 is exactly 1 there, not when added one by one. */
static void test_sum(void **state)
{
    (void)state;
    double values[300];
    for (int i = 0; i < 300; i++)
        values[i] = 0.1;
    assert_true(tri_data_sum(values, 10) == 1.0);
    assert_true(tri_data_sum(values, 7) == 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1);
    assert_true(tri_data_sum(values, 300) == 29.999999999999996);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),     cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_interval),    cmocka_unit_test(test_torch_randperm),
        cmocka_unit_test(test_split_cases), cmocka_unit_test(test_split_refused),
        cmocka_unit_test(test_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
