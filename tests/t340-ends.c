/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ends of a model. The head: losses, weights and logits against a plain double-precision
 * computation, what is asked for and what is not, labels that are no tokens. The embedding: ids and
 * positions that do not exist, lengths that sequence parallelism cannot cut.
 */
#include "harness/nn_fixture.h"

#include "kernels/reduce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { B = 3, S = 8, V = 37, H = 20 };

static const struct nn_way one_rank = {.tp = 1, .rows = B, .length = S};

struct fixture {
    tri_error *err;
    tri_world *world;
    struct nn_rank rank;
};

static void fixture_init(struct fixture *f, const char *name)
{
    *f = (struct fixture){.err = tri_error_create()};
    assert_int_equal(tri_world_create_self(tri_reduce_in_order, f->err, &f->world), TRI_OK);
    f->rank.c = nn_case_find(name);
    f->rank.way = &one_rank;
    assert_int_equal(nn_rank_create(&f->rank, f->world), TRI_OK);
}

static void fixture_fini(struct fixture *f)
{
    tri_group_destroy(&f->rank.tp);
    nn_rank_destroy(&f->rank);
    tri_world_destroy(&f->world);
    tri_error_destroy(&f->err);
}

/* Logits [b, s, V] of the rmsnorm head, in double. */
static void expected_logits(const struct nn_rank *rank, double *logits)
{
    struct tri_tensor in = nn_rank_tensor(rank, &rank->in, &rank->x, S);
    const float *x = tri_tensor_f32(&in);
    const float *norm = tri_tensor_f32(&rank->params[0].value);
    const float *table = tri_tensor_f32(&rank->params[1].value);
    assert_string_equal(rank->params[0].spec->name, "decoder.final_layernorm.weight");
    assert_string_equal(rank->params[1].spec->name, "output_layer.weight");
    for (int b = 0; b < B; b++)
        for (int s = 0; s < S; s++) {
            const float *row = x + (s * B + b) * H;
            double squares = 0;
            for (int c = 0; c < H; c++)
                squares += (double)row[c] * row[c];
            for (int v = 0; v < V; v++) {
                double sum = 0;
                for (int c = 0; c < H; c++)
                    sum += row[c] / sqrt(squares / H + 1e-5) * norm[c] * table[v * H + c];
                logits[(b * S + s) * V + v] = sum;
            }
        }
}

static double expected_loss(const double *logits, int label)
{
    double max = -INFINITY, sum = 0;
    for (int v = 0; v < V; v++)
        max = logits[v] > max ? logits[v] : max;
    for (int v = 0; v < V; v++)
        sum += exp(logits[v] - max);
    return max + log(sum) - logits[label];
}

static void the_head_is_what_the_formula_says(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "head untied");
    struct nn_rank *rank = &f.rank;
    double *logits = malloc(sizeof(double) * B * S * V);
    expected_logits(rank, logits);
    for (int weighted = 0; weighted < 2; weighted++) {
        const float *weights = rank->microbatch.weights;
        if (!weighted)
            rank->microbatch.weights = NULL;
        assert_int_equal(nn_rank_forward(rank), TRI_OK);
        double value = 0, count = 0;
        for (int i = 0; i < B * S; i++) {
            int32_t label = rank->microbatch.labels[i];
            double loss = label < 0 ? 0 : expected_loss(logits + i * V, label);
            double weight = label < 0 ? 0 : weighted ? weights[i] : 1;
            assert_float_equal(rank->token_loss[i], loss, 5e-6);
            value += weight * loss;
            count += weight;
        }
        assert_float_equal(rank->slot.loss[TRI_LOSS_LM].value, value, 5e-5);
        assert_float_equal(rank->slot.loss[TRI_LOSS_LM].count, count, 1e-12);
        rank->microbatch.weights = weights;
    }
    for (int i = 0; i < B * S * V; i++)
        assert_float_equal(rank->logits[i], logits[i], 5e-6);
    free(logits);
    fixture_fini(&f);
}

static void logits_come_without_labels(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "head untied");
    struct nn_rank *rank = &f.rank;
    assert_int_equal(nn_rank_forward(rank), TRI_OK);
    float *all = malloc(sizeof(float) * B * S * V);
    memcpy(all, rank->logits, sizeof(float) * B * S * V);
    const int32_t *labels = rank->microbatch.labels;
    for (int with_labels = 0; with_labels < 2; with_labels++) {
        rank->microbatch.labels = with_labels ? labels : NULL;
        rank->slot.all_logits = false;
        memset(rank->logits, 0, sizeof(float) * B * S * V);
        assert_int_equal(nn_rank_forward(rank), TRI_OK);
        for (int b = 0; b < B; b++)
            for (int v = 0; v < V; v++)
                assert_float_equal(rank->logits[b * V + v], all[(b * S + S - 1) * V + v], 5e-6);
        assert_true(rank->logits[B * V] == 0);
        assert_true((rank->slot.loss[TRI_LOSS_LM].count > 0) == with_labels);
    }
    rank->microbatch.labels = labels;
    free(all);
    fixture_fini(&f);
}

static void nothing_asked_for_is_nothing_done(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "head untied");
    const int32_t *labels = f.rank.microbatch.labels;
    f.rank.microbatch.labels = NULL;
    f.rank.slot.logits = NULL;
    f.rank.token_loss[0] = 17;
    f.rank.slot.loss[TRI_LOSS_LM] = (struct tri_loss_term){3, 4};
    assert_int_equal(nn_rank_forward(&f.rank), TRI_OK);
    assert_true(f.rank.token_loss[0] == 17);
    assert_true(f.rank.slot.loss[TRI_LOSS_LM].count == 0);
    f.rank.microbatch.labels = labels;
    fixture_fini(&f);
}

/* What a unit says about token or position number i of the microbatch when it is value. */
static void check_refused(const char *name, int field, int i, int32_t value, const char *message)
{
    struct fixture f;
    fixture_init(&f, name);
    const int32_t *fields[] = {f.rank.microbatch.tokens, f.rank.microbatch.positions,
                               f.rank.microbatch.labels};
    ((int32_t *)fields[field])[i] = value;
    assert_int_equal(nn_rank_forward(&f.rank), TRI_INVALID);
    assert_string_equal(tri_error_message(f.err, 0), message);
    fixture_fini(&f);
}

static void ids_that_do_not_exist_are_named(void **state)
{
    (void)state;
    check_refused("embedding llama", 0, 11, 37,
                  "token id 37 at row 1, position 3 is outside the vocabulary of 37");
    check_refused("embedding llama", 0, 0, -1,
                  "token id -1 at row 0, position 0 is outside the vocabulary of 37");
    check_refused("embedding gpt", 1, 8, 16,
                  "position 16 of row 1 is outside the 16 learned positions; use shorter input");
    check_refused("head tied", 2, 23, 38,
                  "label 38 at row 2, position 7 is outside the vocabulary of 37");
}

static tri_status odd_length(void *arg, tri_world *world)
{
    struct nn_rank *rank = &((struct nn_rank *)arg)[world->rank];
    tri_status status = nn_rank_create(rank, world);
    rank->microbatch.length = S - 1;
    if (status == TRI_OK)
        status = nn_rank_forward(rank);
    tri_group_destroy(&rank->tp);
    return status;
}

static void a_length_that_cannot_be_cut_is_named(void **state)
{
    (void)state;
    const struct nn_way way = {.tp = 2, .sequence_parallel = true, .rows = B, .length = S};
    struct nn_rank ranks[2] = {{.c = nn_case_find("embedding gpt"), .way = &way},
                               {.c = nn_case_find("embedding gpt"), .way = &way}};
    tri_error *errs[2] = {tri_error_create(), tri_error_create()};
    assert_int_equal(tri_threads_run(2, 60, tri_reduce_in_order, odd_length, ranks, errs),
                     TRI_INVALID);
    /* the slower rank may have been told of the other's failure first */
    assert_non_null(strstr(tri_error_message(errs[1], 0),
                           "7 positions cannot be cut over 2 sequence-parallel ranks; use a "
                           "multiple of 2 or no --sequence-parallel"));
    for (int r = 0; r < 2; r++) {
        nn_rank_destroy(&ranks[r]);
        tri_error_destroy(&errs[r]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_is_what_the_formula_says),
        cmocka_unit_test(logits_come_without_labels),
        cmocka_unit_test(nothing_asked_for_is_nothing_done),
        cmocka_unit_test(ids_that_do_not_exist_are_named),
        cmocka_unit_test(a_length_that_cannot_be_cut_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
