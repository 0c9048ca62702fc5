/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter counts of published models from their config.json, in full size: each must come out exactly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-shapes.h"

#include "spec/family.h"
#include "spec/model_spec.h"

#include <stdlib.h>

static const struct published {
    const char *name, *family;
    int64_t parameters;
    const char *config; /* what differs from the family's defaults */
} models[] = {
    {"gpt-neox-20b", "gpt_neox", 20554567680,
     "'vocab_size':50432,'hidden_size':6144,'num_hidden_layers':44,'num_attention_heads':64,"
     "'intermediate_size':24576,'hidden_act':'gelu_fast','rotary_pct':0.25"},
    {"pythia-1.4b", "gpt_neox", 1414647808,
     "'vocab_size':50304,'hidden_size':2048,'num_hidden_layers':24,'num_attention_heads':16,"
     "'intermediate_size':8192"},
    {"Phi-3-mini-4k", "phi3", 3821079552, "'sliding_window':2047"},
    {"starcoder2-3b", "starcoder2", 3030371328,
     "'num_hidden_layers':30,'hidden_size':3072,'sliding_window':4096,"
     "'max_position_embeddings':16384"},
    {"starcoder2-7b", "starcoder2", 7173923840,
     "'num_hidden_layers':32,'hidden_size':4608,'num_attention_heads':36,'num_key_value_heads':4,"
     "'intermediate_size':18432"},
    {"granite-3.0-2b-base", "granite", 2533531648,
     "'vocab_size':49155,'hidden_size':2048,'num_hidden_layers':40,'intermediate_size':8192,"
     "'num_key_value_heads':8,'tie_word_embeddings':true,'attention_multiplier':0.015625,"
     "'embedding_multiplier':12.0,'logits_scaling':8.0,'residual_multiplier':0.22"},
    {"OLMo-2-1124-7B", "olmo2", 7298617344, "'vocab_size':100352"},
    {"OLMo-2-1124-13B", "olmo2", 13716198400,
     "'vocab_size':100352,'hidden_size':5120,'intermediate_size':13824,'num_hidden_layers':40,"
     "'num_attention_heads':40"},
    {"gemma-2-2b", "gemma2", 2614341888, "'num_hidden_layers':26"},
    {"gemma-2-9b", "gemma2", 9241705984,
     "'num_hidden_layers':42,'hidden_size':3584,'intermediate_size':14336,"
     "'num_attention_heads':16,'num_key_value_heads':8"},
    {"gemma-2-27b", "gemma2", 27227128320,
     "'num_hidden_layers':46,'hidden_size':4608,'intermediate_size':36864,"
     "'num_attention_heads':32,'num_key_value_heads':16,'head_dim':128,"
     "'query_pre_attn_scalar':144"},
    {"gemma-3-1b", "gemma3_text", 999885952,
     "'vocab_size':262144,'hidden_size':1152,'intermediate_size':6912,'num_hidden_layers':26,"
     "'num_attention_heads':4,'num_key_value_heads':1,'sliding_window':512,"
     "'rope_local_base_freq':10000,'rope_theta':1000000"},
    {"SmolLM3-3B", "smollm3", 3075098624, "'rope_theta':5000000.0"},
};
enum { NUM_MODELS = sizeof(models) / sizeof(models[0]) };

static char *config_text(const struct published *model)
{
    char text[2048];
    snprintf(text, sizeof(text), "{'model_type':'%s',%s}", model->family, model->config);
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    return strdup(text);
}

static void test_counts(void **state)
{
    (void)state;
    for (int i = 0; i < NUM_MODELS; i++) {
        tri_error *err = tri_error_create();
        const struct tri_family *family = tri_family_find(models[i].family);
        struct tri_gpt_config shape;
        struct tri_model_spec *spec = NULL;
        struct tri_param_count count;
        char *text = config_text(&models[i]);
        assert_non_null(family);
        tri_status status =
            tri_hf_config_read(family->config, text, strlen(text), models[i].name, err, &shape);
        for (int k = 0; k < tri_error_count(err); k++)
            print_error("%s\n", tri_error_message(err, k));
        assert_int_equal(status, TRI_OK);
        assert_int_equal(tri_model_spec_create(&shape, NULL, err, &spec), TRI_OK);
        assert_int_equal(tri_model_count_params(spec, err, &count), TRI_OK);
        if (count.total != models[i].parameters)
            fail_msg("%s has %lld parameters, published are %lld", models[i].name,
                     (long long)count.total, (long long)models[i].parameters);
        tri_model_spec_destroy(&spec);
        tri_error_destroy(&err);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
