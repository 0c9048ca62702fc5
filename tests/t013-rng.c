/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox4x32-10 against the published known answers (Random123, kat_vectors), and deviates: the same
 * bits at every instruction level and for any split, pinned by a hash, near the exact formula in
 * double precision, with the right moments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng_block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUM_VALUES 100000

static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4];
        struct tri_rng_key key;
        uint32_t out[4];
    } rows[] = {
        {{0, 0, 0, 0}, {{0, 0}}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {{0xffffffff, 0xffffffff}},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {{0xa4093822, 0x299f31d0}},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t out[4];
        tri_philox4x32(rows[i].counter, rows[i].key, out);
        assert_memory_equal(out, rows[i].out, sizeof(out));
    }
}

static uint64_t hash_values(const float *values, int64_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        hash = (hash ^ bits) * 0x100000001b3u;
    }
    return hash;
}

static void test_pinned_bits(void **state)
{
    (void)state;
    struct tri_rng_key key = tri_rng_key(1234, TRI_RNG_INIT, tri_rng_hash("decoder.final.weight"));
    float *values = malloc(NUM_VALUES * sizeof(float));
    tri_rng_normal(key, 0, NUM_VALUES, 0.02f, values);
    assert_true(hash_values(values, NUM_VALUES) == UINT64_C(0xbba926cff8ba2f06));
    tri_rng_uniform(key, 0, NUM_VALUES, 0.3f, values);
    assert_true(hash_values(values, NUM_VALUES) == UINT64_C(0x14f414dfa8c20e4c));
    free(values);
}

static void test_levels_agree(void **state)
{
    (void)state;
    static float expected[4 * TRI_RNG_BLOCK], values[4 * TRI_RNG_BLOCK];
    const struct tri_rng_level *plain = &tri_rng_levels[tri_rng_num_levels - 1];
    static const uint64_t firsts[] = {0, 977, 0xffffff80u, 0xfffffffffu};
    for (int i = 0; i < tri_rng_num_levels; i++) {
        const struct tri_rng_level *level = &tri_rng_levels[i];
        if (!level->is_supported()) {
            print_message("level '%s' is not supported here\n", level->name);
            continue;
        }
        for (size_t f = 0; f < sizeof(firsts) / sizeof(firsts[0]); f++) {
            struct tri_rng_key key = tri_rng_key(f, TRI_RNG_TEST, 5);
            plain->normal(key, firsts[f], 1.5f, expected);
            level->normal(key, firsts[f], 1.5f, values);
            assert_memory_equal(values, expected, sizeof(values));
            plain->uniform(key, firsts[f], 1.5f, expected);
            level->uniform(key, firsts[f], 1.5f, values);
            assert_memory_equal(values, expected, sizeof(values));
        }
    }
}

static void test_any_split(void **state)
{
    (void)state;
    enum { N = 5003 };
    static float whole[N], part[N];
    struct tri_rng_key key = tri_rng_key(99, TRI_RNG_TEST, 1);
    const int64_t base = (INT64_C(1) << 34) - 2001; /* crosses the low counter word */
    tri_rng_normal(key, base, N, 1.0f, whole);
    static const int64_t pieces[] = {1, 2, 3, 4, 5, 1023, 1024, 1025, 7, 1909};
    int64_t done = 0;
    for (size_t i = 0; done < N; i = (i + 1) % (sizeof(pieces) / sizeof(pieces[0]))) {
        int64_t take = pieces[i] < N - done ? pieces[i] : N - done;
        tri_rng_normal(key, base + done, take, 1.0f, part + done);
        done += take;
    }
    assert_memory_equal(whole, part, sizeof(whole));
    tri_rng_uniform(key, base, N, 1.0f, whole);
    for (int64_t i = 0; i < N; i++)
        tri_rng_uniform(key, base + i, 1, 1.0f, part + i);
    assert_memory_equal(whole, part, sizeof(whole));
    tri_rng_normal(key, base, 0, 1.0f, NULL);
}

/* z of element i from the formula in double precision. */
static double exact_normal(struct tri_rng_key key, int64_t element)
{
    const uint32_t counter[4] = {(uint32_t)(element / 4), (uint32_t)((element / 4) >> 32), 0, 0};
    uint32_t word[4];
    tri_philox4x32(counter, key, word);
    int pair = (int)(element % 4) / 2 * 2;
    float u = (float)(int32_t)(word[pair] >> 1) * 0x1p-31f + 0x1p-32f;
    double radius = sqrt(-2 * log((double)u));
    double angle = 2 * 3.14159265358979323846 * word[pair + 1] * 0x1p-32;
    return radius * (element % 2 == 0 ? cos(angle) : sin(angle));
}

static void test_values(void **state)
{
    (void)state;
    struct tri_rng_key key = tri_rng_key(7, TRI_RNG_TEST, 3);
    float *values = malloc(NUM_VALUES * sizeof(float));
    tri_rng_normal(key, 0, NUM_VALUES, 1.0f, values);
    double moment[5] = {0};
    for (int i = 0; i < NUM_VALUES; i++) {
        double z = (double)values[i];
        assert_true(fabs(z - exact_normal(key, i)) < 2e-6);
        for (int power = 1; power <= 4; power++)
            moment[power] += pow(z, power) / NUM_VALUES;
    }
    assert_true(fabs(moment[1]) < 0.015 && fabs(moment[2] - 1) < 0.02);
    assert_true(fabs(moment[3]) < 0.05 && fabs(moment[4] - 3) < 0.15);
    tri_rng_uniform(key, 0, NUM_VALUES, 0.25f, values);
    double mean = 0;
    for (int i = 0; i < NUM_VALUES; i++) {
        assert_true(values[i] >= -0.25f && values[i] < 0.25f);
        mean += (double)values[i] / NUM_VALUES;
    }
    assert_true(fabs(mean) < 0.002);
    free(values);
}

static void test_keys_and_doubles(void **state)
{
    (void)state;
    struct tri_rng_key a = tri_rng_key(1, TRI_RNG_INIT, 2), b = tri_rng_key(1, TRI_RNG_TEST, 2);
    struct tri_rng_key c = tri_rng_key(2, TRI_RNG_INIT, 2), d = tri_rng_key(1, TRI_RNG_INIT, 3);
    assert_memory_not_equal(&a, &b, sizeof(a));
    assert_memory_not_equal(&a, &c, sizeof(a));
    assert_memory_not_equal(&a, &d, sizeof(a));
    assert_true(tri_rng_hash("") == UINT64_C(0xcbf29ce484222325));
    assert_true(tri_rng_hash("a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(tri_rng_hash("foobar") == UINT64_C(0x85944171f73967e8));
    double mean = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        double value = tri_rng_double(a, i);
        assert_true(value >= 0 && value < 1);
        mean += value / 10000;
    }
    assert_true(fabs(mean - 0.5) < 0.02);
    assert_int_equal(tri_dropout_threshold(0), 0);
    assert_true(tri_dropout_threshold(0.5) == 0x80000000u);
    assert_true(tri_dropout_threshold(1.0) == 0xffffffffu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers), cmocka_unit_test(test_pinned_bits),
        cmocka_unit_test(test_levels_agree),  cmocka_unit_test(test_any_split),
        cmocka_unit_test(test_values),        cmocka_unit_test(test_keys_and_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
