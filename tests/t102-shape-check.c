/* SPDX-License-Identifier: Apache-2.0 */
/* What a shape resolves to, and every problem at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-shapes.h"

#include "shape/attention.h"

#include <math.h>

static void test_resolve(void **state)
{
    (void)state;
    struct tri_gpt_config c = shape_gpt2(2, 96, 6, 101, 40);
    tri_gpt_config_resolve(&c);
    assert_int_equal(c.transformer.num_query_groups, 6);
    assert_int_equal(c.transformer.kv_channels, 16);
    assert_int_equal(c.transformer.ffn_hidden_size, 384);
    assert_int_equal(c.seq_length, 40);
    c = shape_gpt2(2, 4096, 32, 101, TRI_UNSET);
    c.seq_length = 77;
    c.transformer.gated_linear_unit = true;
    tri_gpt_config_resolve(&c);
    assert_int_equal(c.transformer.ffn_hidden_size, 10880); /* as in Megatron-LM */
    assert_int_equal(c.max_position_embeddings, 77);
    assert_int_equal(tri_rotary_width(&c), 0);
    c.position_embedding_type = TRI_POSITION_ROPE;
    c.rotary_percent = 0.25;
    assert_int_equal(tri_rotary_width(&c), 32);
    tri_error *err = tri_error_create();
    c.transformer.activation_func = TRI_ACT_SILU;
    assert_int_equal(tri_gpt_config_check(&c, err), TRI_OK);
    assert_int_equal(tri_error_count(err), 0);
    tri_error_destroy(&err);
}

static void test_all_problems_at_once(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c = shape_gpt2(0, 48, 32, TRI_UNSET, 16);
    c.transformer.num_query_groups = 5;
    c.transformer.hidden_dropout = 1;
    c.transformer.attention_dropout = NAN;
    c.transformer.layernorm_epsilon = 0;
    c.transformer.init_method_std = INFINITY;
    c.transformer.use_parallel_residual = true;
    c.transformer.norm_position = TRI_NORM_SANDWICH;
    c.transformer.residual_multiplier = 0;
    c.logits_scaling = INFINITY;
    c.final_logit_softcapping = -1;
    c.transformer.activation_func_clamp_value = INFINITY;
    c.transformer.glu_linear_offset = NAN;
    c.transformer.layer_query_groups = (struct tri_option_list){.num = 2, .value = {5, -1}};
    c.transformer.ffn_hidden_size = -3;
    c.position_embedding_type = TRI_POSITION_ROPE;
    c.rotary_percent = 1.5;
    c.rotary_base = NAN;
    c.seq_length = 17;
    c.transformer.normalization = 9;
    tri_gpt_config_resolve(&c);
    assert_int_equal(tri_gpt_config_check(&c, err), TRI_INVALID);
    assert_true(error_says(err, "'num_layers' 0 is not between 1 and"));
    assert_true(
        error_says(err, "'vocab_size' is not set; set it in section shape or name a tokenizer"));
    assert_true(error_says(err, "'num_query_groups' 5 must be at least 1 and divide "
                                "'num_attention_heads' 32; use 1, 2, 4, 8, 16 or 32"));
    assert_true(error_says(err,
                           "'num_attention_heads' 32 does not divide 'hidden_size' 48; use 1, 2, "
                           "3, 4, 6, 8, 12, 16, 24 or 48, or set 'kv_channels'"));
    assert_true(error_says(err, "'hidden_dropout' 1 must be"));
    assert_true(error_says(err, "'attention_dropout' nan must be"));
    assert_true(error_says(err, "'layernorm_epsilon' 0 must be"));
    assert_true(error_says(err, "'init_method_std' inf must be"));
    assert_true(error_says(err, "'use_parallel_residual' goes with 'norm_position' pre only"));
    assert_true(error_says(err, "'residual_multiplier' 0 must be above 0 and finite; 1 turns"));
    assert_true(error_says(err, "'logits_scaling' inf must be"));
    assert_true(error_says(err, "'final_logit_softcapping' -1 must be"));
    assert_true(error_says(err, "'layer_query_groups' has 2 entries for 0 layers"));
    assert_true(
        error_says(err, "'layer_query_groups' 5 of layer 0 is no size that works; use 1, 2"));
    assert_true(error_says(err, "'ffn_hidden_size' -3 is not"));
    assert_true(error_says(err, "'rotary_percent' 1.5 must be"));
    assert_true(error_says(err, "'rotary_base' nan must be"));
    assert_true(error_says(err, "'seq_length' 17 is beyond 'max_position_embeddings' 16"));
    assert_true(error_says(err, "'normalization' is number 9"));
    assert_true(error_says(err, "'activation_func_clamp_value' inf bounds the halves of a gated"));
    assert_true(error_says(err, "'activation_func_clamp_value' inf must be above 0 and finite"));
    assert_true(error_says(err, "'glu_linear_offset' nan moves one half of a gated unit; set"));
    assert_true(error_says(err, "'glu_linear_offset' nan must be finite; 0 turns it off"));
    assert_int_equal(tri_error_count(err), 23);
    tri_error_destroy(&err);
}

/* groups 0 and an odd number of turning channels (FC-06). */
static void test_heads(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_gpt_config c = shape_llama(1, 32, 32, 0, 64, 10);
    tri_gpt_config_resolve(&c);
    assert_int_equal(tri_gpt_config_check(&c, err), TRI_INVALID);
    assert_int_equal(tri_error_count(err), 2);
    assert_true(error_says(err, "'num_query_groups' 0 must be at least 1 and divide"));
    assert_true(error_says(err, "turns 1 channels, which must be an even number"));
    tri_error_clear(err);
    c = shape_llama(1, 32, 4, 2, 64, 10);
    c.transformer.num_attention_heads = INT64_MAX;
    c.transformer.kv_channels = INT64_MAX;
    c.seq_length = INT64_MIN + 1;
    tri_gpt_config_resolve(&c);
    assert_int_equal(tri_gpt_config_check(&c, err), TRI_INVALID);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_all_problems_at_once),
        cmocka_unit_test(test_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
