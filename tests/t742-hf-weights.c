/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading Hugging Face directories: the golden models on several grids against a plain reader, element by
 * element, and directories that must be refused (or noted) with everything wrong listed at once.
 */
#include "t74-checkpoint.h"

#include <pthread.h>

struct read_case {
    const char *dir;
    struct test_model *m;
    struct test_grid grid;
    bool compare; /* with the plain reader */
};

/* Where a plain reader finds an element of a logical parameter in gpt2 and llama files. */
static void plain_name(const char *family, const struct tri_param_spec *spec, int64_t row,
                       char *name, size_t bytes, int64_t *file_row, bool *transposed)
{
    int layer = 0;
    const char *rest = spec->name;
    if (sscanf(spec->name, "decoder.layers.%d.", &layer) == 1)
        rest = strchr(spec->name + strlen("decoder.layers."), '.') + 1;
    char tail[16], stem[64];
    const char *dot = strrchr(rest, '.');
    snprintf(tail, sizeof(tail), "%s", dot + 1);
    snprintf(stem, sizeof(stem), "%.*s", (int)(dot - rest), rest);
    *file_row = row;
    *transposed = false;
    bool gpt2 = strcmp(family, "gpt2") == 0;
    static const struct {
        const char *stem, *gpt2, *llama;
        bool transposed;
    } map[] = {
        {"embedding.word_embeddings", "transformer.wte", "model.embed_tokens", false},
        {"embedding.position_embeddings", "transformer.wpe", "", false},
        {"decoder.final_layernorm", "transformer.ln_f", "model.norm", false},
        {"output_layer", "lm_head", "lm_head", false},
        {"input_layernorm", "ln_1", "input_layernorm", false},
        {"pre_mlp_layernorm", "ln_2", "post_attention_layernorm", false},
        {"self_attention.linear_qkv", "attn.c_attn", "", true},
        {"self_attention.linear_proj", "attn.c_proj", "self_attn.o_proj", true},
        {"mlp.linear_fc1", "mlp.c_fc", "", true},
        {"mlp.linear_fc2", "mlp.c_proj", "mlp.down_proj", true},
    };
    for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
        if (strcmp(map[i].stem, stem) != 0)
            continue;
        const char *mine = gpt2 ? map[i].gpt2 : map[i].llama;
        *transposed = gpt2 && map[i].transposed && strcmp(tail, "weight") == 0;
        if (strcmp(stem, "self_attention.linear_qkv") == 0 && !gpt2) {
            /* 4 query heads and 2 groups of width 8 */
            mine = row < 32   ? "self_attn.q_proj"
                   : row < 48 ? "self_attn.k_proj"
                              : "self_attn.v_proj";
            *file_row = row < 32 ? row : row < 48 ? row - 32 : row - 48;
        }
        if (strcmp(stem, "mlp.linear_fc1") == 0 && !gpt2) {
            mine = row < 72 ? "mlp.gate_proj" : "mlp.up_proj";
            *file_row = row % 72;
        }
        if (rest == spec->name)
            snprintf(name, bytes, "%s.%s", mine, tail);
        else
            snprintf(name, bytes, "%s.%d.%s.%s", gpt2 ? "transformer.h" : "model.layers", layer,
                     mine, tail);
        return;
    }
    fail_msg("the plain reader knows no %s", spec->name);
}

static const char *const model_files[] = {"model.safetensors", "model-00001-of-00002.safetensors",
                                          "model-00002-of-00002.safetensors"};

static float *plain_find(const char *dir, const char *name, int64_t dims[2])
{
    for (int f = 0; f < 3; f++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", dir, model_files[f]);
        float *values = access(path, R_OK) == 0 ? plain_read(path, name, dims) : NULL;
        if (values)
            return values;
    }
    return NULL;
}

static int64_t plain_compare(const struct read_case *c, const struct tri_state_tensor *t)
{
    int64_t wrong = 0, dims[2] = {0};
    char last[128] = "";
    float *values = NULL;
    for (int64_t e = 0; e < t->count; e++) {
        int64_t row, col, file_row;
        char name[128];
        bool transposed;
        if (!to_global(t->spec, t->tp_rank, t->tp_size, t->first + e, &row, &col)) {
            wrong += t->data[e] != 0;
            continue;
        }
        plain_name(c->m->model.family->name, t->spec, row, name, sizeof(name), &file_row,
                   &transposed);
        if (strcmp(name, last) != 0) {
            free(values);
            values = plain_find(c->dir, name, dims);
            snprintf(last, sizeof(last), "%s", name);
        }
        if (!values)
            return -1;
        float expected =
            transposed ? values[col * dims[1] + file_row] : values[file_row * dims[1] + col];
        wrong += memcmp(&expected, &t->data[e], 4) != 0;
    }
    free(values);
    return wrong;
}

static tri_status read_body(void *arg, tri_world *world)
{
    const struct read_case *c = arg;
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* the description's arena is shared */
    struct test_rank *r = malloc(sizeof(*r));
    pthread_mutex_lock(&one);
    rank_make(c->m, c->grid, world->rank, r);
    pthread_mutex_unlock(&one);
    for (int i = 0; i < r->num; i++) /* padding must be cleared */
        memset(r->load[i].data, 0x77, (size_t)r->load[i].count * 4);
    int ranks[MAX_RANKS];
    for (int i = 0; i < world->size; i++)
        ranks[i] = i;
    tri_group *group = NULL;
    tri_status status = tri_group_create(world, "world", ranks, world->size, &group);
    struct tri_checkpoint_load load = {.dir = c->dir,
                                       .model = &c->m->model,
                                       .weights = {.num = r->num, .tensors = r->load},
                                       .staging = malloc(tri_checkpoint_staging_bytes())};
    if (status == TRI_OK)
        status = tri_checkpoint_load(group, &load, world->err);
    for (int i = 0; i < r->num && status == TRI_OK && c->compare; i++)
        if (plain_compare(c, &r->load[i]) != 0)
            status = tri_error_set(world->err, TRI_BUG, "rank %d: '%s' differs", world->rank,
                                   r->load[i].spec->name);
    tri_group_destroy(&group);
    free(load.staging);
    rank_free(r);
    free(r);
    return status;
}

static void read_golden(const char *name, const struct test_grid *grids, int num)
{
    char dir[128];
    snprintf(dir, sizeof(dir), "golden/hf/%s/model", name);
    for (int i = 0; i < num; i++) {
        struct test_model m;
        model_open(&m, dir);
        struct read_case c = {.dir = dir, .m = &m, .grid = grids[i], .compare = true};
        tri_error *err = tri_error_create();
        tri_status status = run_ranks(grids[i].tp * grids[i].dp * grids[i].pp, read_body, &c, err);
        print_errors(err);
        assert_int_equal(status, TRI_OK);
        tri_error_destroy(&err);
        model_close(&m);
    }
}

static void test_gpt2(void **state)
{
    (void)state;
    const struct test_grid grids[] = {{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {2, 2, 2}, {1, 1, 4}};
    read_golden("gpt2", grids, 5);
}

static void test_llama(void **state)
{
    (void)state;
    const struct test_grid grids[] = {{1, 1, 1}, {2, 1, 1}, {1, 3, 1}, {2, 1, 3}};
    read_golden("llama", grids, 4);
}

/* ---- directories with something wrong ---- */

/* Copies the golden model to a scratch folder, whose name is returned. */
static const char *copy_model(const char *name)
{
    static char dir[128];
    snprintf(dir, sizeof(dir), "%s/model", scratch_dir());
    shell("rm -rf %s && cp -r golden/hf/%s/model %s && chmod -R u+w %s", dir, name, dir, dir);
    return dir;
}

/* Loads dir on one rank; err gets what was said. config_dir describes the model. */
static tri_status load_dir(const char *dir, const char *config_dir, tri_error *err)
{
    struct test_model m;
    model_open(&m, config_dir);
    struct read_case c = {.dir = dir, .m = &m, .grid = {1, 1, 1}};
    tri_error_clear(err);
    tri_status status = run_ranks(1, read_body, &c, err);
    model_close(&m);
    return status;
}

/* Rewrites one safetensors file: edit changes the header's object; extra bytes follow the data. */
static void edit_file(const char *dir, const char *file, void (*edit)(json_t *root, int64_t bytes),
                      size_t extra)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    long bytes;
    char *data = slurp(path, &bytes);
    uint64_t n;
    memcpy(&n, data, 8);
    json_t *root = json_loadb(data + 8, n, 0, NULL);
    edit(root, bytes - 8 - (int64_t)n);
    char *text = json_dumps(root, JSON_COMPACT);
    uint64_t length = strlen(text);
    size_t rest = (size_t)bytes - 8 - n;
    char *made = calloc(1, 8 + length + rest + extra);
    memcpy(made, &length, 8);
    memcpy(made + 8, text, length);
    memcpy(made + 8 + length, data + 8 + n, rest);
    spill(path, made, 8 + length + rest + extra);
    free(made);
    free(text);
    json_decref(root);
    free(data);
}

static void rename_key(json_t *root, const char *from, const char *to)
{
    json_t *value = json_incref(json_object_get(root, from));
    assert_non_null(value);
    json_object_del(root, from);
    json_object_set_new(root, to, value);
}

static void strip_prefix(json_t *root, int64_t bytes)
{
    (void)bytes;
    const char *keys[128];
    int num = 0;
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        if (strncmp(key, "transformer.", 12) == 0)
            keys[num++] = strdup(key);
    }
    for (int i = 0; i < num; i++) {
        rename_key(root, keys[i], keys[i] + 12);
        free((char *)(uintptr_t)keys[i]);
    }
}

static void add_buffers(json_t *root, int64_t bytes)
{
    strip_prefix(root, bytes);
    json_object_set_new(root, "h.0.attn.bias",
                        json_pack("{ss s[iiii] s[II]}", "dtype", "U8", "shape", 1, 1, 8, 8,
                                  "data_offsets", (json_int_t)bytes, (json_int_t)bytes + 64));
    json_object_set_new(root, "h.0.attn.masked_bias",
                        json_pack("{ss s[] s[II]}", "dtype", "F32", "shape", "data_offsets",
                                  (json_int_t)bytes + 64, (json_int_t)bytes + 68));
}

static void add_empty(json_t *root, int64_t bytes)
{
    json_object_set_new(root, "extra.a",
                        json_pack("{ss s[i] s[II]}", "dtype", "F32", "shape", 0, "data_offsets",
                                  (json_int_t)bytes, (json_int_t)bytes));
    json_object_set_new(root, "extra.b",
                        json_pack("{ss s[ii] s[II]}", "dtype", "F32", "shape", 2, 0, "data_offsets",
                                  (json_int_t)bytes, (json_int_t)bytes));
}

static void rename_and_add(json_t *root, int64_t bytes)
{
    rename_key(root, "transformer.h.1.mlp.c_fc.weight", "transformer.h.1.mlp.c_fx.weight");
    rename_key(root, "transformer.h.0.ln_1.bias", "transformer.h.9.ln_1.bias");
    add_empty(root, bytes);
}

static void twice(json_t *root, int64_t bytes)
{
    json_object_set_new(root, "ln_f.bias",
                        json_pack("{ss s[i] s[II]}", "dtype", "F32", "shape", 32, "data_offsets",
                                  (json_int_t)bytes, (json_int_t)bytes + 128));
}

static void square_wrong(json_t *root, int64_t bytes)
{
    (void)bytes;
    json_t *shape =
        json_object_get(json_object_get(root, "transformer.h.0.mlp.c_fc.weight"), "shape");
    json_array_set_new(shape, 0, json_integer(128));
    json_array_set_new(shape, 1, json_integer(32));
}

static void test_prefix_and_buffers(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    const char *dir = copy_model("gpt2");
    edit_file(dir, "model.safetensors", strip_prefix, 0);
    assert_int_equal(load_dir(dir, dir, err), TRI_OK);
    dir = copy_model("gpt2");
    edit_file(dir, "model.safetensors", add_buffers, 68);
    if (load_dir(dir, dir, err) != TRI_OK)
        print_errors(err);
    assert_int_equal(tri_error_count(err), 0);
    assert_true(has_note(err, "2 tensors"));
    tri_error_destroy(&err);
}

static void test_names(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    const char *dir = copy_model("gpt2");
    edit_file(dir, "model.safetensors", rename_and_add, 0);
    assert_int_equal(load_dir(dir, dir, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "tensor 'transformer.h.1.mlp.c_fc.weight' [32, 128] is missing");
    ASSERT_MESSAGE(err, "tensor 'transformer.h.0.ln_1.bias' [32] is missing");
    ASSERT_MESSAGE(err, "tensor 'transformer.h.1.mlp.c_fx.weight' [32, 128] in");
    ASSERT_MESSAGE(err, "'transformer.h.9.ln_1.bias' [32] in 'model.safetensors' is unexpected");
    ASSERT_MESSAGE(err, "tensor 'extra.a' [0] in 'model.safetensors' is unexpected");
    ASSERT_MESSAGE(err, "tensor 'extra.b' [2, 0]");
    assert_int_equal(tri_error_count(err), 6);
    dir = copy_model("gpt2");
    edit_file(dir, "model.safetensors", twice, 128);
    assert_int_equal(load_dir(dir, dir, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "tensor 'transformer.ln_f.bias' is there twice");
    dir = copy_model("gpt2");
    edit_file(dir, "model.safetensors", square_wrong, 0);
    assert_int_equal(load_dir(dir, dir, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "has shape [128, 32], expected [32, 128]");
    tri_error_destroy(&err);
}

static void test_shards(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    /* cut by 100 bytes */
    const char *dir = copy_model("llama");
    shell("truncate -s -100 %s/model-00002-of-00002.safetensors", dir);
    assert_int_equal(load_dir(dir, dir, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "model-00002-of-00002.safetensors");
    ASSERT_MESSAGE(err, "the file is cut or torn");
    assert_false(has_message(err, "is missing"));
    /* absent */
    dir = copy_model("llama");
    shell("rm %s/model-00001-of-00002.safetensors", dir);
    assert_int_equal(load_dir(dir, dir, err), TRI_IO);
    ASSERT_MESSAGE(err, "model-00001-of-00002.safetensors': no such file");
    assert_false(has_message(err, "is missing"));
    /* a stray third */
    dir = copy_model("llama");
    shell("cp %s/model-00001-of-00002.safetensors %s/model-00003-of-00003.safetensors", dir, dir);
    assert_int_equal(load_dir(dir, dir, err), TRI_OK);
    assert_true(has_note(err, "model-00003-of-00003.safetensors' is not read"));
    /* the index sends a tensor to the wrong shard; total_size is advisory */
    dir = copy_model("llama");
    shell("sed -i 's/\"model.norm.weight\": \"model-00002/\"model.norm.weight\": \"model-00001/' "
          "%s/model.safetensors.index.json",
          dir);
    assert_int_equal(load_dir(dir, dir, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "puts tensor 'model.norm.weight' into 'model-00001-of-00002.safetensors', "
                        "but it lies in 'model-00002-of-00002.safetensors'");
    static const char *const sizes[] = {"\"total_size\": 1", "\"total_size\": null",
                                        "\"total_bytes\": 1"};
    for (int i = 0; i < 3; i++) {
        dir = copy_model("llama");
        shell("sed -i 's/\"total_size\": 114048/%s/' %s/model.safetensors.index.json", sizes[i],
              dir);
        assert_int_equal(load_dir(dir, dir, err), TRI_OK);
        assert_true(has_note(err, "advisory"));
    }
    dir = copy_model("llama");
    shell(
        "sed -i 's#\"model.norm.weight\": \"model-00002#\"model.norm.weight\": \"../model-00002#' "
        "%s/model.safetensors.index.json",
        dir);
    assert_int_equal(load_dir(dir, dir, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "give the name of a file in the same directory");
    dir = copy_model("llama");
    shell("truncate -s 500 %s/model.safetensors.index.json", dir);
    assert_int_equal(load_dir(dir, dir, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "not JSON");
    dir = copy_model("llama");
    shell("rm %s/model*", dir);
    assert_int_equal(load_dir(dir, dir, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "holds no weights");
    tri_error_destroy(&err);
}

static void move_head(json_t *root, int64_t bytes)
{
    (void)bytes;
    rename_key(root, "transformer.wpe.weight", "lm_head.weight");
}

static void test_tied(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    /* untied by its config, without lm_head */
    const char *dir = copy_model("gpt2");
    shell("sed -i 's/\"tie_word_embeddings\": true/\"tie_word_embeddings\": false/' %s/config.json",
          dir);
    assert_int_equal(load_dir(dir, dir, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "tensor 'lm_head.weight' [101, 32] is missing");
    /* tied, with an output layer that is not the table */
    dir = copy_model("gpt2");
    edit_file(dir, "model.safetensors", move_head, 0);
    assert_int_equal(load_dir(dir, dir, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "'lm_head.weight' in 'model.safetensors' differs from "
                        "'transformer.wte.weight' although the model is tied");
    tri_error_destroy(&err);
}

static void test_vocabulary_rows(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    const char *dir = copy_model("llama");
    shell("sed -i 's/\"vocab_size\": 131/\"vocab_size\": 128/' %s/config.json", dir);
    assert_int_equal(load_dir(dir, dir, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "'model.embed_tokens.weight' in 'model-00001-of-00002.safetensors' has "
                        "shape [131, 32], expected [128, 32] (vocab_size in config.json is 128");
    ASSERT_MESSAGE(err, "'lm_head.weight' in 'model-00002-of-00002.safetensors' has shape");
    assert_int_equal(tri_error_count(err), 2);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2),
        cmocka_unit_test(test_llama),
        cmocka_unit_test(test_prefix_and_buffers),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_tied),
        cmocka_unit_test(test_vocabulary_rows),
    };
    return cmocka_run_group_tests(tests, NULL, scratch_remove);
}
