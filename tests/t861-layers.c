/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that are not alike, as whole training runs: own groups, own widths, nothing or a linear in the place of
 * a half, on every kind of grid; layers by a function that is told where they will lie; and one module of one
 * layer replaced, by an implementation in the registries or by one from outside, which changes nothing else:
 * not a bit where the replacement computes the same, and its own rounding where it does not.
 */
/* This program's registries have two implementations of a module more. */
#define TRI_MORE_MODULES(X) X(recorded) X(recorded_plain)
#include "nn/registry.c"
#include "spec/registry.c"

#include "harness/train_run.h"

#include "spec/model_spec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- layers of different sizes ---- */

enum { LAYERS = 6 };

static void configure_uneven(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->layer_query_groups = (struct tri_option_list){.num = LAYERS, .value = {2, 0, -1, 8, 0, 4}};
    t->layer_ffn_sizes = (struct tri_option_list){.num = LAYERS, .value = {48, -1, 0, 16, 0, 40}};
}

static void layers_of_all_sizes_train_on_every_grid(void **state)
{
    (void)state;
    static const struct train_way ways[] = {
        {.team = 3},
        {.pp = 2},
        {.pp = 3, .team = 2},
        {.pp = 4}, /* 6 layers on 4 stages, one of which has a layer of nothing */
        {.pp = 2, .vpp = 3},
        {.tp = 2},
        {.tp = 2, .sequence_parallel = true},
        {.tp = 4, .sequence_parallel = true},
        {.tp = 8},
        {.dp = 3, .sharded = true, .bucket_size = 2000},
        {.tp = 2, .pp = 2, .dp = 2, .sharded = true, .sequence_parallel = true},
    };
    struct train_result base, result;
    struct train_way way = {.model = TRAIN_LLAMA, .layers = LAYERS, .configure = configure_uneven};
    train_run(&way, &base);
    assert_true(train_find(&base, "decoder.layers.1.mlp.weight") >= 0);
    assert_true(train_find(&base, "decoder.layers.2.self_attention.weight") >= 0);
    assert_int_equal(train_find(&base, "decoder.layers.1.input_layernorm.weight"), -1);
    assert_int_equal(train_find(&base, "decoder.layers.4.input_layernorm.weight"), -1);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char text[256];
        way = ways[i];
        way.layers = LAYERS;
        way.model = TRAIN_LLAMA;
        way.configure = configure_uneven;
        train_run(&way, &result);
        train_way_format(&way, text, sizeof text);
        bool bits = way.tp <= 1 && way.dp <= 1;
        if (!train_same_start(&result, &base) || result.other_copies != 0 ||
            !(bits ? train_same_bits(&result, &base, true) : train_in_band(&result, &base, true)))
            fail_msg("%s: trains otherwise", text);
        train_result_free(&result);
    }
    for (int t = 0; t < base.num_tensors; t++) { /* and every parameter learns */
        int64_t moved = 0;
        for (int64_t i = 0; i < base.tensors[t].elements; i++)
            moved +=
                base.initial[base.tensors[t].first + i] != base.final[base.tensors[t].first + i];
        if (moved < base.tensors[t].elements * 9 / 10)
            fail_msg("%s does not move", base.tensors[t].name);
    }
    train_result_free(&base);
}

/* ---- layers by a function ---- */

static struct tri_layer_place told[4]; /* by layer */

static tri_status make_layer(void *user, const struct tri_gpt_config *shape,
                             const struct tri_layer_place *place, tri_error *err,
                             struct tri_module_spec *layer)
{
    (void)user;
    (void)shape;
    told[place->layer] = *place;
    return place->layer % 2 ? tri_layer_spec_override(layer, "mlp", "plain", err) : TRI_OK;
}

static void a_function_is_told_its_virtual_stage(void **state)
{
    (void)state;
    const struct tri_hooks hooks = {.layer_spec = make_layer};
    struct tri_run_config config;
    struct train_way way = {.model = TRAIN_GPT2, .pp = 2, .vpp = 2, .hooks = &hooks};
    train_way_config(&way, &config);
    struct tri_model_spec *spec = NULL;
    struct tri_placement *placement = NULL;
    tri_error *err = tri_error_create();
    assert_int_equal(
        tri_run_plan(&config, &hooks, 2, TRI_USE_TRAINING, 0, NULL, err, &spec, &placement),
        TRI_OK);
    for (int layer = 0; layer < 4; layer++) {
        assert_int_equal(told[layer].layer, layer);
        assert_int_equal(told[layer].stage, layer % 2);
        assert_int_equal(told[layer].virtual_stage, layer / 2);
        const struct tri_module_spec *mlp =
            tri_module_spec_child(tri_model_spec_get_layer(spec, layer), "mlp");
        assert_string_equal(mlp->implementation, layer % 2 ? "plain" : "fused");
    }
    tri_placement_destroy(&placement);
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

/* ---- surgery ---- */

enum { STEPS = 4, MAX_OUTPUT = 2 * 16 * 8 * 6 };

/* What the recorded modules of the last run did: the first outputs of each layer's attention. */
static struct {
    int made[4], calls[4];
    const char *kernels[4];
    float first[4][MAX_OUTPUT];
} record;

static const struct tri_module_ops *recorded_ops; /* of the module that is behind */
static struct tri_module_ops recording_ops;

static int layer_of(const char *path)
{
    int layer = -1;
    assert_int_equal(sscanf(path, "decoder.layers.%d.", &layer), 1);
    return layer;
}

static tri_status recorded_forward(tri_module *module, struct tri_slot *slot,
                                   const struct tri_tensor *in, struct tri_tensor *out)
{
    tri_status status = recorded_ops->forward(module, slot, in, out);
    int layer = layer_of(module->path);
    int64_t elements = tri_tensor_elements(out);
    assert_int_equal(elements, MAX_OUTPUT);
    if (record.calls[layer]++ == 0)
        memcpy(record.first[layer], tri_tensor_f32(out), (size_t)elements * sizeof(float));
    return status;
}

/* The module of the library, watched. */
static tri_status recorded_create(struct tri_build *build, const struct tri_module_spec *node,
                                  tri_module **module)
{
    TRI_TRY(tri_module_class_find("dot_product_attention", NULL)->create(build, node, module));
    int layer = layer_of((*module)->path);
    recorded_ops = (*module)->ops;
    recording_ops = *recorded_ops;
    recording_ops.name = "recorded";
    recording_ops.forward = recorded_forward;
    (*module)->ops = &recording_ops;
    record.kernels[layer] = (*module)->kernels->name;
    record.made[layer]++;
    return TRI_OK;
}

static void recorded_describe(struct tri_sizer *sizer, const struct tri_module_spec *node)
{
    tri_module_row_find("dot_product_attention", NULL)->describe(sizer, node);
}

#define ATTENTION_ROW   .name = "dot_product_attention", .describe = recorded_describe
#define ATTENTION_CLASS .name = "dot_product_attention", .create = recorded_create

/* In the registries ... */
const struct tri_module_row tri_spec_recorded = {ATTENTION_ROW, .implementation = "recorded",
                                                 .kernels = "fused"};
const struct tri_module_row tri_spec_recorded_plain = {ATTENTION_ROW,
                                                       .implementation = "recorded_plain"};
const struct tri_module_class tri_module_class_recorded = {ATTENTION_CLASS,
                                                           .implementation = "recorded"};
const struct tri_module_class tri_module_class_recorded_plain = {
    ATTENTION_CLASS, .implementation = "recorded_plain"};

/* ... and from outside. */
static const struct tri_module_row outer_row = {ATTENTION_ROW, .kernels = "fused"};
static const struct tri_module_row outer_plain_row = {ATTENTION_ROW};
static const struct tri_module_class outer_class = {ATTENTION_CLASS};
static const struct tri_extension outer[] = {
    {.implementation = "outer", .module_row = &outer_row, .module_class = &outer_class},
    {.implementation = "outer_plain", .module_row = &outer_plain_row, .module_class = &outer_class},
};

static const char *override;

static void configure_surgery(struct tri_run_config *config)
{
    snprintf(config->spec.override, sizeof config->spec.override, "%s", override);
}

static void run_surgery(const char *changes, struct train_result *result)
{
    struct train_way way = {.model = TRAIN_ATTENTION,
                            .team = 2,
                            .steps = STEPS,
                            .configure = configure_surgery,
                            .extensions = outer,
                            .num_extensions = 2};
    memset(&record, 0, sizeof record);
    override = changes;
    train_run(&way, result);
}

static bool same_results(const struct train_result *a, const struct train_result *b)
{
    size_t bytes = (size_t)a->elements * sizeof(float);
    return train_same_start(a, b) && train_same_bits(a, b, true) &&
           memcmp(a->gradient, b->gradient, bytes) == 0 && memcmp(a->final, b->final, bytes) == 0;
}

#define CORE(layer) "decoder.layers[" layer "].self_attention.core_attention="

/* name computes as "fused" does and rounds alike, plain as "plain" does. */
static void check_replaced(const char *name, const char *plain_name)
{
    static float before[4][MAX_OUTPUT];
    char changes[256];
    struct train_result whole, same, all, other, plain;
    run_surgery("", &whole);

    /* by one that computes the same: every bit of the run is the same, and nothing else was replaced */
    snprintf(changes, sizeof changes, CORE("1") "%s", name);
    run_surgery(changes, &same);
    assert_true(same_results(&same, &whole));
    for (int layer = 0; layer < 4; layer++) {
        assert_int_equal(record.made[layer] > 0, layer == 1);
        assert_int_equal(record.calls[layer] > 0, layer == 1);
    }
    assert_string_equal(record.kernels[1], "cpu_fast");

    /* by one that rounds otherwise: what lies before it gives the same bits, itself its rounding, and what
       lies behind follows */
    snprintf(changes, sizeof changes, CORE("*") "%s", name);
    run_surgery(changes, &all);
    assert_true(same_results(&all, &whole));
    memcpy(before, record.first, sizeof before);
    snprintf(changes, sizeof changes, CORE("*") "%s\n" CORE("1") "%s", name, plain_name);
    run_surgery(changes, &other);
    assert_string_equal(record.kernels[0], "cpu_fast");
    assert_string_equal(record.kernels[1], "cpu_ref");
    assert_memory_equal(record.first[0], before[0], sizeof before[0]);
    assert_memory_not_equal(record.first[1], before[1], sizeof before[1]);
    for (int i = 0; i < MAX_OUTPUT; i++)
        for (int layer = 0; layer < 4; layer++)
            assert_true(fabsf(record.first[layer][i] - before[layer][i]) <= 1e-5f);
    assert_true(train_same_start(&other, &whole));
    assert_true(train_in_band(&other, &whole, true));

    /* and that is what the name "plain" does */
    run_surgery(CORE("1") "plain", &plain);
    assert_true(same_results(&plain, &other));
    train_result_free(&whole);
    train_result_free(&same);
    train_result_free(&all);
    train_result_free(&other);
    train_result_free(&plain);
}

static void one_module_of_one_layer_is_replaced(void **state)
{
    (void)state;
    check_replaced("recorded", "recorded_plain");
}

static void one_module_of_one_layer_is_replaced_from_outside(void **state)
{
    (void)state;
    check_replaced("outer", "outer_plain");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_of_all_sizes_train_on_every_grid),
        cmocka_unit_test(a_function_is_told_its_virtual_stage),
        cmocka_unit_test(one_module_of_one_layer_is_replaced),
        cmocka_unit_test(one_module_of_one_layer_is_replaced_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
