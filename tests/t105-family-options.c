/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of an option's families is so: whatever a golden config.json makes differ from the default is
 * an option that its family gives, or one that follows from those.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spec/family.h"
#include "t1-shapes.h"

#include <dirent.h>
#include <sys/stat.h>

/* Filled in from others where a file does not say them. */
static const char *const derived[] = {
    "seq_length",    "num_query_groups",          "kv_channels", "ffn_hidden_size", "add_qkv_bias",
    "add_proj_bias", "embedding_init_method_std", "add_mlp_bias"};

static bool is_derived(const char *option)
{
    for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++)
        if (strcmp(derived[i], option) == 0)
            return true;
    return false;
}

static int check_table(const struct tri_family *family, const struct tri_option_table *table,
                       const void *config)
{
    int num = 0;
    for (int i = 0; i < table->num_rows; i++) {
        const struct tri_option *row = &table->rows[i];
        if (tri_option_is_default(row, config) || is_derived(row->name))
            continue;
        num++;
        if (!tri_hf_config_sets(family->config, row->name))
            fail_msg("'%s' is not among the options of family '%s', which gives it", row->name,
                     family->name);
    }
    return num;
}

static int check_model(const char *path)
{
    struct tri_gpt_config config;
    tri_error *err = tri_error_create();
    if (tri_gpt_config_read_hf(path, err, &config) != TRI_OK)
        fail_msg("%s: %s", path, tri_error_message(err, 0));
    const struct tri_family *family = tri_family_find(config.family);
    assert_non_null(family);
    int num = check_table(family, &tri_gpt_options, &config) +
              check_table(family, &tri_transformer_options, &config.transformer) +
              check_table(family, &tri_attention_options, &config.transformer.attention);
    tri_error_destroy(&err);
    return num;
}

static void test_golden_models(void **state)
{
    (void)state;
    int num_models = 0;
    DIR *folder = opendir("golden/hf");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[512];
        struct stat info;
        snprintf(path, sizeof(path), "golden/hf/%s/model", entry->d_name);
        if (stat(path, &info) != 0)
            continue;
        assert_true(check_model(path) >= 5);
        num_models++;
    }
    closedir(folder);
    assert_true(num_models >= 15);
}

static void test_sets(void **state)
{
    (void)state;
    const struct tri_hf_family *llama = tri_family_find("llama")->config;
    const struct tri_hf_family *gpt2 = tri_family_find("gpt2")->config;
    assert_true(tri_hf_config_sets(llama, "num_layers"));            /* a key */
    assert_true(tri_hf_config_sets(llama, "normalization"));         /* a constant */
    assert_true(tri_hf_config_sets(llama, "rotary_scaling_factor")); /* inside of rope_scaling */
    assert_false(tri_hf_config_sets(llama, "window_size"));
    assert_true(tri_hf_config_sets(tri_family_find("mistral")->config, "window_size"));
    assert_false(tri_hf_config_sets(gpt2, "rotary_scaling_factor"));
    assert_false(tri_hf_config_sets(gpt2, "nonsense"));
    for (int i = 0; tri_family_get(i); i++) {
        assert_true(tri_hf_config_sets(tri_family_get(i)->config, "hidden_size"));
        assert_false(tri_hf_config_sets(tri_family_get(i)->config, "use_mup"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_models),
        cmocka_unit_test(test_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
