/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes that nobody tests, as whole training runs: one layer, one head, heads of one channel and of odd widths,
 * one inner unit, one token in the vocabulary, samples of one token, a stream of one channel. Each runs with
 * every kind of positions that fits it, plain and fused, on the grids that fit, and gives the numbers of one
 * plain rank; what is known by hand is checked by itself; a grid that does not fit is refused with a sentence.
 */
#include "harness/train_run.h"

#include "spec/config.h"
#include "t1-shapes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { STEPS = 3 };

static const struct edge {
    const char *name;
    int64_t layers, hidden, heads, groups, channels, ffn, vocab, length;
    bool gated;
    double rotary_percent;
} edges[] = {
    {"one layer, one head", 1, 8, 1, 1, 8, 12, 11, 6, true, 1},
    {"heads of one channel", 2, 4, 4, 4, 1, 8, 11, 6, false, 1},
    {"heads of one channel, shared", 1, 6, 6, 2, 1, 6, 11, 6, true, 1},
    {"heads of two channels", 1, 6, 6, 3, 2, 6, 11, 6, true, 1},
    {"heads of three channels", 2, 6, 2, 2, 3, 10, 11, 7, true, 0.7},
    {"heads of five channels", 1, 9, 2, 1, 5, 7, 13, 5, true, 0.8},
    {"heads of 33 channels", 1, 17, 2, 2, 33, 6, 13, 5, false, 0.5},
    {"heads wider than the stream", 1, 2, 2, 2, 7, 4, 5, 4, false, 0.6},
    {"heads wider than a part of the reference", 1, 4, 2, 1, 1027, 4, 5, 4, false, 1},
    {"one inner unit", 1, 8, 2, 2, 4, 1, 11, 6, false, 1},
    {"one inner unit, gated", 2, 8, 2, 1, 4, 1, 11, 6, true, 1},
    {"a vocabulary of one", 2, 8, 2, 2, 4, 12, 1, 6, true, 1},
    {"a vocabulary of two", 1, 8, 2, 2, 4, 12, 2, 6, false, 1},
    {"samples of one token", 2, 8, 2, 2, 4, 12, 11, 1, true, 1},
    {"samples of two tokens", 1, 8, 2, 2, 4, 12, 11, 2, true, 1},
    {"a stream of one channel", 1, 1, 2, 2, 4, 6, 11, 6, true, 1},
    {"a stream of one channel, one of all", 1, 1, 1, 1, 1, 1, 1, 1, false, 1},
    {"one of all but two channels", 1, 2, 1, 1, 2, 1, 1, 1, true, 1},
    {"one of all but tokens", 1, 1, 1, 1, 1, 1, 3, 5, true, 1},
};
enum { NUM_EDGES = sizeof(edges) / sizeof(edges[0]) };

static const int64_t positions[] = {TRI_POSITION_LEARNED, TRI_POSITION_ROPE, TRI_POSITION_NONE};

/* What the next run is; a way's configure() has no argument. */
static struct {
    const struct edge *edge;
    int64_t positions, normalization;
    bool plain, zero;
    double softmax_scale;
} now;

static struct tri_gpt_config shape_now(void)
{
    const struct edge *e = now.edge;
    struct tri_gpt_config shape =
        shape_llama(e->layers, e->hidden, e->heads, e->groups, e->ffn, e->vocab);
    struct tri_transformer_config *t = &shape.transformer;
    t->kv_channels = e->channels;
    t->gated_linear_unit = e->gated;
    t->normalization = now.normalization;
    t->add_bias_linear = now.normalization == TRI_NORM_LAYERNORM;
    t->attention_dropout = t->hidden_dropout = 0;
    t->init_method_std = now.zero ? 0 : 0.3;
    t->attention.softmax_scale = now.softmax_scale;
    shape.untie_embeddings_and_output_weights = e->gated;
    shape.seq_length = shape.max_position_embeddings = e->length;
    shape.position_embedding_type = now.positions;
    shape.rotary_percent = e->rotary_percent;
    shape.make_vocab_size_divisible_by = 1;
    return shape;
}

static void configure(struct tri_run_config *config)
{
    config->shape = shape_now();
    tri_gpt_config_resolve(&config->shape);
    config->spec.transformer_impl = now.plain ? TRI_IMPL_PLAIN : TRI_IMPL_FUSED;
}

static bool fits(void)
{
    struct tri_gpt_config shape = shape_now();
    tri_gpt_config_resolve(&shape);
    return tri_gpt_config_check(&shape, NULL) == TRI_OK;
}

static void run(struct train_way way, struct train_result *result)
{
    way.steps = STEPS;
    way.micro_batch = 1;
    way.global_batch = 4;
    way.configure = configure;
    train_run(&way, result);
    for (int i = 0; i < STEPS; i++)
        if (!isfinite(result->loss[i]) || !isfinite(result->norm[i]) || result->other_copies != 0)
            fail_msg("'%s': step %d: loss %g, norm %g, %lld other copies", now.edge->name, i + 1,
                     result->loss[i], result->norm[i], (long long)result->other_copies);
}

/* Numbers near enough; some are 0 in exact arithmetic, so both bounds count. */
static bool near(double a, double b)
{
    return fabs(a - b) <= 2e-6 + 2e-5 * fabs(b);
}

static void compare(const struct train_result *a, const struct train_result *b, const char *how)
{
    bool same = train_same_start(a, b);
    for (int i = 0; i < STEPS; i++)
        same = same && near(a->loss[i], b->loss[i]) && a->valid[i] == b->valid[i];
    same = same && near(a->norm[0], b->norm[0]);
    for (int64_t i = 0; i < a->elements; i++)
        same = same && near(a->gradient[i], b->gradient[i]);
    if (!same)
        fail_msg("'%s', positions %lld, %s: loss %.9g against %.9g, norm %.9g against %.9g",
                 now.edge->name, (long long)now.positions, how, a->loss[STEPS - 1],
                 b->loss[STEPS - 1], a->norm[0], b->norm[0]);
}

/* Runs on way if the shape can be cut so; otherwise the refusal says what works. */
static void run_or_refuse(struct train_way way, const struct train_result *base)
{
    const struct edge *e = now.edge;
    char how[256];
    struct train_result result;
    bool suits = way.tp <= 1 || (e->heads % way.tp == 0 && e->ffn % way.tp == 0 &&
                                 (e->groups % way.tp == 0 || way.tp % e->groups == 0) &&
                                 (!way.sequence_parallel || e->length % way.tp == 0));
    if (way.pp > e->layers)
        return;
    train_way_format(&way, how, sizeof how);
    if (suits) {
        run(way, &result);
        compare(&result, base, how);
    } else {
        tri_error *err = tri_error_create();
        way.configure = configure;
        way.micro_batch = 1;
        assert_int_equal(train_try(&way, &result, err), TRI_INVALID);
        assert_true(error_says(err, "'tensor_model_parallel_size' 2"));
        assert_true(error_says(err, "; use 1"));
        tri_error_destroy(&err);
    }
    train_result_free(&result);
}

/* All ways of the shape that now tells; what is known by hand. */
static void run_all_ways(void)
{
    static const struct train_way ways[] = {
        {.team = 1},
        {.team = 3},
        {.pp = 2},
        {.tp = 2},
        {.tp = 2, .sequence_parallel = true},
        {.dp = 2, .sharded = true, .bucket_size = 16},
        {.tp = 2, .pp = 2, .dp = 2, .sharded = true, .bucket_size = 16},
    };
    struct train_result base, fast;
    now.plain = true;
    run((struct train_way){.team = 1}, &base);
    run_or_refuse((struct train_way){.tp = 2}, &base);
    now.plain = false;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        run_or_refuse(ways[i], &base);
    run((struct train_way){.team = 2}, &fast);
    for (int i = 0; i < STEPS && now.edge->vocab == 1; i++)
        if (fast.loss[i] != 0 || base.loss[i] != 0 || fast.norm[i] != 0 || base.norm[i] != 0)
            fail_msg("'%s': loss %g, norm %g with one token", now.edge->name, fast.loss[i],
                     fast.norm[i]);
    train_result_free(&base);
    train_result_free(&fast);
}

static void every_shape_trains(void **state)
{
    (void)state;
    int num = 0;
    for (int e = 0; e < NUM_EDGES; e++)
        for (size_t p = 0; p < sizeof positions / sizeof positions[0]; p++) {
            now.edge = &edges[e];
            now.positions = positions[p];
            now.softmax_scale = NAN;
            now.normalization = p == 0 ? TRI_NORM_LAYERNORM : TRI_NORM_RMSNORM;
            if (!fits()) /* an odd number of turning channels: t106-shape-faults */
                continue;
            run_all_ways();
            num++;
        }
    print_message("%d shapes\n", num);
    assert_true(num >= 2 * NUM_EDGES);
}

static void check_same_losses(const struct train_result *a, const struct train_result *b)
{
    for (int i = 0; i < STEPS; i++)
        if ((i == 0 && a->loss[i] != b->loss[i]) || !near(a->loss[i], b->loss[i]) ||
            !near(a->norm[i], b->norm[i]))
            fail_msg("step %d: loss %.17g against %.17g, norm %.9g against %.9g", i + 1, a->loss[i],
                     b->loss[i], a->norm[i], b->norm[i]);
}

/* With samples of one token attention is its value: neither turning nor the scale of scores changes a bit of
   the first loss, and queries and keys have no gradient but what rounding leaves (none in plain loops). */
static void attention_of_one_token_is_its_value(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        struct train_result without, turned, scaled;
        now.edge = &edges[13];
        assert_int_equal(now.edge->length, 1);
        now.normalization = TRI_NORM_RMSNORM;
        now.plain = plain;
        now.softmax_scale = NAN;
        now.positions = TRI_POSITION_NONE;
        run((struct train_way){.team = 2}, &without);
        now.positions = TRI_POSITION_ROPE;
        run((struct train_way){.team = 2}, &turned);
        now.softmax_scale = 7;
        run((struct train_way){.team = 2}, &scaled);
        check_same_losses(&without, &turned);
        check_same_losses(&without, &scaled);
        int qkv = train_find(&scaled, "decoder.layers.1.self_attention.linear_qkv.weight");
        assert_true(qkv >= 0);
        const struct train_tensor *tensor = &scaled.tensors[qkv];
        int64_t part = tensor->elements / 3;
        double of_scores = 0, of_values = 0;
        for (int64_t i = tensor->first; i < tensor->first + part; i++) {
            of_scores = fmax(of_scores, fabs(scaled.gradient[i]));        /* q */
            of_scores = fmax(of_scores, fabs(scaled.gradient[part + i])); /* k */
            of_values = fmax(of_values, fabs(scaled.gradient[2 * part + i]));
        }
        if (!(of_values > 0.01) || of_scores > (plain ? 0 : 1e-5 * of_values))
            fail_msg("%s: gradients up to %g of queries and keys, to %g of values",
                     plain ? "plain" : "fused", of_scores, of_values);
        train_result_free(&without);
        train_result_free(&turned);
        train_result_free(&scaled);
    }
}

/* Where the hidden state cannot tell tokens apart, every token is as likely: the first loss is ln V. A LayerNorm
   of one channel is its bias, which starts at 0; and so is everything that starts at 0. */
static void a_model_that_knows_nothing_loses_ln_v(void **state)
{
    (void)state;
    static const struct {
        int edge;
        bool zero;
    } cases[] = {{15, false}, {18, false}, {0, true}, {4, true}, {10, true}, {12, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct train_result result;
        now.edge = &edges[cases[i].edge];
        now.zero = cases[i].zero;
        now.normalization = TRI_NORM_LAYERNORM;
        now.positions = TRI_POSITION_LEARNED;
        now.softmax_scale = NAN;
        run((struct train_way){.team = 1}, &result);
        assert_float_equal(result.loss[0], log((double)now.edge->vocab), 1e-6);
        train_result_free(&result);
    }
    now.zero = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_trains),
        cmocka_unit_test(attention_of_one_token_is_its_value),
        cmocka_unit_test(a_model_that_knows_nothing_loses_ln_v),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
