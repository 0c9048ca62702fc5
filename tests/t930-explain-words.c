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

#define MIN_ARGUMENTS 850 /* of pretrain_gpt.py in August 2026, with Model Optimizer's: 860 */

static void first_name(const struct tri_word *word, char *name, size_t bytes)
{
    snprintf(name, bytes, "%.*s", (int)strcspn(word->names, " "), word->names);
}

static void test_rows(void **state)
{
    (void)state;
    int num = 0;
    for (const struct tri_word_list *const *list = tri_megatron_words.lists; *list; list++) {
        for (int i = 0; i < (*list)->num; i++, num++) {
            const struct tri_word *word = &(*list)->words[i];
            char name[128];
            first_name(word, name, sizeof name);
            struct tri_word_found found = tri_word_find(&tri_megatron_words, name);
            if (found.word != word)
                fail_msg("'%s' is in the table twice", name);
            assert_true(strcspn(name, "_*") == strlen(name) || strstr(name, "opt_param"));
            bool is_taken = word->answer == TRI_UNDERSTOOD || word->answer == TRI_DIFFERS;
            if (!is_taken && !word->why)
                fail_msg("'%s' is not taken over, and its row does not say why", name);
            if (word->why && (strlen(word->why) > 100 || word->why[strlen(word->why) - 1] == '.'))
                fail_msg("'%s' says '%s', which is long or ends with a full stop", name, word->why);
            bool is_flag = word->kind == TRI_WORD_FLAG || word->kind == TRI_WORD_NEGATED;
            if (word->answer == TRI_UNDERSTOOD && is_flag && !strchr(word->sets, '='))
                fail_msg("the flag '%s' sets '%s' to nothing", name, word->sets);
            if (word->answer == TRI_UNDERSTOOD && !is_flag && strchr(word->sets, '='))
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
            char name[128], text[512];
            bool is_flag = word->kind == TRI_WORD_FLAG || word->kind == TRI_WORD_NEGATED;
            first_name(word, name, sizeof name);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_every_argument),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
