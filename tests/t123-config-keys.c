/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every key of every family: what trine takes a config.json for against what transformers takes it for
 * (golden/config_keys.json, made by oracle/config_keys.py). Where transformers computes what trine does not, the file
 * is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-shapes.h"

#include "shape/attention.h"
#include "shape/hf_config.h"
#include "shape/hf_inner.h"
#include "spec/family.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* What transformers computes, or takes without computing, and trine does not: the values of the golden file (NULL:
   any but null, "": an object that is not told apart by kinds of layers). */
static const struct {
    const char *family, *key, *value;
} refused[] = {
    {"gpt2", "scale_attn_weights", NULL},
    {"gpt2", "scale_attn_by_inverse_layer_idx", NULL},
    {"gpt2", "add_cross_attention", NULL},
    {"gpt2", "resid_pdrop", NULL}, /* one dropout here, two there */
    {"gpt2", "embd_pdrop", NULL},
    {"gpt2", "head_dim", NULL},
    {"gpt_neox", "head_dim", NULL},   /* of the rotary table alone */
    {"gpt_neox", "rope_theta", NULL}, /* versions of transformers differ */
    {"gpt_neox", "partial_rotary_factor", NULL},
    {"llama", "attention_dropout", "null"},
    {"gemma2", "attention_dropout", "null"},
    {"gemma3_text", "attention_dropout", "null"},
    {"gemma3_text", "rope_parameters", ""}, /* not told apart by kinds of layers: not read there */
    {"starcoder2", "residual_dropout", NULL},
    {"starcoder2", "embedding_dropout", NULL},
    {"gemma2", "use_bidirectional_attention", "true"},
    {"gemma3_text", "use_bidirectional_attention", "true"},
};
enum { NUM_REFUSED = sizeof(refused) / sizeof(refused[0]) };

static bool is_value(const char *wanted, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    bool is_it = wanted && strcmp(wanted, text) == 0;
    free(text);
    if (!wanted)
        return !json_is_null(value);
    return wanted[0] ? is_it : json_is_object(value) && !json_object_get(value, TRI_HF_FULL);
}

/* The row that refuses a file with these keys besides its family's, or -1. */
static int find_refused(const char *family, const json_t *with)
{
    for (int i = 0; i < NUM_REFUSED; i++) {
        const json_t *value = json_object_get(with, refused[i].key);
        if (value && strcmp(refused[i].family, family) == 0 && is_value(refused[i].value, value))
            return i;
    }
    return -1;
}

static json_t *list_of(const struct tri_gpt_config *config, bool windows)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < config->transformer.num_layers; i++)
        json_array_append_new(list, windows ? json_integer(tri_layer_window(config, i))
                                            : json_boolean(tri_layer_turns(config, i)));
    return list;
}

/* What config has for a word of the golden file; a new reference. */
static json_t *word_of(const struct tri_gpt_config *config, const char *word)
{
    if (strcmp(word, "scale") == 0)
        return json_real(tri_softmax_scale(config));
    if (strcmp(word, "windows") == 0 || strcmp(word, "turns") == 0)
        return list_of(config, word[0] == 'w');
    struct tri_hf_field field = tri_hf_field_find((struct tri_gpt_config *)config, word);
    char text[TRI_OPTION_TEXT];
    if (field.row->type != TRI_OPTION_CHOICE)
        return tri_hf_write_field(config, word);
    tri_option_format(field.row, field.base, text, sizeof(text));
    return json_string(text);
}

static bool is_same(const json_t *got, const json_t *wanted)
{
    if (!json_is_number(got) || !json_is_number(wanted))
        return json_equal(got, wanted);
    double a = json_number_value(got), b = json_number_value(wanted);
    return fabs(a - b) <= 1e-12 * fabs(b);
}

/* Compares one file with what it is; num counts differences. */
static void check_file(const char *family, const json_t *file, const json_t *wanted, int *num)
{
    char *text = json_dumps(file, JSON_REAL_PRECISION(17));
    tri_error *err = tri_error_create();
    struct tri_gpt_config config;
    const char *word;
    json_t *value;
    tri_status status = tri_hf_config_read(tri_family_find(family)->config, text, strlen(text),
                                           "config.json", err, &config);
    if (status != TRI_OK) {
        print_error("%s\n    %s\n", text, tri_error_message(err, 0));
        ++*num;
    }
    json_object_foreach((json_t *)wanted, word, value)
    {
        json_t *got = status == TRI_OK ? word_of(&config, word) : NULL;
        if (got && !is_same(got, value)) {
            char *a = json_dumps(got, JSON_ENCODE_ANY), *b = json_dumps(value, JSON_ENCODE_ANY);
            print_error("%s\n    '%s' is %s; transformers has %s\n", text, word, a, b);
            free(a);
            free(b);
            ++*num;
        }
        json_decref(got);
    }
    tri_error_destroy(&err);
    free(text);
}

static void check_refusal(const char *family, const json_t *file)
{
    char *text = json_dumps(file, JSON_REAL_PRECISION(17));
    struct tri_gpt_config config;
    if (tri_hf_config_read(tri_family_find(family)->config, text, strlen(text), "config.json", NULL,
                           &config) == TRI_OK)
        fail_msg("'%s' must be refused", text);
    free(text);
}

static void keys_mean_what_they_mean(void **state)
{
    (void)state;
    json_t *root = json_load_file("golden/config_keys.json", 0, NULL), *one, *key;
    json_t *base = NULL, *meaning = NULL;
    size_t i, k;
    int num_wrong = 0, num_families = 0;
    bool is_met[NUM_REFUSED] = {false};
    json_array_foreach(root, i, one)
    {
        const json_t *with = json_object_get(one, "with"), *is = json_object_get(one, "is");
        if (json_object_get(one, "file")) {
            base = json_object_get(one, "file");
            meaning = json_object_get(one, "is");
            num_families++;
        }
        const char *family = json_string_value(json_object_get(base, "model_type"));
        json_t *file = json_deep_copy(base), *all = json_deep_copy(meaning);
        json_object_update(file, (json_t *)with);
        json_array_foreach(json_object_get(one, "without"), k, key)
            json_object_del(file, json_string_value(key));
        json_object_update(all, (json_t *)is);
        int row = json_object_get(one, "partners") ? -1 : find_refused(family, with);
        if (row >= 0) {
            check_refusal(family, file);
            is_met[row] = true;
        } else if (!json_is_null(is))
            check_file(family, file, all, &num_wrong);
        json_decref(file);
        json_decref(all);
    }
    json_decref(root);
    for (k = 0; tri_family_get((int)k); k++)
        num_families--;
    assert_int_equal(num_families, 0);
    for (i = 0; i < NUM_REFUSED; i++)
        assert_true(is_met[i]);
    if (num_wrong > 0)
        fail_msg("%d differences", num_wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_mean_what_they_mean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
