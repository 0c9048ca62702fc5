/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shape written over the config.json that it came from: what is still true stays, what a run changed changes in
 * the file's own spelling, and nothing else comes or goes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-shapes.h"

#include "shape/check.h"
#include "shape/hf_inner.h"
#include "spec/family.h"

#include <stdlib.h>

#define SMALL                                                                                      \
    "'hidden_size':16,'num_attention_heads':2,'num_hidden_layers':3,'intermediate_size':24,"       \
    "'vocab_size':11,'max_position_embeddings':8,'num_key_value_heads':2"

static const struct change {
    const char *family, *keys; /* of the original besides SMALL */
    const char *option, *value;
    const char *wanted; /* keys of the result besides SMALL */
} changes[] = {
    /* nothing changes */
    {"llama", "'mine':[1,{'a':null}],'rms_norm_eps':1e-05", NULL, NULL,
     "'mine':[1,{'a':null}],'rms_norm_eps':1e-05"},
    {"llama", "'dtype':'bfloat16','torch_dtype':'float16'", NULL, NULL,
     "'dtype':'float32','torch_dtype':'float32'"},
    {"llama", "'rope_theta':null,'rope_scaling':null,'head_dim':null", NULL, NULL,
     "'rope_theta':null,'rope_scaling':null,'head_dim':null"},
    {"qwen2", "'use_sliding_window':false,'sliding_window':5,'max_window_layers':2", NULL, NULL,
     "'use_sliding_window':false,'sliding_window':5,'max_window_layers':2"},
    /* one key */
    {"llama", "'rms_norm_eps':1e-05", "layernorm_epsilon", "0.5", "'rms_norm_eps':0.5"},
    {"llama", "", "layernorm_epsilon", "0.5", "'rms_norm_eps':0.5"},
    {"llama", "'hidden_act':'swish'", "activation_func", "gelu", "'hidden_act':'gelu'"},
    {"llama", "'attention_bias':false", "attention_dropout", "0.5",
     "'attention_bias':false,'attention_dropout':0.5"},
    {"llama", "'eos_token_id':[3,4]", "bos_token_id", "5", "'bos_token_id':5,'eos_token_id':[3,4]"},
    {"llama", "'eos_token_id':[3,4]", "eos_token_id", "5", "'eos_token_id':5"},
    /* positions, as version 4 spells them and as 5 does */
    {"llama", "'rope_theta':100", "rotary_base", "200", "'rope_theta':200.0"},
    {"llama", "", "rotary_base", "200", "'rope_theta':200.0"},
    {"llama", "'rope_theta':100,'rope_scaling':null", "rope_dynamic_factor", "2",
     "'rope_theta':100.0,'rope_scaling':{'rope_type':'dynamic','factor':2.0}"},
    {"llama", "'rope_parameters':{'rope_type':'linear','factor':3.0,'rope_theta':100}",
     "rotary_base", "200",
     "'rope_parameters':{'rope_type':'linear','factor':3.0,'rope_theta':200.0}"},
    {"llama", "'rope_parameters':{'rope_type':'linear','factor':3.0,'rope_theta':100}",
     "rotary_seq_len_interpolation_factor", "none",
     "'rope_parameters':{'rope_type':'default','rope_theta':100.0}"},
    {"phi3", "'rope_theta':100,'partial_rotary_factor':0.5", "rotary_percent", "1",
     "'rope_theta':100.0,'partial_rotary_factor':1.0"},
    {"gpt_neox", "'rotary_emb_base':100,'rope_theta':100.0", "rotary_base", "200",
     "'rotary_emb_base':200.0,'rope_theta':200.0,'rotary_pct':0.25"},
    {"gemma3_text",
     "'rope_parameters':{'full_attention':{'rope_type':'default','rope_theta':100.0},"
     "'sliding_attention':{'rope_type':'default','rope_theta':30.0}}",
     "rotary_base", "200",
     "'rope_parameters':{'full_attention':{'rope_type':'default','rope_theta':200.0},"
     "'sliding_attention':{'rope_type':'default','rope_theta':30.0}}"},
    /* windows */
    {"mistral", "'sliding_window':5", "window_size", "2,0", "'sliding_window':3"},
    {"gemma3_text", "'sliding_window_pattern':2,'sliding_window':5", "window_attn_skip_freq",
     "0,1,1",
     "'sliding_window':5,'layer_types':['full_attention','sliding_attention',"
     "'sliding_attention']"},
    {"smollm3", "'no_rope_layers':[1,0,1],'no_rope_layer_interval':2", "no_rope_freq", "1,0,0",
     "'no_rope_layers':[0,1,1],'no_rope_layer_interval':2"},
};

/* An object of text between braces, in single quotes, with SMALL. */
static json_t *object_of(const char *family, const char *keys)
{
    char text[1024];
    bool is_neox = strcmp(family, "gpt_neox") == 0; /* a quarter of its channels must be even */
    snprintf(text, sizeof(text), "{'model_type':'%s'," SMALL "%s%s}", family, keys[0] ? "," : "",
             keys);
    char *hidden = strstr(text, "'hidden_size':16");
    if (is_neox)
        memcpy(hidden, "'hidden_size':64", strlen("'hidden_size':64"));
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    return root;
}

static json_t *write_over(const struct change *change, const char *original)
{
    tri_error *err = tri_error_create();
    const struct tri_hf_family *family = tri_family_find(change->family)->config;
    struct tri_gpt_config config;
    char *text = NULL;
    tri_status status =
        tri_hf_config_read(family, original, strlen(original), "config.json", err, &config);
    if (status == TRI_OK && change->option) {
        struct tri_hf_field field = tri_hf_field_find(&config, change->option);
        status = tri_option_set(field.row, field.base, change->value, "test", err);
        tri_gpt_config_resolve(&config);
    }
    if (status == TRI_OK)
        status = tri_hf_config_write(family, &config, "float32", original, err, &text);
    for (int i = 0; i < tri_error_count(err); i++)
        print_error("%s: %s\n", original, tri_error_message(err, i));
    assert_int_equal(status, TRI_OK);
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    tri_error_destroy(&err);
    return root;
}

static void only_what_changed_changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const struct change *change = &changes[i];
        json_t *before = object_of(change->family, change->keys);
        json_t *wanted = object_of(change->family, change->wanted);
        char *original = json_dumps(before, JSON_REAL_PRECISION(17));
        json_t *got = write_over(change, original);
        json_object_del(got, "architectures");
        if (!json_equal(got, wanted)) {
            char *text = json_dumps(got, JSON_SORT_KEYS);
            fail_msg("case %d: '%s' %s over %s gives\n%s", (int)i, change->option, change->value,
                     original, text);
        }
        json_decref(before);
        json_decref(wanted);
        json_decref(got);
        free(original);
    }
}

/* Keys of another family mean nothing here: the file is made anew. */
static void another_family_is_no_original(void **state)
{
    (void)state;
    struct tri_gpt_config llama = shape_llama(1, 16, 2, 1, 24, 11);
    const struct tri_hf_family *family = tri_family_find("llama")->config;
    static const char *const others[] = {"{\"model_type\":\"gpt2\",\"mine\":1}",
                                         "{\"model_type\":\"llama\",\"hidden_size\":-1}", "[]",
                                         "no JSON", ""};
    char *anew = NULL, *text = NULL;
    tri_gpt_config_resolve(&llama);
    tri_error *err = tri_error_create();
    tri_status status = tri_hf_config_write(family, &llama, "float32", NULL, err, &anew);
    for (int i = 0; i < tri_error_count(err); i++)
        print_error("%s\n", tri_error_message(err, i));
    tri_error_destroy(&err);
    assert_int_equal(status, TRI_OK);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(tri_hf_config_write(family, &llama, "float32", others[i], NULL, &text),
                         TRI_OK);
        assert_string_equal(text, anew);
        free(text);
    }
    free(anew);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_changed_changes),
        cmocka_unit_test(another_family_is_no_original),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
