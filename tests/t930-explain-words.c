/* SPDX-License-Identifier: Apache-2.0 */
/* The table of Megatron-LM's arguments: well formed, and each of them explained without an unknown word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "explain/megatron.h"
#include "t93-run.h"

#include <stdlib.h>
#include <string.h>

#define MIN_ARGUMENTS                                                                              \
    1500 /* 860 of pretrain_gpt.py in August 2026, earlier ones, and other programs' */

/* The next spelling of a word; false at the end. */
static bool next_name(const char **names, char *name, size_t bytes)
{
    size_t length = strcspn(*names, " ");
    snprintf(name, bytes, "%.*s", (int)length, *names);
    *names += length + (length > 0 && (*names)[length] == ' ');
    if (length > 0 && name[length - 1] == '*')
        snprintf(name + length - 1, bytes - length, "any");
    return length > 0;
}

/* True when a word's constants and its value both have an option to go to. */
static bool takes_value(const char *sets)
{
    while (*sets) {
        size_t length = strcspn(sets, " "), name = strcspn(sets, "= ");
        if (name == length || length == 1)
            return true;
        sets += length + strspn(sets + length, " ");
    }
    return false;
}

static void test_rows(void **state)
{
    (void)state;
    int num = 0;
    for (const struct tri_word_list *const *list = tri_megatron_words.lists; *list; list++) {
        for (int i = 0; i < (*list)->num; i++) {
            const struct tri_word *word = &(*list)->words[i];
            const char *names = word->names;
            char name[128];
            for (; next_name(&names, name, sizeof name); num++) {
                if (tri_word_find(&tri_megatron_words, name).word != word)
                    fail_msg("'%s' is in the table twice", name);
                assert_true(!strchr(name, '_') || strstr(name, "opt_param"));
            }
            bool is_taken = word->answer == TRI_UNDERSTOOD || word->answer == TRI_DIFFERS;
            if (!is_taken && !word->why)
                fail_msg("'%s' is not taken over, and its row does not say why", name);
            if (word->why && (strlen(word->why) > 100 || word->why[strlen(word->why) - 1] == '.'))
                fail_msg("'%s' says '%s', which is long or ends with a full stop", name, word->why);
            bool is_flag = word->kind == TRI_WORD_FLAG || word->kind == TRI_WORD_NEGATED;
            if (word->answer == TRI_UNDERSTOOD && is_flag && !strchr(word->sets, '='))
                fail_msg("the flag '%s' sets '%s' to nothing", name, word->sets);
            if (word->answer == TRI_UNDERSTOOD && !is_flag && !takes_value(word->sets))
                fail_msg("the value of '%s' goes nowhere", name);
        }
    }
    assert_true(num >= MIN_ARGUMENTS);
}

/* "--name value" is never an unknown word, whatever it becomes. */
static void test_every_argument(void **state)
{
    (void)state;
    struct explain_run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    for (const struct tri_word_list *const *list = tri_megatron_words.lists; *list; list++) {
        for (int i = 0; i < (*list)->num; i++) {
            const struct tri_word *word = &(*list)->words[i];
            const char *names = word->names;
            char name[128], text[512];
            bool is_flag = word->kind == TRI_WORD_FLAG || word->kind == TRI_WORD_NEGATED;
            assert_true(next_name(&names, name, sizeof name));
            int length = snprintf(text, sizeof text, "python pretrain_gpt.py --%s %s\n", name,
                                  is_flag        ? ""
                                  : word->preset ? word->preset
                                                 : "1");
            explain_run_init(run);
            tri_error *err = tri_error_create();
            tri_explanation *explanation = tri_explanation_create(run->bindings, run->num);
            assert_int_equal(tri_explain_text(explanation, text, (size_t)length, "text", NULL, err),
                             TRI_OK);
            assert_int_equal(tri_error_count(err), 0);
            if (tri_explanation_count(explanation, TRI_UNKNOWN) > 0)
                fail_msg("'%s' is unknown", text);
            tri_explanation_destroy(&explanation);
            tri_error_destroy(&err);
        }
    }
    free(run);
}

static void test_names(void **state)
{
    (void)state;
    char nearest[64];
    assert_non_null(tri_word_find(&tri_megatron_words, "num-layers").word);
    assert_non_null(tri_word_find(&tri_megatron_words, "num_layers").word);
    assert_int_equal(tri_word_find(&tri_megatron_words, "use-distributed-optimizer").section,
                     TRI_SECTION_PLACEMENT);
    /* the same argument under another name */
    assert_ptr_equal(tri_word_find(&tri_megatron_words, "persistent-save-interval").word,
                     tri_word_find(&tri_megatron_words, "save-interval").word);
    assert_ptr_equal(tri_word_find(&tri_megatron_words, "override-opt-param-scheduler").word,
                     tri_word_find(&tri_megatron_words, "override-opt_param-scheduler").word);
    assert_null(tri_word_find(&tri_megatron_words, "num-layer").word);
    assert_null(tri_word_find(&tri_megatron_words, "").word);
    assert_true(tri_word_nearest(&tri_megatron_words, "num-layer", nearest, sizeof nearest));
    assert_string_equal(nearest, "num-layers");
    assert_false(tri_word_nearest(&tri_megatron_words, "zzzzzzzz", nearest, sizeof nearest));
    assert_string_equal(tri_megatron_why("--num-experts"), "mixture of experts is not built yet");
    assert_string_equal(tri_megatron_why("no_pad_vocab_size"),
                        "use --make-vocab-size-divisible-by 1");
    assert_null(tri_megatron_why("no-such-thing"));
}

/* "option: value" that one argument becomes, and the sentence that 'trine train' says to it. */
static void check_past(const char *argument, const char *becomes, const char *why)
{
    struct explain_run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    explain_run_init(run);
    char text[256], name[128];
    int length = snprintf(text, sizeof text, "python pretrain_gpt.py %s\n", argument);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument, " "), argument);
    tri_error *err = tri_error_create();
    tri_explanation *explanation = tri_explanation_create(run->bindings, run->num);
    assert_int_equal(tri_explain_text(explanation, text, (size_t)length, "text", NULL, err),
                     TRI_OK);
    const struct tri_explain_field *field = tri_explanation_field(explanation, 0);
    assert_string_equal(field->name, name);
    assert_int_equal(field->answer, TRI_UNDERSTOOD);
    assert_string_equal(field->becomes, becomes);
    assert_string_equal(tri_megatron_why(name), why);
    tri_explanation_destroy(&explanation);
    tri_error_destroy(&err);
    free(run);
}

/* Old names mean what their successors mean. */
static void test_past(void **state)
{
    (void)state;
    char nearest[64];
    check_past("--model-parallel-size 4", "tensor_model_parallel_size: 4",
               "use --tensor-model-parallel-size");
    check_past("--inter-layer-model-parallel-size 2", "pipeline_model_parallel_size: 2",
               "use --pipeline-model-parallel-size");
    check_past("--model-parallel-memory-opt", "sequence_parallel: true", "use --sequence-parallel");
    check_past("--batch-size 8", "micro_batch_size: 8", "use --micro-batch-size");
    check_past("--warmup 0.01", "lr_warmup_fraction: 0.01", "use --lr-warmup-fraction");
    check_past("--erf-gelu", "activation_func: gelu", "use --activation-func gelu");
    check_past("--multi-query-attention", "num_query_groups: 1", "use --num-query-groups 1");
    check_past("--no-query-key-layer-scaling", "apply_query_key_layer_scaling: false",
               "use --apply-query-key-layer-scaling=false, the default");
    check_past("--layernorm-1p", "layernorm_zero_centered_gamma: true",
               "use --layernorm-zero-centered-gamma");
    check_past("--glu-activation geglu", "activation_func: gelu, gated_linear_unit: true",
               "use --activation-func and --gated-linear-unit");
    check_past("--zero-stage 1", "use_distributed_optimizer: true",
               "use --use-distributed-optimizer");
    /* nobody who misspells an argument means one of the past */
    assert_true(tri_word_nearest(&tri_megatron_words, "model-parallel-sizes", nearest,
                                 sizeof nearest) == false ||
                strcmp(nearest, "model-parallel-size") != 0);
    assert_true(tri_word_nearest(&tri_megatron_words, "batch-sise", nearest, sizeof nearest) ==
                    false ||
                strcmp(nearest, "batch-size") != 0);
    assert_null(tri_megatron_program("pretrain_gpt.py"));
    assert_null(tri_megatron_program("pretrain_gpt2.py"));
    assert_string_equal(tri_megatron_program("pretrain_bert.py"),
                        "BERT models; trine trains GPT models");
    assert_string_equal(tri_megatron_program("run_clm.py"), "");
    assert_string_equal(tri_megatron_whose("intermediate-size"), "earlier versions of Megatron-LM");
    assert_string_equal(tri_megatron_whose("--use-rms-norm"), "programs derived from Megatron-LM");
    assert_string_equal(tri_megatron_whose("num_experts"), "Megatron-LM");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_every_argument),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
