/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each variant of a module trained for some steps on a grid of every kind against one rank, dropout of hidden
 * values and of attention on: grids that only place things elsewhere give the same bits, those that sum in
 * another order lie in the band, and all start from the same bits. The fused kernels against the plain ones.
 * Options that mean something in 16 bits only change no bit.
 */
#include "harness/train_run.h"

#include "t1-shapes.h"

#include "spec/model_spec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define LIST(count, ...)                                                                           \
    (struct tri_option_list)                                                                       \
    {                                                                                              \
        .num = (count), .value = { __VA_ARGS__ }                                                   \
    }

/* ---- variants of a llama of 4 layers, 32 wide, 8 heads of 4, 4 groups ---- */

static void learned_sinks(struct tri_run_config *config)
{
    struct tri_attention_config *a = &config->shape.transformer.attention;
    a->softmax_type = TRI_SOFTMAX_LEARNABLE;
    a->window_size = LIST(2, 5, 0);
    a->window_attn_skip_freq = LIST(1, 2);
    a->attn_logit_softcapping = 2;
}

static void off_by_one_sinks(struct tri_run_config *config)
{
    struct tri_attention_config *a = &config->shape.transformer.attention;
    a->softmax_type = TRI_SOFTMAX_OFF_BY_ONE;
    a->softmax_scale = 0.7;
}

static void window_by_list(struct tri_run_config *config)
{
    struct tri_attention_config *a = &config->shape.transformer.attention;
    a->window_size = LIST(2, 3, 0);
    a->window_attn_skip_freq = LIST(4, 1, 0, 0, 1);
    config->shape.rotary_base_local = 100;
}

static void capped_and_scaled(struct tri_run_config *config)
{
    struct tri_gpt_config *shape = &config->shape;
    shape->transformer.attention.attn_logit_softcapping = 1.5;
    shape->final_logit_softcapping = 2;
    shape->embedding_multiplier = 1.5;
    shape->multiply_embedding_by_sqrt_hidden = true;
    shape->logits_scaling = 1.25;
    shape->transformer.residual_multiplier = 0.6;
    shape->untie_embeddings_and_output_weights = false;
}

static void l2_normed_heads(struct tri_run_config *config)
{
    config->shape.transformer.attention.qk_l2_norm = true;
    config->shape.transformer.attention.mrope_section = LIST(3, 1, 1, 0);
    config->shape.position_embedding_type = TRI_POSITION_MROPE;
    config->shape.rotary_interleaved = true;
}

static void layernormed_heads(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->normalization = TRI_NORM_LAYERNORM;
    t->layernorm_zero_centered_gamma = true;
    t->attention.qk_layernorm = true;
    t->attention.rotary_seq_len_interpolation_factor = 2.5;
}

static void norms_behind(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->norm_position = TRI_NORM_POST;
    t->attention.qk_layernorm = t->attention.qk_norm_across_heads = true;
    t->attention.use_rope_scaling = true;
    t->attention.original_max_position_embeddings = 8;
}

static void norms_on_both_sides(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->norm_position = TRI_NORM_SANDWICH;
    t->layernorm_zero_centered_gamma = true;
    t->activation_func = TRI_ACT_GELU_TANH;
    t->add_mlp_bias = true;
    t->attention.no_rope_freq = LIST(1, 2);
}

static void side_by_side(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->use_parallel_residual = true;
    t->gated_linear_unit = false;
    t->activation_func = TRI_ACT_SQUARED_RELU;
    t->add_qkv_bias = true;
    t->kv_channels = 8;
    t->attention.rope_dynamic_factor = 2;
    config->shape.max_position_embeddings = 12;
    config->shape.rotary_percent = 0.5;
}

static void cut_units(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->activation_func = TRI_ACT_QUICK_GELU;
    t->activation_func_clamp_value = 0.5;
    t->glu_linear_offset = 1;
    t->add_mlp_bias = t->add_proj_bias = true;
}

static void layers_that_differ(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->add_bias_linear = true;
    t->layer_query_groups = LIST(4, 8, TRI_LAYER_LINEAR, 2, TRI_LAYER_NO_OP);
    t->layer_ffn_sizes = LIST(4, 12, 48, TRI_LAYER_NO_OP, TRI_LAYER_LINEAR);
    config->shape.position_embedding_type = TRI_POSITION_NONE;
}

static void maximal_update(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->use_mup = true;
    t->mup_base_hidden_size = 8;
    t->mup_embedding_mult = 1.5;
    t->mup_base_head_dim = 2;
    t->attention.softmax_type = TRI_SOFTMAX_LEARNABLE;
}

static void xavier(struct tri_run_config *config)
{
    config->shape.transformer.init_method_xavier_uniform = true;
}

static void own_embedding_std(struct tri_run_config *config)
{
    config->shape.transformer.embedding_init_method_std = 0.3;
    config->shape.position_embedding_type = TRI_POSITION_LEARNED;
    config->shape.transformer.add_bias_linear = true;
}

static void gated_output(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->attention.attention_output_gate = true;
    t->attention.qk_layernorm = true;
    t->add_qkv_bias = true;
    config->shape.rotary_percent = 0.5;
}

/* One group for all ranks of tp, whose copies come behind the gates; layers that differ. */
static void gated_output_one_group(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    gated_output(config);
    t->layer_query_groups = LIST(4, 1, 4, TRI_LAYER_NO_OP, 1);
    t->attention.softmax_type = TRI_SOFTMAX_LEARNABLE;
}

/* 3 heads of 5 channels, all of one group, and widths that are odd as well. */
static void three_odd_heads(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->hidden_size = 33;
    t->num_attention_heads = 3;
    t->num_query_groups = 1;
    t->kv_channels = 5;
    t->ffn_hidden_size = 15;
    t->attention.qk_layernorm = true;
    t->attention.softmax_type = TRI_SOFTMAX_LEARNABLE;
    t->attention.attention_output_gate = true;
    config->shape.rotary_percent = 0.8;
    config->shape.vocab_size = 103;
    config->shape.seq_length = 15;
}

/* The smallest of everything that tensor parallelism does not cut. */
static void one_of_each(struct tri_run_config *config)
{
    struct tri_transformer_config *t = &config->shape.transformer;
    t->hidden_size = 3;
    t->num_attention_heads = t->num_query_groups = t->kv_channels = 1;
    t->ffn_hidden_size = 1;
    config->shape.position_embedding_type = TRI_POSITION_NONE;
    config->shape.vocab_size = 5;
}

enum { CUT_BY_TWO, CUT_BY_THREE, UNCUT };

static const struct variant {
    const char *name;
    void (*configure)(struct tri_run_config *config);
    int cut; /* which grids: those of tp 2, of tp 3, or none with tp */
} variants[] = {
    {"learned sinks, windows and caps", learned_sinks, CUT_BY_TWO},
    {"off-by-one sinks, softmax scale", off_by_one_sinks, CUT_BY_TWO},
    {"windows by list, a base of their own", window_by_list, CUT_BY_TWO},
    {"caps, factors, tied", capped_and_scaled, CUT_BY_TWO},
    {"L2 norms of heads, mrope, interleaved", l2_normed_heads, CUT_BY_TWO},
    {"LayerNorms of heads, 1 + gamma, linear", layernormed_heads, CUT_BY_TWO},
    {"norms behind and across heads, llama3", norms_behind, CUT_BY_TWO},
    {"sandwich norms, layers that do not turn", norms_on_both_sides, CUT_BY_TWO},
    {"parallel halves, squared ReLU, dynamic", side_by_side, CUT_BY_TWO},
    {"gated units cut and moved", cut_units, CUT_BY_TWO},
    {"layers that differ", layers_that_differ, CUT_BY_TWO},
    {"maximal update, sinks", maximal_update, CUT_BY_TWO},
    {"xavier", xavier, CUT_BY_TWO},
    {"own spread of embeddings", own_embedding_std, CUT_BY_TWO},
    {"gated output", gated_output, CUT_BY_TWO},
    {"gated output, one group", gated_output_one_group, CUT_BY_TWO},
    {"three odd heads, gated", three_odd_heads, CUT_BY_THREE},
    {"one of each", one_of_each, UNCUT},
};
enum { NUM_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

/* ---- grids ---- */

static const struct train_way grids[] = {
    {.pp = 2, .team = 2},
    {.pp = 4},
    {.pp = 2, .vpp = 2},
    {.dp = 2},
    {.dp = 2, .sharded = true, .bucket_size = 3000},
    {.pp = 2, .dp = 2, .sharded = true},
    {.tp = 2},
    {.tp = 2, .sequence_parallel = true},
    {.tp = 2, .pp = 2},
    {.tp = 2, .sequence_parallel = true, .pp = 2, .team = 2},
    {.tp = 2, .sequence_parallel = true, .pp = 2, .vpp = 2, .dp = 2, .sharded = true},
};
enum { NUM_GRIDS = sizeof(grids) / sizeof(grids[0]) };

static struct train_way way_of(const struct variant *variant, const struct train_way *grid)
{
    struct train_way way = grid ? *grid : (struct train_way){.team = 1};
    way.model = TRAIN_LLAMA;
    way.configure = variant->configure;
    way.steps = 4;
    way.global_batch = 16;
    if (way.tp > 1 && variant->cut == CUT_BY_THREE)
        way.tp = 3;
    return way;
}

/* Only where the layers and microbatches lie differs. A tied table has two gradients once it lies on two
   stages, which are added in another order. */
static bool has_same_order(const struct train_way *grid, const struct variant *variant)
{
    return grid->tp <= 1 && grid->dp <= 1 && variant->configure != capped_and_scaled;
}

static void check_grid(const struct variant *variant, const struct train_way *grid,
                       const struct train_result *alone)
{
    char text[256];
    struct train_way way = way_of(variant, grid);
    struct train_result result;
    train_way_format(&way, text, sizeof text);
    train_run(&way, &result);
    if (!train_same_start(&result, alone))
        fail_msg("%s, %s: other initial values", variant->name, text);
    if (result.other_copies != 0)
        fail_msg("%s, %s: copies with other bits", variant->name, text);
    bool bits = has_same_order(grid, variant);
    if (bits ? !train_same_bits(&result, alone, true) : !train_in_band(&result, alone, true))
        fail_msg("%s, %s: %s", variant->name, text, bits ? "other bits" : "outside the band");
    train_result_free(&result);
}

static void every_grid_trains_alike(void **state)
{
    const struct variant *variant = *state;
    struct train_way way = way_of(variant, NULL);
    struct train_result alone;
    train_run(&way, &alone);
    assert_true(fabs(alone.loss[0] - alone.loss[3]) >
                1e-4); /* it learns, so there is something to differ */
    for (int i = 0; i < NUM_GRIDS; i++)
        if (variant->cut != UNCUT || grids[i].tp <= 1)
            check_grid(variant, &grids[i], &alone);
    train_result_free(&alone);
}

static const struct variant *current;

static void configure_plain(struct tri_run_config *config)
{
    current->configure(config);
    config->spec.transformer_impl = TRI_IMPL_PLAIN;
}

static void plain_trains_alike(void **state)
{
    const struct variant *variant = *state;
    struct train_way way = way_of(variant, NULL);
    struct train_result fused, plain;
    current = variant;
    train_run(&way, &fused);
    way.configure = configure_plain;
    train_run(&way, &plain);
    assert_true(train_same_start(&plain, &fused));
    if (!train_in_band(&plain, &fused, true))
        fail_msg("%s: plain and fused differ", variant->name);
    train_result_free(&fused);
    train_result_free(&plain);
}

/* ---- options that change nothing in fp32 ---- */

static void configure_nothing(struct tri_run_config *config)
{
    (void)config;
}

static void configure_for_16_bits(struct tri_run_config *config)
{
    config->spec.apply_query_key_layer_scaling = true;
    config->spec.fp32_residual_connection = true;
}

static void options_of_16_bits_change_no_bit(void **state)
{
    static const struct variant without = {"", configure_nothing, CUT_BY_TWO};
    static const struct variant with = {"", configure_for_16_bits, CUT_BY_TWO};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct train_way a = way_of(&without, i ? &grids[9] : NULL);
        struct train_way b = way_of(&with, i ? &grids[9] : NULL);
        struct train_result first, second;
        train_run(&a, &first);
        train_run(&b, &second);
        assert_true(train_same_start(&first, &second) && train_same_bits(&first, &second, true));
        train_result_free(&first);
        train_result_free(&second);
    }
    tri_error *err = tri_error_create();
    struct tri_gpt_config shape = shape_llama(2, 32, 4, 4, 48, 101);
    struct tri_spec_config config = {.apply_query_key_layer_scaling = true,
                                     .fp32_residual_connection = true};
    struct tri_model_spec *spec = NULL;
    assert_int_equal(tri_model_spec_create(&shape, &config, err, &spec), TRI_OK);
    assert_true(error_notes(err, "'apply_query_key_layer_scaling' changes nothing"));
    assert_true(error_notes(err, "'fp32_residual_connection' changes nothing"));
    tri_model_spec_destroy(&spec);
    tri_error_destroy(&err);
}

int main(void)
{
    struct CMUnitTest tests[2 * NUM_VARIANTS + 1];
    static char names[2 * NUM_VARIANTS][96];
    for (int i = 0; i < 2 * NUM_VARIANTS; i++) {
        const struct variant *variant = &variants[i / 2];
        snprintf(names[i], sizeof names[i], "%s: %s", variant->name, i % 2 ? "plain" : "grids");
        tests[i] =
            (struct CMUnitTest){.name = names[i],
                                .test_func = i % 2 ? plain_trains_alike : every_grid_trains_alike,
                                .initial_state = (void *)variant};
    }
    tests[2 * NUM_VARIANTS] = (struct CMUnitTest)cmocka_unit_test(options_of_16_bits_change_no_bit);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
