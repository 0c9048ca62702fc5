/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test of the grid matrix: with a fault planted, the comparison of t800-grid must fail. Faults: each
 * message of tensor parallelism left out in turn, forward and backward; the border of a bucket moved by a
 * block; the exchange of a tied table left out; one bit of one copy of a parameter.
 */
#include "harness/train_drop.h"
#include "harness/train_run.h"

#include "base/exact_sum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void no_check_for_nan(struct tri_run_config *config)
{
    config->train.check_for_nan_in_loss_and_grad = false;
}

/* One step on two layers and one microbatch per data-parallel rank. */
static struct train_way short_way(enum train_model model, int tp, int pp, int dp)
{
    return (struct train_way){.model = model,
                              .layers = 2,
                              .tp = tp,
                              .pp = pp,
                              .dp = dp,
                              .steps = 1,
                              .micro_batch = 12 / dp,
                              .global_batch = 12,
                              .configure = no_check_for_nan};
}

/* Whether way gives what one rank gives. */
static bool agrees(const struct train_way *way)
{
    struct train_way alone = short_way(way->model, 1, 1, 1);
    struct train_result a, b;
    train_run(&alone, &a);
    train_run(way, &b);
    bool ok = train_in_band(&b, &a, false) && b.other_copies == 0;
    train_result_free(&a);
    train_result_free(&b);
    return ok;
}

/* ---- messages ---- */

static tri_status drop_on_tp(struct tri_session *session, void *arg)
{
    train_drop_plant(session->context->tp, arg);
    return TRI_OK;
}

static void check_messages(enum train_model model, bool sequence_parallel)
{
    struct train_drop drop = {.ordinal = 0};
    struct train_way way = short_way(model, 2, 1, 1);
    way.sequence_parallel = sequence_parallel;
    way.tamper = drop_on_tp;
    way.tamper_arg = &drop;
    assert_true(agrees(&way));
    struct train_drop seen = drop;
    int num_faults = 0;
    for (int op = 0; op < TRI_NUM_COMM_OPS; op++)
        for (int i = 1; i <= seen.num[op]; i++, num_faults++) {
            drop = (struct train_drop){.op = (enum tri_comm_op)op, .ordinal = i};
            if (agrees(&way))
                fail_msg("%s%s: without %s number %d nothing differs", train_model_name(model),
                         sequence_parallel ? " with sequence parallelism" : "",
                         tri_comm_op_name((enum tri_comm_op)op), i);
        }
    print_message("%s%s: %d messages\n", train_model_name(model), sequence_parallel ? " sp" : "",
                  num_faults);
    /* Two a layer and direction, and the ends. */
    assert_true(num_faults >= 8);
}

static void a_message_left_out_is_found(void **state)
{
    check_messages(TRAIN_GPT2, false);
    check_messages(TRAIN_GPT2, true);
    check_messages(TRAIN_LLAMA, false);
    check_messages(TRAIN_LLAMA, true);
    (void)state;
}

/* ---- borders ---- */

/* Bucket number *arg ends a block per rank too early, and so do its shards. */
static tri_status move_border(struct tri_session *session, void *arg)
{
    int number = *(const int *)arg;
    const tri_group *dp = session->context->dp;
    struct tri_bucket_plan *bucket = (struct tri_bucket_plan *)&session->plan.buckets[number];
    bool sharded = bucket->shard_elements != bucket->elements;
    TRI_CHECK(bucket->elements > dp->size * TRI_NORM_BLOCK, session->err, TRI_BUG,
              "no block to move");
    bucket->elements -= dp->size * TRI_NORM_BLOCK;
    bucket->shard_elements = sharded ? bucket->elements / dp->size : bucket->elements;
    bucket->shard_offset = bucket->offset + (sharded ? dp->rank * bucket->shard_elements : 0);
    return TRI_OK;
}

static void a_moved_border_is_found(void **state)
{
    for (int sharded = 0; sharded < 2; sharded++)
        for (int number = 0; number < 2; number++) {
            struct train_way way = short_way(TRAIN_LLAMA, 1, 1, 2);
            way.sharded = sharded;
            way.bucket_size = 8000;
            assert_true(agrees(&way));
            way.tamper = move_border;
            way.tamper_arg = &number;
            if (agrees(&way))
                fail_msg("%s, bucket %d: nothing differs", sharded ? "sharded" : "replicated",
                         number);
        }
    (void)state;
}

/* ---- the tied table ---- */

static tri_status drop_on_embd(struct tri_session *session, void *arg)
{
    if (session->context->embd)
        train_drop_plant(session->context->embd, arg);
    return TRI_OK;
}

static void a_tied_exchange_left_out_is_found(void **state)
{
    for (int sharded = 0; sharded < 2; sharded++) {
        struct train_drop drop = {.op = TRI_COMM_ALL_REDUCE, .ordinal = -1};
        struct train_way way = short_way(TRAIN_GPT2, 1, 2, 1 + sharded);
        way.sharded = sharded;
        assert_true(agrees(&way));
        way.tamper = drop_on_embd;
        way.tamper_arg = &drop;
        assert_false(agrees(&way));
        assert_true(drop.num[TRI_COMM_ALL_REDUCE] > 0);
    }
    (void)state;
}

/* ---- copies ---- */

/* One bit of the last parameter, on rank 1 only. */
static tri_status flip_bit(struct tri_session *session, void *arg)
{
    (void)arg;
    if (session->world->rank != 1)
        return TRI_OK;
    float *value = tri_tensor_f32(&session->model->params[session->model->num_params - 1].value);
    uint32_t word;
    memcpy(&word, value, sizeof word);
    word ^= 1u << 12;
    memcpy(value, &word, sizeof word);
    return TRI_OK;
}

static void a_flipped_bit_is_found(void **state)
{
    const struct train_way ways[] = {short_way(TRAIN_LLAMA, 1, 1, 2),
                                     short_way(TRAIN_GPT2, 1, 2, 2)};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct train_way way = ways[i];
        struct train_result result;
        way.tamper = flip_bit;
        train_run(&way, &result);
        assert_true(result.other_copies > 0);
        train_result_free(&result);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_left_out_is_found),
        cmocka_unit_test(a_moved_border_is_found),
        cmocka_unit_test(a_tied_exchange_left_out_is_found),
        cmocka_unit_test(a_flipped_bit_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
