/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loss is: the mean over the valid tokens of the global batch, whatever holds them; the mean of
 * means where the options ask for it; and a vocabulary whose padding counts as nothing.
 */
#include "harness/train_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- vocabulary ---- */

static tri_status zero_head(struct tri_session *session, void *arg)
{
    int64_t *rows = arg;
    for (int p = 0; p < session->model->num_params; p++) {
        struct tri_param *param = &session->model->params[p];
        if (strcmp(param->spec->name, "output_layer.weight") != 0)
            continue;
        memset(param->value.data, 0, (size_t)param->plan->elements * sizeof(float));
        if (session->world->rank == 0)
            *rows = param->spec->local_dims[0];
    }
    return TRI_OK;
}

static void large_vocabulary(struct tri_run_config *config)
{
    config->shape.vocab_size = 50257;
}

/* Logits that are all equal: the loss is ln V. With padding among them it would be larger. */
static void padding_of_the_vocabulary_counts_as_nothing(void **state)
{
    static const int sizes[] = {1, 2, 4};
    static const int64_t rows_of_101[] = {101, 51, 26};
    for (int i = 0; i < 3; i++)
        for (int is_large = 0; is_large < 2; is_large++) {
            int64_t rows = 0;
            struct train_way way = {.model = TRAIN_LLAMA,
                                    .layers = 1,
                                    .tp = sizes[i],
                                    .global_batch = 2,
                                    .steps = 1,
                                    .configure = is_large ? large_vocabulary : NULL,
                                    .tamper = zero_head,
                                    .tamper_arg = &rows};
            struct train_result result;
            train_run(&way, &result);
            assert_true(fabs(result.loss[0] - log(is_large ? 50257 : 101)) < 2e-6);
            if (!is_large)
                assert_int_equal(rows, rows_of_101[i]);
            train_result_free(&result);
        }
    (void)state;
}

/* ---- means ---- */

/* Sample 0 has four valid tokens of loss 2, sample 1 one of loss 4. */
static tri_status worked_loss(void *user, const struct tri_microbatch *microbatch,
                              const float *token_loss, float *weights, struct tri_loss_term *term)
{
    (void)user;
    (void)token_loss;
    bool is_first = microbatch->sample_ids[0] == 0;
    memset(weights, 0, (size_t)(microbatch->rows * microbatch->length) * sizeof(float));
    for (int i = 0; i < (is_first ? 4 : 1); i++)
        weights[i] = 1;
    *term = is_first ? (struct tri_loss_term){.value = 8, .count = 4}
                     : (struct tri_loss_term){.value = 4, .count = 1};
    return TRI_OK;
}

static tri_status worked_step(void *user, struct tri_slice *slice, struct tri_slot *slot, int unit,
                              int num_units, tri_loss_fn **loss)
{
    (void)user;
    *loss = worked_loss;
    return tri_slice_forward(slice, slot, unit, num_units);
}

static void the_loss_is_the_mean_over_tokens(void **state)
{
    static const struct tri_hooks hooks = {.forward_step = worked_step};
    static const struct {
        int tp, pp, dp;
    } grids[] = {{1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {2, 1, 1}, {2, 2, 2}};
    struct train_result base = {0};
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        struct train_way way = {.model = TRAIN_LLAMA,
                                .tp = grids[i].tp,
                                .pp = grids[i].pp,
                                .dp = grids[i].dp,
                                .micro_batch = 1,
                                .global_batch = 2,
                                .steps = 1,
                                .hooks = &hooks};
        struct train_result result;
        train_run(&way, &result);
        assert_true(result.loss[0] == 12.0 / 5.0);
        assert_true(result.valid[0] == 5);
        if (i > 0)
            assert_true(train_in_band(&result, &base, true));
        if (i > 0)
            train_result_free(&result);
        else
            base = result;
    }
    train_result_free(&base);
    (void)state;
}

static void mean_of_means(struct tri_run_config *config)
{
    config->train.calculate_per_token_loss = false;
}

static struct train_result run_samples(int64_t first, int num, bool per_token, int dp, int pp)
{
    struct train_way way = {.model = TRAIN_LLAMA,
                            .dp = dp,
                            .pp = pp,
                            .micro_batch = 1,
                            .global_batch = num,
                            .first_sample = first,
                            .steps = 1,
                            .configure = per_token ? NULL : mean_of_means};
    struct train_result result;
    train_run(&way, &result);
    return result;
}

/* Relative L2 of gradient - (a * first + b * second). */
static double distance(const struct train_result *sum, double a, const struct train_result *first,
                       double b, const struct train_result *second)
{
    double square = 0, difference = 0;
    for (int64_t i = 0; i < sum->elements; i++) {
        double want = a * (double)first->gradient[i] + b * (double)second->gradient[i];
        double d = (double)sum->gradient[i] - want;
        square += want * want;
        difference += d * d;
    }
    return sqrt(difference / square);
}

/* Two samples with different numbers of valid tokens, each alone and both together. */
static void gradients_are_weighted_as_the_loss_is(void **state)
{
    struct train_result first = run_samples(0, 1, true, 1, 1),
                        second = run_samples(1, 1, true, 1, 1);
    double tokens = first.valid[0] + second.valid[0], share = first.valid[0] / tokens;
    assert_true(first.valid[0] != second.valid[0]);
    static const struct {
        int dp, pp;
    } grids[] = {{1, 1}, {2, 1}, {1, 2}};
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        struct train_result by_token = run_samples(0, 2, true, grids[i].dp, grids[i].pp);
        struct train_result by_sample = run_samples(0, 2, false, grids[i].dp, grids[i].pp);
        double loss = share * first.loss[0] + (1 - share) * second.loss[0];
        assert_true(fabs(by_token.loss[0] - loss) < 1e-6);
        assert_true(distance(&by_token, share, &first, 1 - share, &second) < 1e-6);
        assert_true(distance(&by_sample, 0.5, &first, 0.5, &second) < 1e-6);
        assert_true(distance(&by_sample, share, &first, 1 - share, &second) > 1e-3);
        train_result_free(&by_token);
        train_result_free(&by_sample);
    }
    train_result_free(&first);
    train_result_free(&second);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_of_the_vocabulary_counts_as_nothing),
        cmocka_unit_test(the_loss_is_the_mean_over_tokens),
        cmocka_unit_test(gradients_are_weighted_as_the_loss_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
