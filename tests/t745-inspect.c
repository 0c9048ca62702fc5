/* SPDX-License-Identifier: Apache-2.0 */
/* inspect and verify: what they print, and that verify finds every planted damage. */
#include "t74-save.h"

#include "checkpoint/inspect.h"

static struct test_model llama;
static tri_error *err;
static char dir[160];

static int setup_all(void **state)
{
    (void)state;
    err = tri_error_create();
    model_open(&llama, "golden/hf/llama/model");
    snprintf(dir, sizeof(dir), "%s/save", scratch_dir());
    long bytes;
    char *config = slurp("golden/hf/llama/model/config.json", &bytes);
    struct job save = {.m = &llama,
                       .grid = {2, 2, 1},
                       .dir = dir,
                       .iteration = 12,
                       .config = config,
                       .file_limit = 30000};
    run_good(&save, save_body, err);
    free(config);
    return 0;
}

static int teardown_all(void **state)
{
    model_close(&llama);
    tri_error_destroy(&err);
    return scratch_remove(state);
}

/* Runs inspect (mode 'i'), inspect as JSON ('j') or verify ('v'); *text is the caller's. */
static tri_status look(char mode, const char *path, char **text)
{
    size_t bytes;
    FILE *out = open_memstream(text, &bytes);
    tri_error_clear(err);
    tri_status status = mode == 'v' ? tri_checkpoint_verify(path, out, err)
                                    : tri_checkpoint_inspect(path, mode == 'j', out, err);
    fclose(out);
    return status;
}

#define ASSERT_PRINTS(text, part)                                                                  \
    do {                                                                                           \
        if (!strstr(text, part))                                                                   \
            fail_msg("no \"%s\" in:\n%s", part, text);                                             \
    } while (0)

static void test_inspect(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(look('i', dir, &text), TRI_OK);
    ASSERT_PRINTS(text, "save/iter_0000012\n");
    ASSERT_PRINTS(text, "model_type         llama\n");
    ASSERT_PRINTS(text, "parameters         28512 in 21 tensors, 114048 bytes\n");
    ASSERT_PRINTS(text, "iteration          12\n");
    ASSERT_PRINTS(text, "optimizer_state    exp_avg exp_avg_sq\n");
    ASSERT_PRINTS(text, "model-00005-of-00005.safetensors  ");
    ASSERT_PRINTS(text, "  model.layers.1.mlp.down_proj.weight                  F32   [32, 72]\n");
    free(text);
    assert_int_equal(look('i', "golden/hf/gpt2/model", &text), TRI_OK);
    ASSERT_PRINTS(text, "training state     none\n");
    free(text);
    assert_int_equal(look('j', dir, &text), TRI_OK);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "parameters")), 28512);
    assert_int_equal(json_array_size(json_object_get(root, "tensors")), 21);
    json_t *saved = json_object_get(root, "state");
    assert_int_equal(json_integer_value(json_object_get(saved, "iteration")), 12);
    json_decref(root);
    free(text);
    assert_int_equal(look('i', "/nonexistent", &text), TRI_IO);
    ASSERT_MESSAGE(err, "there is no directory '/nonexistent'");
    free(text);
    assert_int_equal(look('i', "golden", &text), TRI_INVALID);
    free(text);
}

static void test_verify_good(void **state)
{
    (void)state;
    char *text = NULL;
    if (look('v', dir, &text) != TRI_OK) {
        print_errors(err);
        fail_msg("%s", text);
    }
    ASSERT_PRINTS(text, "good      model-00001-of-00005.safetensors");
    ASSERT_PRINTS(text, "good      trine/optim-exp_avg_sq-0000");
    ASSERT_PRINTS(text, "good      trine/state.json");
    ASSERT_PRINTS(text, "good      config.json");
    ASSERT_PRINTS(text, "whole, all checksums agree");
    free(text);
    static const char *const golden[] = {"golden/hf/gpt2/model", "golden/hf/llama/model"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(look('v', golden[i], &text), TRI_OK);
        ASSERT_PRINTS(text, "whole in structure");
        free(text);
    }
}

static void test_verify_damage(void **state)
{
    (void)state;
    static const struct {
        const char *damage, *message;
    } cases[] = {
        {"printf 'x' | dd of=model-00002-of-00005.safetensors bs=1 seek=5000 conv=notrunc "
         "2>/dev/null",
         "of '"},
        {"printf ' ' >> config.json", "the text of"},
        {"sed -i s/tok-1/tok-2/ trine/state.json", "the text of"},
        {"truncate -s -4 trine/optim-exp_avg-00001-of-00005.safetensors",
         "the file is cut or torn"},
        {"rm trine/optim-exp_avg-00001-of-00005.safetensors", "no such file"},
        {"rm model-00003-of-00005.safetensors", "no such file"},
        {"sed -i 's/\"vocab_size\": 131/\"vocab_size\": 130/' config.json", "expected [130, 32]"},
        {"sed -i 's/\"num_hidden_layers\": 2/\"num_hidden_layers\": 3/' config.json",
         "tensor 'model.layers.2.self_attn.q_proj.weight' [32, 32] is missing"},
        {"rm trine/checksums.json", "checksums.json"},
        {"rm trine/state.json", "state.json"},
        {"cp model-00001-of-00005.safetensors model-00002-of-00005.safetensors", "the index puts"},
        {"sed -i 's/\"llama\"/\"lama\"/' config.json", "model_type 'lama'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char copy[192], *text = NULL;
        snprintf(copy, sizeof(copy), "%s/copy", scratch_dir());
        shell("rm -rf %s && cp -r %s/iter_0000012 %s && cd %s && %s", copy, dir, copy, copy,
              cases[i].damage);
        if (look('v', copy, &text) == TRI_OK)
            fail_msg("'%s' was not found", cases[i].damage);
        ASSERT_MESSAGE(err, cases[i].message);
        ASSERT_PRINTS(text, "copy: damaged");
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inspect),
        cmocka_unit_test(test_verify_good),
        cmocka_unit_test(test_verify_damage),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
