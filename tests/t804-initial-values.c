/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Initial values as a model has them, whole tensors from any grid: mean, spread, range and shape of the
 * distribution of every parameter against Megatron-LM's rules, written down here once more; no tensor repeats
 * another, no element its neighbour; the same bits on every grid, and others with another seed.
 */
#include "harness/train_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LAYERS = 4, HIDDEN = 64, HEADS = 8, WIDTH = 6, GROUPS = 4, FFN = 96, VOCAB = 211 };

static void shape(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->hidden_size = HIDDEN;
    t->num_attention_heads = HEADS;
    t->num_query_groups = GROUPS;
    t->kv_channels = WIDTH;
    t->ffn_hidden_size = FFN;
    t->init_method_std = 0.03;
    t->add_bias_linear = true;
    t->attention.qk_layernorm = true;
    t->attention.softmax_type = TRI_SOFTMAX_LEARNABLE;
    config->shape.vocab_size = VOCAB;
    config->shape.position_embedding_type = TRI_POSITION_LEARNED;
    config->shape.max_position_embeddings = 96;
}

static void own_embedding(struct tri_run_config *config)
{
    shape(config);
    config->shape.transformer.embedding_init_method_std = 0.4;
    config->shape.transformer.layernorm_zero_centered_gamma = true;
}

static void xavier(struct tri_run_config *config)
{
    own_embedding(config);
    config->shape.transformer.init_method_xavier_uniform = true;
}

static void maximal_update(struct tri_run_config *config)
{
    own_embedding(config);
    config->shape.transformer.use_mup = true;
    config->shape.transformer.mup_base_hidden_size = 16; /* a quarter of the width */
}

static void other_seed(struct tri_run_config *config)
{
    shape(config);
    config->train.seed = 4321;
}

/* What a tensor should hold: a constant, or values of this spread between bounds of +-bound (0: normal). */
struct expectation {
    double constant, spread, bound;
};

static bool ends(const char *name, const char *tail)
{
    size_t length = strlen(name), n = strlen(tail);
    return length >= n && strcmp(name + length - n, tail) == 0;
}

static struct expectation uniform(double in, double out)
{
    double bound = sqrt(6 / (in + out));
    return (struct expectation){.spread = bound / sqrt(3), .bound = bound};
}

/* The rules, from the options alone. */
static struct expectation rule(const struct tri_transformer_config *t, const char *name)
{
    double std = t->init_method_std, embedding = t->embedding_init_method_std;
    double hidden = t->use_mup ? std / sqrt(4) : std, heads = HEADS * WIDTH;
    bool is_gamma = strstr(name, "layernorm.weight");
    if (ends(name, "bias") || is_gamma)
        return (struct expectation){.constant =
                                        is_gamma && !t->layernorm_zero_centered_gamma ? 1 : 0};
    if (strstr(name, "embedding"))
        return (struct expectation){.spread = isnan(embedding) ? std : embedding};
    if (strstr(name, "softmax_offset"))
        return (struct expectation){.spread = hidden};
    bool is_uniform = t->init_method_xavier_uniform;
    if (strstr(name, "output_layer"))
        return is_uniform ? uniform(HIDDEN, VOCAB)
                          : (struct expectation){.spread = t->use_mup ? embedding : std};
    if (strstr(name, "linear_qkv"))
        return is_uniform ? uniform(HIDDEN, heads + 2 * GROUPS * WIDTH)
                          : (struct expectation){.spread = hidden};
    if (strstr(name, "linear_fc1"))
        return is_uniform ? uniform(HIDDEN, 2 * FFN) : (struct expectation){.spread = hidden};
    assert_true(strstr(name, "linear_proj") || strstr(name, "linear_fc2"));
    if (is_uniform)
        return uniform(strstr(name, "linear_fc2") ? FFN : heads, HIDDEN);
    return (struct expectation){.spread = hidden / sqrt(2.0 * LAYERS)};
}

/* Fails unless got is expected within five of its own standard deviations. */
static void near(const char *name, const char *what, double got, double expected, double deviation)
{
    if (!(fabs(got - expected) <= 5 * deviation))
        fail_msg("%s: %s is %g, should be %g +- %g", name, what, got, expected, deviation);
}

static void check_spread(const char *name, const float *x, int64_t n, const struct expectation *e)
{
    double sum = 0, squares = 0, neighbours = 0, far = 0, largest = 0, count = (double)n;
    for (int64_t i = 0; i < n; i++) {
        double v = (double)x[i];
        sum += v;
        squares += v * v;
        neighbours += i > 0 ? v * (double)x[i - 1] : 0;
        far += fabs(v) > 2 * e->spread;
        largest = fmax(largest, fabs(v));
    }
    double variance = e->spread * e->spread, kurtosis = e->bound > 0 ? 1.8 : 3;
    near(name, "its mean", sum / count, 0, e->spread / sqrt(count));
    near(name, "its variance", squares / count, variance, variance * sqrt((kurtosis - 1) / count));
    near(name, "the product of neighbours", neighbours / count, 0, variance / sqrt(count));
    if (e->bound > 0) {
        if (largest > e->bound || largest < e->bound * (1 - 20 / count))
            fail_msg("%s: largest is %g, the bound %g", name, largest, e->bound);
        return;
    }
    const double tail = 0.0455002639; /* of a normal beyond two sigma */
    near(name, "the share beyond two sigma", far / count, tail,
         sqrt(tail * (1 - tail) / count) + 1 / count);
    if (n > 1000 && !(largest > 2.9 * e->spread && largest < 5.5 * e->spread))
        fail_msg("%s: largest is %g of a spread of %g", name, largest, e->spread);
}

static void check_values(const struct train_result *result, const struct tri_transformer_config *t)
{
    for (int k = 0; k < result->num_tensors; k++) {
        const struct train_tensor *tensor = &result->tensors[k];
        const float *x = result->initial + tensor->first;
        struct expectation e = rule(t, tensor->name);
        if (e.spread > 0)
            check_spread(tensor->name, x, tensor->elements, &e);
        for (int64_t i = 0; i < tensor->elements && e.spread <= 0; i++)
            if ((double)x[i] != e.constant)
                fail_msg("%s: element %lld is %g", tensor->name, (long long)i, (double)x[i]);
        for (int other = 0; other < k && e.spread > 0; other++)
            if (x[0] == result->initial[result->tensors[other].first])
                fail_msg("%s starts as %s does", tensor->name, result->tensors[other].name);
    }
}

static struct train_way way_of(void (*configure)(struct tri_run_config *config))
{
    return (struct train_way){.model = TRAIN_LLAMA,
                              .layers = LAYERS,
                              .team = 1,
                              .steps = 1,
                              .global_batch = 8,
                              .configure = configure};
}

static void (*const rules[])(struct tri_run_config *config) = {shape, own_embedding, xavier,
                                                               maximal_update};
enum { NUM_RULES = sizeof(rules) / sizeof(rules[0]) };

static void values_follow_the_rules(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_RULES; i++) {
        struct train_way way = way_of(rules[i]);
        struct tri_run_config config;
        struct train_result result;
        train_way_config(&way, &config);
        train_run(&way, &result);
        assert_true(result.num_tensors > 40);
        check_values(&result, &config.shape.transformer);
        train_result_free(&result);
    }
}

static void values_are_the_same_bits_on_every_grid(void **state)
{
    static const struct train_way grids[] = {
        {.tp = 2, .sequence_parallel = true},
        {.tp = 8},
        {.pp = 4, .team = 2},
        {.pp = 2, .vpp = 2},
        {.dp = 2},
        {.dp = 4, .sharded = true, .bucket_size = 3000},
        {.tp = 2, .pp = 2, .dp = 2, .sharded = true},
    };
    (void)state;
    for (int i = 0; i < NUM_RULES; i++) {
        struct train_way way = way_of(rules[i]);
        struct train_result alone, other;
        train_run(&way, &alone);
        for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
            char text[256];
            way = grids[g];
            struct train_way usual = way_of(rules[i]);
            way.model = usual.model;
            way.layers = usual.layers;
            way.steps = usual.steps;
            way.global_batch = usual.global_batch;
            way.configure = usual.configure;
            train_way_format(&way, text, sizeof text);
            train_run(&way, &other);
            if (!train_same_start(&alone, &other) || other.other_copies != 0)
                fail_msg("rule %d: other initial values on %s", i, text);
            train_result_free(&other);
        }
        train_result_free(&alone);
    }
}

static void another_seed_is_another_model(void **state)
{
    (void)state;
    struct train_way way = way_of(shape);
    struct train_result first, second;
    train_run(&way, &first);
    way.configure = other_seed;
    train_run(&way, &second);
    int64_t same = 0, drawn = 0;
    for (int k = 0; k < first.num_tensors; k++) {
        const struct train_tensor *tensor = &first.tensors[k];
        bool is_constant = ends(tensor->name, "bias") || strstr(tensor->name, "layernorm");
        for (int64_t i = tensor->first; !is_constant && i < tensor->first + tensor->elements; i++) {
            same += first.initial[i] == second.initial[i];
            drawn++;
        }
    }
    assert_true(drawn > 100000 && same < drawn / 10000);
    train_result_free(&first);
    train_result_free(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_rules),
        cmocka_unit_test(values_are_the_same_bits_on_every_grid),
        cmocka_unit_test(another_seed_is_another_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
