/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every cross-field refusal of a dense shape and of its tensor-parallel cut, as a table: what is set over a small
 * valid model, the whole sentence, and ways out, each of which is applied and must leave no problem. Every
 * number that a sentence lists behind "use" is tried as well. The first column names the row of Megatron-LM's
 * list that the refusal stands for, or its own. Rows of that list that belong elsewhere: window and length
 * of a call (t910-cli-generate-room), sampling (t910-cli-generate-request), vocabulary against tokenizer
 * (t910-cli-vocab-tokenizer), experts and attention variants (t121-layers), files (t103-hf-config).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-shapes.h"

#include "spec/model_spec.h"
#include "spec/split.h"

#include <ctype.h>
#include <stdlib.h>

enum base { GPT2, LLAMA };

static const struct fault {
    const char *rule;
    enum base base;
    const char *set;  /* "option=value option=value": what is wrong */
    const char *says; /* all of it */
    const char *fix;  /* "a=1|b=2 c=3": each of these alone helps */
    const char
        *each; /* every number listed behind "use" works for this option; NULL: none is listed */
} faults[] = {
    {"heads by tp", GPT2, "num_attention_heads=28 hidden_size=112 ffn_hidden_size=112 tp=8",
     "'tensor_model_parallel_size' 8 does not divide 'num_attention_heads' 28; use 1, 2, 4, 7, 14 "
     "or "
     "28 (what heads, groups and feed-forward width allow alike)",
     "num_attention_heads=8 num_query_groups=8", "tp"},
    {"groups by tp, tp by groups", LLAMA,
     "num_attention_heads=12 num_query_groups=6 ffn_hidden_size=96 tp=4",
     "'tensor_model_parallel_size' 4 and 'num_query_groups' 6 do not divide each other; use 1, 2, "
     "3, 6 "
     "or 12 (key/value heads are cut or held several times)",
     "num_query_groups=4|num_query_groups=2|num_query_groups=12", "tp"},
    {"feed-forward width by tp", GPT2, "ffn_hidden_size=50 tp=4",
     "'tensor_model_parallel_size' 4 does not divide 'ffn_hidden_size' 50; use 1 or 2 (what heads, "
     "groups and feed-forward width allow alike)",
     "ffn_hidden_size=52", "tp"},
    {"a layer's groups by tp", LLAMA,
     "num_attention_heads=12 num_query_groups=12 ffn_hidden_size=96 layer_query_groups=[12,6,3,0] "
     "num_layers=4 tp=4",
     "'tensor_model_parallel_size' 4 and 'layer_query_groups' 6 of layer 1 do not divide each "
     "other; "
     "use 1, 3, 6 or 12 (key/value heads are cut or held several times)",
     "layer_query_groups=[12,-1,12,0]", "tp"},
    {"a layer's feed-forward width by tp", LLAMA, "layer_ffn_sizes=[48,50] num_layers=2 tp=4",
     "'tensor_model_parallel_size' 4 does not divide 'layer_ffn_sizes' 50 of layer 1; use 1 or 2 "
     "(what heads, groups and feed-forward width allow alike)",
     "layer_ffn_sizes=[48,52]|layer_ffn_sizes=[-1,0]", "tp"},
    {"sequence by tp", GPT2, "seq_length=15 tp=4 sp=4",
     "under 'sequence_parallel' 'tensor_model_parallel_size' 4 must divide 'seq_length' 15; use 1, "
     "or "
     "turn it off",
     "seq_length=16|sp=1|tp=1 sp=1", NULL},
    {"groups by heads", GPT2, "num_attention_heads=32 hidden_size=64 num_query_groups=5",
     "'num_query_groups' 5 must be at least 1 and divide 'num_attention_heads' 32; use 1, 2, 4, 8, "
     "16 "
     "or 32",
     "num_attention_heads=5 kv_channels=4", "num_query_groups"},
    {"groups by heads", GPT2, "num_query_groups=0",
     "'num_query_groups' 0 must be at least 1 and divide 'num_attention_heads' 4; use 1, 2 or 4",
     "", "num_query_groups"},
    {"hidden by heads without kv_channels", GPT2, "num_attention_heads=7",
     "'num_attention_heads' 7 does not divide 'hidden_size' 48; use 1, 2, 3, 4, 6, 8, 12, 16, 24 "
     "or "
     "48, or set 'kv_channels'",
     "kv_channels=5|hidden_size=49", "num_attention_heads"},
    {"kv_channels", GPT2, "kv_channels=1073741824 num_attention_heads=48",
     "'num_attention_heads' 48 times 'kv_channels' 1073741824 is beyond 536870912; use smaller "
     "ones",
     "kv_channels=1024", NULL},
    {"default of ffn_hidden_size", GPT2, "hidden_size=16 gated_linear_unit=true",
     "'ffn_hidden_size' 0 is not between 1 and 2147483648; set it, 64 is usual",
     "ffn_hidden_size=64|ffn_hidden_size=1|hidden_size=24", NULL},
    {"sizes", GPT2, "num_layers=unset", "'num_layers' is not set; set it in section shape",
     "num_layers=1", NULL},
    {"sizes", GPT2, "hidden_size=unset", "'hidden_size' is not set; set it in section shape",
     "hidden_size=4", NULL},
    {"sizes", GPT2, "num_attention_heads=unset",
     "'num_attention_heads' is not set; set it in section shape", "num_attention_heads=1", NULL},
    {"vocabulary", GPT2, "vocab_size=unset",
     "'vocab_size' is not set; set it in section shape or name a tokenizer", "vocab_size=1", NULL},
    {"positions", GPT2, "seq_length=unset max_position_embeddings=unset",
     "'seq_length' is not set; set it in section shape", "seq_length=1|max_position_embeddings=9",
     NULL},
    {"positions beyond the table", GPT2, "seq_length=17 max_position_embeddings=16",
     "'seq_length' 17 is beyond 'max_position_embeddings' 16; use at most 16",
     "seq_length=16|seq_length=1|max_position_embeddings=17", NULL},
    {"positions beyond the table, which no scaling makes longer", GPT2,
     "seq_length=17 max_position_embeddings=16 rope_dynamic_factor=2",
     "'seq_length' 17 is beyond 'max_position_embeddings' 16; use at most 16",
     "seq_length=16|seq_length=1|max_position_embeddings=17", NULL},
    {"positions beyond the table", LLAMA, "seq_length=65",
     "'seq_length' 65 is beyond 'max_position_embeddings' 64; use at most 64",
     "max_position_embeddings=65|rope_dynamic_factor=2", NULL},
    {"rotary percent", LLAMA, "rotary_percent=1.5",
     "'rotary_percent' 1.5 must be above 0 and at most 1; 1.0 turns every channel",
     "rotary_percent=1.0|rotary_percent=0.5|position_embedding_type=none", NULL},
    {"even dimensions", LLAMA, "rotary_percent=0.25",
     "'rotary_percent' 0.25 of 'kv_channels' 12 turns 3 channels, which must be an even number of "
     "at "
     "least 2; use 'kv_channels' 11 or 16, or another 'rotary_percent'",
     "rotary_percent=0.5", "kv_channels"},
    {"even dimensions", LLAMA, "kv_channels=1",
     "'rotary_percent' 1 of 'kv_channels' 1 turns 1 channels, which must be an even number of at "
     "least "
     "2; use 'kv_channels' 2, or another 'rotary_percent'",
     "position_embedding_type=none|position_embedding_type=learned_absolute", "kv_channels"},
    {"even dimensions", LLAMA, "num_attention_heads=16 num_query_groups=16",
     "'rotary_percent' 1 of 'kv_channels' 3 turns 3 channels, which must be an even number of at "
     "least "
     "2; use 'kv_channels' 2 or 4, or another 'rotary_percent'",
     "num_attention_heads=8 num_query_groups=8", "kv_channels"},
    {"rotary scaling once", LLAMA, "use_rope_scaling=true rotary_seq_len_interpolation_factor=2",
     "rotary frequencies can be scaled in one way only; keep one of "
     "'rotary_seq_len_interpolation_factor', 'rope_dynamic_factor', 'use_rope_scaling' and "
     "'position_embedding_type' yarn",
     "use_rope_scaling=false|rotary_seq_len_interpolation_factor=1", NULL},
    {"llama3 ramp", LLAMA, "use_rope_scaling=true rope_low_freq_factor=4",
     "'rope_low_freq_factor' 4 must be below 'rope_high_freq_factor' 4; 1 and 4 are usual",
     "rope_low_freq_factor=1 rope_high_freq_factor=4|use_rope_scaling=false", NULL},
    {"yarn ramp", LLAMA, "position_embedding_type=yarn beta_slow=33",
     "'beta_slow' 33 must not be above 'beta_fast' 32; 1 and 32 are usual",
     "beta_slow=1 beta_fast=32|position_embedding_type=rope", NULL},
    {"dynamic base", LLAMA, "rope_dynamic_factor=0.5",
     "'rope_dynamic_factor' 0.5 needs to be 1 or more and to turn 4 channels or more; this shape "
     "turns "
     "12",
     "rope_dynamic_factor=1", NULL},
    {"dynamic base", LLAMA, "rope_dynamic_factor=2 kv_channels=2",
     "'rope_dynamic_factor' 2 needs to be 1 or more and to turn 4 channels or more; this shape "
     "turns 2",
     "kv_channels=4", NULL},
    {"mrope without sections", LLAMA, "position_embedding_type=mrope",
     "'mrope_section' has 0 numbers that add up to 0; mrope needs three that add up to 6 pairs of "
     "channels",
     "mrope_section=[2,2,2]|mrope_section=[0,6,0]|position_embedding_type=rope", NULL},
    {"mrope with wrong sections", LLAMA, "position_embedding_type=mrope mrope_section=[4,4,4]",
     "'mrope_section' has 3 numbers that add up to 12; mrope needs three that add up to 6 pairs of "
     "channels",
     "mrope_section=[1,2,3]", NULL},
    {"no_rope_freq by layers", LLAMA, "num_layers=6 no_rope_freq=4",
     "'no_rope_freq' 4 does not divide 'num_layers' 6; use 1, 2, 3 or 6, or one entry for each "
     "layer",
     "no_rope_freq=[0,0,0,1,0,0]|num_layers=8", "no_rope_freq"},
    {"no_rope_freq by layers", LLAMA, "num_layers=6 no_rope_freq=[0,1]",
     "'no_rope_freq' has 2 entries for 6 layers ('num_layers'); give one number, or one entry for "
     "each "
     "layer",
     "no_rope_freq=2|num_layers=2", NULL},
    {"window with layer pattern", GPT2,
     "num_layers=4 window_size=[3,0] window_attn_skip_freq=[1,0,1]",
     "'window_attn_skip_freq' has 3 entries for 4 layers ('num_layers'); give one number, or one "
     "entry "
     "for each layer",
     "window_attn_skip_freq=2|window_attn_skip_freq=[1,0,1,1]|num_layers=3", NULL},
    {"window with layer pattern", GPT2, "num_layers=4 window_size=[3,0] window_attn_skip_freq=-2",
     "'window_attn_skip_freq' -2 must be at least 1; n means every n-th layer",
     "window_attn_skip_freq=1|window_attn_skip_freq=3", NULL},
    {"window with layer pattern", GPT2, "num_layers=4 window_attn_skip_freq=2",
     "'window_attn_skip_freq' says which layers have a window, but there is none; set "
     "'window_size', "
     "or leave the pattern out",
     "window_size=[3,0]", NULL},
    {"window", GPT2, "window_size=[3,1]",
     "'window_size' 3,1 would look ahead or is too large; the second number must be 0",
     "window_size=[3,0]|window_size=[0,0]|window_size=3|window_size=[-1,-1]", NULL},
    {"window", GPT2, "window_size=[3,0,0]",
     "'window_size' has 3 numbers; give those to the left and right, [127, 0]",
     "window_size=[127,0]", NULL},
    {"norms of heads", LLAMA, "qk_layernorm=true qk_l2_norm=true",
     "'qk_layernorm' and 'qk_l2_norm' exclude each other; keep one of them",
     "qk_layernorm=false|qk_l2_norm=false", NULL},
    {"norms of heads", GPT2, "qk_norm_across_heads=true",
     "'qk_norm_across_heads' needs 'qk_layernorm' and 'normalization' RMSNorm without "
     "'layernorm_zero_centered_gamma'",
     "qk_layernorm=true normalization=RMSNorm|qk_norm_across_heads=false", NULL},
    {"own sizes of layers", LLAMA, "num_layers=4 layer_query_groups=[4,4]",
     "'layer_query_groups' has 2 entries for 4 layers ('num_layers'); give one for each, or none",
     "layer_query_groups=[4,4,2,0]|num_layers=2", NULL},
    {"own sizes of layers", LLAMA, "num_layers=2 layer_query_groups=[4,3]",
     "'layer_query_groups' 3 of layer 1 is no size that works; use 1, 2 or 4, 0 for none or -1 for "
     "a "
     "linear",
     "layer_query_groups=[4,1]|layer_query_groups=[4,2]|layer_query_groups=[4,0]|"
     "layer_query_groups=[4,-1]",
     NULL},
    {"own sizes of layers", LLAMA, "num_layers=2 layer_ffn_sizes=[-7,48]",
     "'layer_ffn_sizes' -7 of layer 0 is no size that works; use 1 or more, 0 for none or -1 for a "
     "linear",
     "layer_ffn_sizes=[1,48]|layer_ffn_sizes=[0,48]|layer_ffn_sizes=[-1,48]", NULL},
    {"places of norms", GPT2, "use_parallel_residual=true norm_position=post",
     "'use_parallel_residual' goes with 'norm_position' pre only; set one of them",
     "norm_position=pre|use_parallel_residual=false", NULL},
    {"clamp of gated units", GPT2, "activation_func_clamp_value=7",
     "'activation_func_clamp_value' 7 bounds the halves of a gated unit; set 'gated_linear_unit', "
     "or "
     "leave it unset",
     "gated_linear_unit=true", NULL},
    {"clamp of gated units", GPT2, "glu_linear_offset=1",
     "'glu_linear_offset' 1 moves one half of a gated unit; set 'gated_linear_unit', or leave it 0",
     "gated_linear_unit=true|glu_linear_offset=0", NULL},
    {"clamp of gated units", LLAMA, "activation_func_clamp_value=inf",
     "'activation_func_clamp_value' inf must be above 0 and finite; none turns it off",
     "activation_func_clamp_value=7", NULL},
    {"base of the width rules", LLAMA, "use_mup=true mup_base_hidden_size=0",
     "'mup_base_hidden_size' 0 and 'mup_base_head_dim' must be 1 or more",
     "mup_base_hidden_size=16|use_mup=false", NULL},
    {"numbers", GPT2, "hidden_dropout=1",
     "'hidden_dropout' 1 must be at least 0 and below 1; 0 turns it off",
     "hidden_dropout=0|hidden_dropout=0.99", NULL},
    {"numbers", GPT2, "attention_dropout=nan",
     "'attention_dropout' nan must be at least 0 and below 1; 0 turns it off",
     "attention_dropout=0", NULL},
    {"numbers", GPT2, "layernorm_epsilon=0",
     "'layernorm_epsilon' 0 must be above 0 and finite; 1e-5 is usual", "layernorm_epsilon=1e-5",
     NULL},
    {"numbers", GPT2, "init_method_std=inf",
     "'init_method_std' inf must be 0 or more and finite; 0.02 is usual",
     "init_method_std=0.02|init_method_std=0", NULL},
    {"numbers", LLAMA, "rotary_base=0",
     "'rotary_base' 0 must be above 0 and finite; 10000 is usual", "rotary_base=10000", NULL},
    {"numbers", GPT2, "softmax_scale=-1",
     "'softmax_scale' -1 must be above 0 and finite; leave it unset", "softmax_scale=1", NULL},
    {"numbers", GPT2, "attn_logit_softcapping=inf",
     "'attn_logit_softcapping' inf must be above 0 and finite; leave it unset",
     "attn_logit_softcapping=50", NULL},
    {"numbers", GPT2, "final_logit_softcapping=0",
     "'final_logit_softcapping' 0 must be above 0 and finite; none turns it off",
     "final_logit_softcapping=30", NULL},
    {"numbers", GPT2, "residual_multiplier=0",
     "'residual_multiplier' 0 must be above 0 and finite; 1 turns it off", "residual_multiplier=1",
     NULL},
};
enum { NUM_FAULTS = sizeof(faults) / sizeof(faults[0]) };

struct model {
    struct tri_gpt_config shape;
    struct tri_split split;
};

/* "3" or "[1,0,1]". */
static struct tri_option_list list_of(const char *text)
{
    struct tri_option_list list = {.num = 0};
    for (const char *at = text + (*text == '['); *at && *at != ']'; at += *at == ',') {
        char *end;
        list.value[list.num++] = strtoll(at, &end, 10);
        assert_true(end > at);
        at = end;
    }
    return list;
}

/* Values go into the fields as they are, past the limits of the options' rows: the checks of a shape stand for
   whoever fills one in. */
static void set_field(const struct tri_option *row, void *config, const char *text)
{
    char *field = (char *)config + row->offset;
    bool is_unset = strcmp(text, "unset") == 0;
    tri_error *err = tri_error_create();
    if (row->type == TRI_OPTION_INT)
        *(int64_t *)(void *)field = is_unset ? TRI_UNSET : strtoll(text, NULL, 10);
    else if (row->type == TRI_OPTION_DOUBLE)
        *(double *)(void *)field = strtod(text, NULL);
    else if (row->type == TRI_OPTION_INTS)
        *(struct tri_option_list *)(void *)field = list_of(text);
    else if (tri_option_set(row, config, text, "", err) != TRI_OK)
        fail_msg("'%s' is no value of '%s': %s", text, row->name, tri_error_message(err, 0));
    tri_error_destroy(&err);
}

static void set(struct model *model, const char *name, const char *text)
{
    const struct {
        const struct tri_option_table *table;
        void *config;
    } tables[] = {{&tri_transformer_options, &model->shape.transformer},
                  {&tri_attention_options, &model->shape.transformer.attention},
                  {&tri_gpt_options, &model->shape}};
    if (strcmp(name, "tp") == 0 || strcmp(name, "sp") == 0) {
        *(name[0] == 't' ? &model->split.tp : &model->split.sp) = strtoll(text, NULL, 10);
        return;
    }
    for (int i = 0; i < 3; i++) {
        const struct tri_option *row = tri_option_find(tables[i].table, name);
        if (row) {
            set_field(row, tables[i].config, text);
            return;
        }
    }
    fail_msg("no option is called '%s'", name);
}

/* "a=1 b=2", up to bytes of text. */
static void set_all(struct model *model, const char *text, size_t bytes)
{
    char copy[512], *rest = copy, *item;
    assert_true(bytes < sizeof(copy));
    snprintf(copy, sizeof(copy), "%.*s", (int)bytes, text);
    while ((item = strsep(&rest, " ")) != NULL) {
        char *value = strchr(item, '=');
        if (!value)
            continue;
        *value++ = '\0';
        set(model, item, value);
    }
}

static struct model model_of(const struct fault *fault)
{
    struct model model = {.split = {.tp = 1, .sp = 1, .cp = 1, .ep = 1, .etp = 1}};
    model.shape =
        fault->base == GPT2 ? shape_gpt2(2, 48, 4, 101, 16) : shape_llama(2, 48, 4, 4, 96, 101);
    set_all(&model, fault->set, strlen(fault->set));
    return model;
}

/* Every problem of shape and cut, as a run's request finds them. */
static void check(struct model model, tri_error *err)
{
    struct tri_gpt_config *shape = &model.shape;
    tri_error_clear(err);
    tri_gpt_config_resolve(shape);
    if (tri_gpt_config_check(shape, err) == TRI_OK)
        tri_split_check(shape, &model.split, shape->seq_length, err);
}

static void check_helps(const struct fault *fault, const struct model *changed, const char *way)
{
    tri_error *err = tri_error_create();
    check(*changed, err);
    if (tri_error_count(err) > 0)
        fail_msg("%s (%s): with %s there is still: %s", fault->rule, fault->set, way,
                 tri_error_message(err, 0));
    tri_error_destroy(&err);
}

static void check_ways_out(const struct fault *fault)
{
    for (const char *way = fault->fix; *way;) {
        size_t bytes = strcspn(way, "|");
        struct model model = model_of(fault);
        set_all(&model, way, bytes);
        check_helps(fault, &model, way);
        way += bytes + (way[bytes] == '|');
    }
}

/* "use 1, 2 or 4" and "use 'kv_channels' 8 or 16": each number, for the option each. */
static void check_listed(const struct fault *fault)
{
    const char *at = strstr(fault->says, "; use ");
    int num = 0;
    assert_non_null(at);
    at += strlen("; use ");
    if (*at == '\'')
        at = strchr(at + 1, '\'') + 2;
    while (isdigit((unsigned char)*at)) {
        char value[32];
        size_t digits = strspn(at, "0123456789");
        snprintf(value, sizeof(value), "%.*s", (int)digits, at);
        struct model model = model_of(fault);
        set(&model, fault->each, value);
        check_helps(fault, &model, value);
        num++;
        at += digits;
        at += strncmp(at, ", ", 2) == 0 ? 2 : strncmp(at, " or ", 4) == 0 ? 4 : 0;
    }
    assert_true(num > 0);
}

static void each_is_refused_with_what_works(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    for (int i = 0; i < NUM_FAULTS; i++) {
        const struct fault *fault = &faults[i];
        bool is_said = false;
        check(model_of(fault), err);
        for (int k = 0; k < tri_error_count(err); k++)
            is_said |= strcmp(tri_error_message(err, k), fault->says) == 0;
        if (!is_said)
            fail_msg("%s (%s) does not say\n  %s\nbut\n  %s", fault->rule, fault->set, fault->says,
                     tri_error_count(err) ? tri_error_message(err, 0) : "nothing");
        check_ways_out(fault);
        if (fault->each)
            check_listed(fault);
    }
    tri_error_destroy(&err);
}

/* Any two faults of one base that touch different options are both told. */
static void two_are_told_at_once(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    int pairs = 0;
    for (int a = 0; a < NUM_FAULTS; a++)
        for (int b = a + 1; b < NUM_FAULTS; b++) {
            /* numbers stand for themselves; what else is wrong beside them changes nothing */
            if (strcmp(faults[b].rule, "numbers") != 0 || strcmp(faults[a].rule, "numbers") == 0 ||
                faults[a].base != faults[b].base || strstr(faults[a].rule, "by tp") ||
                strstr(faults[a].rule, "tp by"))
                continue;
            struct model model = model_of(&faults[a]);
            set_all(&model, faults[b].set, strlen(faults[b].set));
            check(model, err);
            assert_true(error_says(err, faults[a].says));
            assert_true(error_says(err, faults[b].says));
            pairs++;
        }
    assert_true(pairs > 100);
    /* all problems of a shape and a decision that is not there, in one go */
    struct model model = model_of(&faults[0]);
    struct tri_model_spec *spec = NULL;
    struct tri_spec_config config = {.num_extensions = 0};
    tri_option_set_defaults(&tri_spec_options, &config);
    config.transformer_impl = TRI_IMPL_INFERENCE_OPTIMIZED;
    set_all(&model, "num_query_groups=5 hidden_dropout=2 window_size=[1,1]",
            strlen("num_query_groups=5 hidden_dropout=2 window_size=[1,1]"));
    tri_error_clear(err);
    assert_int_equal(tri_model_spec_create(&model.shape, &config, err, &spec), TRI_INVALID);
    assert_int_equal(tri_error_count(err), 4);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_refused_with_what_works),
        cmocka_unit_test(two_are_told_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
