/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replicas: a sharded optimizer gives the bits of a replicated one, whatever the buckets; every element is
 * owned once; all copies stay equal over ten steps.
 */
#include "harness/train_run.h"

#include "base/exact_sum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_same(const struct train_way *way, const struct train_result *result,
                        const struct train_result *base)
{
    char text[256];
    train_way_format(way, text, sizeof text);
    if (!train_same_bits(result, base, true))
        fail_msg("%s: other losses", text);
    if (memcmp(result->final, base->final, (size_t)base->elements * sizeof(float)) != 0)
        fail_msg("%s, buckets of %lld: other weights", text, (long long)way->bucket_size);
    if (result->other_copies != 0)
        fail_msg("%s: %lld elements with unequal copies", text, (long long)result->other_copies);
}

static void check_sharding(enum train_model model, int tp, int pp, int dp)
{
    /* A bucket per unit, borders in odd places, one bucket for all. */
    static const int64_t bucket_sizes[] = {1, 7777, 0};
    struct train_way way = {.model = model, .tp = tp, .pp = pp, .dp = dp, .steps = 10};
    struct train_result replicated, result;
    train_run(&way, &replicated);
    assert_int_equal(replicated.other_copies, 0);
    for (size_t b = 0; b < sizeof bucket_sizes / sizeof bucket_sizes[0]; b++)
        for (int sharded = 0; sharded < 2; sharded++) {
            way.bucket_size = bucket_sizes[b];
            way.sharded = sharded;
            train_run(&way, &result);
            expect_same(&way, &result, &replicated);
            train_result_free(&result);
        }
    train_result_free(&replicated);
}

static void sharded_equals_replicated(void **state)
{
    check_sharding(TRAIN_LLAMA, 1, 1, 2);
    check_sharding(TRAIN_GPT2, 1, 1, 3);
    check_sharding(TRAIN_GPT2_UNTIED, 1, 1, 4);
    (void)state;
}

/* The tied table lies on two stages, each with shards of its own. */
static void sharded_equals_replicated_on_a_pipeline(void **state)
{
    check_sharding(TRAIN_GPT2, 1, 2, 2);
    check_sharding(TRAIN_GPT2, 2, 2, 2);
    (void)state;
}

/* Norms and row biases are held by every tensor-parallel rank, and summed under sequence parallelism. */
static void tensor_parallel_copies_stay_equal(void **state)
{
    for (int sp = 0; sp < 2; sp++) {
        struct train_way way = {
            .model = TRAIN_LLAMA, .tp = 2, .sequence_parallel = sp, .steps = 10};
        struct train_way alone = {.model = TRAIN_LLAMA, .steps = 10};
        struct train_result result, base;
        train_run(&way, &result);
        train_run(&alone, &base);
        assert_int_equal(result.other_copies, 0);
        assert_true(train_in_band(&result, &base, true));
        train_result_free(&result);
        train_result_free(&base);
    }
    (void)state;
}

/* ---- who owns what ---- */

struct owners {
    int64_t owned, counted;
};

static tri_status count_owned(struct tri_session *session, void *arg)
{
    struct owners *owners = arg;
    const struct tri_model *model = session->model;
    int64_t num[2] = {0};
    for (int s = 0; s < model->num_shards; s++) {
        const struct tri_shard *shard = &model->shards[s];
        TRI_CHECK(shard->first % TRI_NORM_BLOCK == 0, session->err, TRI_BUG,
                  "a shard starts inside a block");
        num[0] += shard->value.dims[0];
        num[1] += shard->counted;
    }
    TRI_TRY(tri_group_all_reduce(session->context->all, num, 2, TRI_DTYPE_I64, TRI_REDUCE_SUM));
    if (session->world->rank != 0)
        return TRI_OK;
    owners->owned = num[0];
    owners->counted = num[1];
    return TRI_OK;
}

static void every_element_has_one_owner(void **state)
{
    for (int dp = 2; dp <= 4; dp++)
        for (int sharded = 0; sharded < 2; sharded++) {
            struct owners owners = {0};
            struct train_way way = {.model = TRAIN_LLAMA,
                                    .dp = dp,
                                    .sharded = sharded,
                                    .steps = 1,
                                    .bucket_size = 3000,
                                    .tamper = count_owned,
                                    .tamper_arg = &owners};
            struct train_result result;
            train_run(&way, &result);
            assert_int_equal(owners.counted, result.elements);
            assert_int_equal(owners.owned, sharded ? result.elements : dp * result.elements);
            train_result_free(&result);
        }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sharded_equals_replicated),
        cmocka_unit_test(sharded_equals_replicated_on_a_pipeline),
        cmocka_unit_test(tensor_parallel_copies_stay_equal),
        cmocka_unit_test(every_element_has_one_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
