/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor: under every schedule the gradients, the loss and the evaluation of an untied model have the
 * bits of plain accumulation, which is written out below: one slice, one slot, one microbatch after another.
 * Then few microbatches on many stages, and what happens when a microbatch fails.
 */
#include "harness/train_run.h"

#include "train/evaluate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- plain accumulation ---- */

struct plain {
    float *gradient;
    double loss;
    struct tri_evaluation evaluation;
};

static tri_status evaluate(struct tri_session *session, struct train_source *source,
                           struct tri_evaluation *evaluation)
{
    struct tri_batch_source batches = train_source_get(source);
    return tri_evaluate(session, &batches, 2, evaluation);
}

/* All microbatches of the first step through the one slice of the one rank. */
static tri_status accumulate(struct tri_session *session, struct train_source *source,
                             struct plain *plain)
{
    struct tri_batch_source batches = train_source_get(source);
    struct tri_slice *slice = session->model->slices[0];
    struct tri_slot *slot = &slice->slots[0];
    struct tri_loss_term total = {0};
    TRI_TRY(batches.begin_step(batches.arg, 0));
    tri_model_begin_step(session->model);
    for (int i = 0; i < session->placement->num_microbatches; i++) {
        struct tri_microbatch microbatch;
        TRI_TRY(batches.microbatch(batches.arg, i, &microbatch));
        slot->microbatch = &microbatch;
        slot->training = true;
        slot->seed = session->seed;
        memset(slot->loss, 0, sizeof slot->loss);
        TRI_TRY(tri_slice_forward(slice, slot, 0, slice->num_units));
        TRI_TRY(
            tri_slice_backward(slice, slot, 0, slice->num_units, TRI_BACKWARD_BOTH, NULL, NULL));
        total.value += slot->loss[TRI_LOSS_LM].value;
        total.count += slot->loss[TRI_LOSS_LM].count;
    }
    struct train_result list = {0};
    train_list_tensors(session, &list);
    plain->loss = total.value / total.count;
    float factor = (float)(1.0 / (total.count * (double)session->seed));
    return train_gather(session, &list, TRAIN_GRADIENTS, factor, &plain->gradient);
}

static tri_status run_plain(struct tri_session *session, void *arg)
{
    struct plain *plain = arg;
    struct train_source source;
    TRI_TRY(train_source_init(&source, session));
    tri_status status = accumulate(session, &source, plain);
    if (status == TRI_OK)
        status = evaluate(session, &source, &plain->evaluation);
    train_source_fini(&source);
    return status;
}

/* Evaluates before the steps; every rank gets the same numbers. */
static tri_status run_evaluation(struct tri_session *session, void *arg)
{
    struct train_source source;
    struct tri_evaluation evaluation;
    TRI_TRY(train_source_init(&source, session));
    tri_status status = evaluate(session, &source, &evaluation);
    if (status == TRI_OK && session->world->rank == 0)
        *(struct tri_evaluation *)arg = evaluation;
    train_source_fini(&source);
    return status;
}

/* ---- schedules ---- */

static void groups_of_four(struct tri_run_config *config)
{
    config->placement.microbatch_group_size_per_vp_stage = 4;
}

static const char zero_bubble[] = "golden/placement/zero-bubble-pp2-m4.txt";

/* One line per schedule; way holds what differs from one rank. */
static const struct {
    int layers;
    int64_t microbatches;
    struct train_way way;
} schedules[] = {
    {4, 8, {.team = 2}},
    {4, 8, {.pp = 2}},
    {4, 8, {.pp = 2, .schedule = "1f1b"}},
    {4, 8, {.pp = 3, .team = 2}},
    {4, 8, {.pp = 4}},
    {4, 8, {.pp = 2, .vpp = 2}},
    {4, 8, {.pp = 2, .vpp = 2, .schedule = "interleaved", .configure = groups_of_four}},
    /* Layers that stages do not divide. */
    {7, 4, {.pp = 2}},
    {10, 4, {.pp = 3}},
    {30, 1, {.pp = 4}},
    {8, 8, {.pp = 4, .vpp = 2}},
    {6, 6, {.pp = 3, .vpp = 2}},
    {4, 4, {.pp = 2, .schedule = zero_bubble}},
    {5, 4, {.pp = 2, .schedule = zero_bubble}},
    /* More stages than microbatches. */
    {4, 1, {.pp = 4}},
    {4, 2, {.pp = 4}},
    {4, 3, {.pp = 4}},
};

static void expect_plain(const struct train_way *way, const struct train_result *result,
                         const struct tri_evaluation *evaluation, const struct plain *plain)
{
    char text[256];
    train_way_format(way, text, sizeof text);
    if (result->loss[0] != plain->loss)
        fail_msg("%s: loss %.17g, plain %.17g", text, result->loss[0], plain->loss);
    if (evaluation->loss_sum != plain->evaluation.loss_sum ||
        evaluation->num_tokens != plain->evaluation.num_tokens)
        fail_msg("%s: another evaluation", text);
    for (int t = 0; t < result->num_tensors; t++) {
        const struct train_tensor *tensor = &result->tensors[t];
        size_t bytes = (size_t)tensor->elements * sizeof(float);
        if (memcmp(result->gradient + tensor->first, plain->gradient + tensor->first, bytes) != 0)
            fail_msg("%s: other bits in the gradient of %s", text, tensor->name);
    }
}

static void check_schedule(size_t i, enum train_model model)
{
    struct plain plain = {0};
    struct tri_evaluation evaluation;
    struct train_way way = schedules[i].way;
    way.model = model;
    way.layers = schedules[i].layers;
    way.global_batch = 2 * schedules[i].microbatches;
    way.steps = 2;
    struct train_way alone = {.model = model,
                              .layers = way.layers,
                              .global_batch = way.global_batch,
                              .steps = 2,
                              .tamper = run_plain,
                              .tamper_arg = &plain};
    way.tamper = run_evaluation;
    way.tamper_arg = &evaluation;
    struct train_result base, result;
    train_run(&alone, &base);
    train_run(&way, &result);
    expect_plain(&alone, &base, &plain.evaluation, &plain);
    expect_plain(&way, &result, &evaluation, &plain);
    assert_true(train_same_bits(&result, &base, true));
    train_result_free(&base);
    train_result_free(&result);
    free(plain.gradient);
}

static void every_schedule_equals_plain_accumulation(void **state)
{
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        check_schedule(i, TRAIN_GPT2_UNTIED);
        check_schedule(i, TRAIN_LLAMA);
    }
    (void)state;
}

/* Split backward cut at the borders of buckets, with their reductions under way, and tensor parallelism. */
static void split_backward_works_with_replicas(void **state)
{
    for (int tp = 1; tp <= 2; tp++) {
        struct train_way split = {.model = TRAIN_LLAMA,
                                  .tp = tp,
                                  .sequence_parallel = tp == 2,
                                  .pp = 2,
                                  .dp = 2,
                                  .sharded = true,
                                  .bucket_size = 1,
                                  .global_batch = 16,
                                  .steps = 5,
                                  .schedule = zero_bubble};
        struct train_way joint = split;
        joint.schedule = NULL;
        struct train_result a, b;
        train_run(&split, &a);
        train_run(&joint, &b);
        assert_true(train_same_bits(&a, &b, true));
        assert_memory_equal(a.final, b.final, (size_t)a.elements * sizeof(float));
        train_result_free(&a);
        train_result_free(&b);
    }
    (void)state;
}

/* ---- fewer microbatches than stages ---- */

struct depth {
    int num_slots;
    double bubble;
};

static tri_status look_at_plan(struct tri_session *session, void *arg)
{
    if (session->world->rank == 0)
        *(struct depth *)arg =
            (struct depth){.num_slots = session->plan.schedule->num_slots[0],
                           .bubble = tri_schedule_bubble(&session->placement->schedule)};
    return TRI_OK;
}

/* Rank 0 holds no more microbatches than there are; the idle share is (p - 1) / m. */
static void few_microbatches_need_few_slots(void **state)
{
    for (int m = 1; m <= 5; m++) {
        struct depth depth = {0};
        struct train_way way = {.model = TRAIN_LLAMA,
                                .pp = 4,
                                .global_batch = 2 * m,
                                .steps = 1,
                                .tamper = look_at_plan,
                                .tamper_arg = &depth};
        struct train_result result;
        train_run(&way, &result);
        assert_int_equal(depth.num_slots, m < 4 ? m : 4);
        assert_true(depth.bubble > 3.0 / m - 1e-9 && depth.bubble < 3.0 / m + 1e-9);
        train_result_free(&result);
    }
    (void)state;
}

/* ---- failures ---- */

static tri_status fail_late(void *user, struct tri_slice *slice, struct tri_slot *slot, int unit,
                            int num_units, tri_loss_fn **loss)
{
    (void)user;
    (void)loss;
    const struct tri_microbatch *microbatch = slot->microbatch;
    if (slice->plan->has_head && microbatch->sample_ids[0] == 6)
        return tri_error_set(slice->context->err, TRI_NUMERIC, "sample 6 is not to be had");
    return tri_slice_forward(slice, slot, unit, num_units);
}

/* The rank that fails says why, the others stop with it. */
static void a_microbatch_that_fails_ends_every_rank(void **state)
{
    static const struct tri_hooks hooks = {.forward_step = fail_late};
    static const struct train_way ways[] = {
        {.model = TRAIN_LLAMA, .hooks = &hooks},
        {.model = TRAIN_LLAMA, .pp = 2, .hooks = &hooks},
        {.model = TRAIN_LLAMA, .pp = 2, .vpp = 2, .dp = 2, .sharded = true, .hooks = &hooks},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct train_result result;
        tri_error *err = tri_error_create();
        assert_int_equal(train_try(&ways[i], &result, err), TRI_NUMERIC);
        int causes = 0;
        for (int k = 0; k < tri_error_count(err); k++)
            causes += strstr(tri_error_message(err, k), "sample 6 is not to be had") != NULL;
        assert_true(causes > 0);
        tri_error_destroy(&err);
        train_result_free(&result);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_equals_plain_accumulation),
        cmocka_unit_test(split_backward_works_with_replicas),
        cmocka_unit_test(few_microbatches_need_few_slots),
        cmocka_unit_test(a_microbatch_that_fails_ends_every_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
