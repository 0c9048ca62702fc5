/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saving on one grid and loading on another; the same bytes from every grid; how directories become visible,
 * are replaced, kept, found and refused.
 */
#include "t74-save.h"

static struct test_model gpt2, llama;
static tri_error *err;

static int setup_all(void **state)
{
    (void)state;
    err = tri_error_create();
    model_open(&gpt2, "golden/hf/gpt2/model");
    model_open(&llama, "golden/hf/llama/model");
    return 0;
}

static int teardown_all(void **state)
{
    model_close(&gpt2);
    model_close(&llama);
    tri_error_destroy(&err);
    return scratch_remove(state);
}

/* SCRATCH/NAME, emptied. */
static const char *fresh(const char *name)
{
    static char dirs[64][160];
    static int next;
    char *dir = dirs[next++ % 64];
    snprintf(dir, 160, "%s/%s", scratch_dir(), name);
    shell("rm -rf %s", dir);
    return dir;
}

static const char *join(const char *dir, const char *name)
{
    static char paths[64][256];
    static int next;
    char *path = paths[next++ % 64];
    snprintf(path, 256, "%s/%s", dir, name);
    return path;
}

static const struct test_grid all_grids[] = {{1, 1, 1}, {2, 1, 1}, {1, 3, 1}, {1, 1, 3},
                                             {2, 2, 1}, {2, 1, 2}, {2, 2, 2}};

static void round_trip(struct test_model *m, int64_t limit)
{
    const char *base = fresh("base");
    for (int i = 0; i < 7; i++) {
        const char *dir = i == 0 ? base : fresh("other");
        struct job save = {.m = m,
                           .grid = all_grids[i],
                           .dir = dir,
                           .iteration = 5,
                           .salt = 3,
                           .file_limit = limit};
        run_good(&save, save_body, err);
        if (i > 0) {
            /* state.json, too: this test's options do not depend on the grid */
            shell("diff -r %s %s", base, dir);
        }
        struct job load = {.m = m,
                           .grid = all_grids[(i * 3 + 2) % 7],
                           .dir = join(dir, "iter_0000005"),
                           .salt = 3};
        run_good(&load, load_body, err);
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    round_trip(&gpt2, 0);
    assert_int_equal(access(join(scratch_dir(), "base/iter_0000005/model.safetensors"), F_OK), 0);
    round_trip(&llama, 0);
    round_trip(&llama, 20000);
    assert_int_equal(
        access(join(scratch_dir(), "base/iter_0000005/model.safetensors.index.json"), F_OK), 0);
    assert_int_equal(access(join(scratch_dir(), "base/iter_0000005/trine/optim-exp_avg-00001-of-"
                                                "00008.safetensors"),
                            F_OK),
                     0);
}

/* A golden model loaded and saved has its file's bytes: the same writer's conventions. */
static void test_same_bytes_as_transformers(void **state)
{
    (void)state;
    struct job save = {.m = &gpt2,
                       .grid = {2, 1, 2},
                       .dir = fresh("again"),
                       .iteration = 1,
                       .weights_only = true,
                       .load_first = "golden/hf/gpt2/model"};
    run_good(&save, save_body, err);
    shell("cmp %s/iter_0000001/model.safetensors golden/hf/gpt2/model/model.safetensors", save.dir);
    save.m = &llama;
    save.dir = fresh("again");
    save.load_first = "golden/hf/llama/model";
    save.file_limit = 1000000;
    run_good(&save, save_body, err);
    /* load and save in one folder, twice */
    struct job in_place = save;
    in_place.load_first = join(save.dir, "iter_0000001");
    shell("cp -r %s/iter_0000001 %s/kept", save.dir, save.dir);
    for (int i = 0; i < 2; i++)
        run_good(&in_place, save_body, err);
    shell("cmp %s/iter_0000001/model.safetensors %s/kept/model.safetensors", save.dir, save.dir);
}

static void test_state(void **state)
{
    (void)state;
    struct job save = {.m = &gpt2, .grid = {1, 1, 1}, .dir = fresh("state"), .iteration = 7};
    run_good(&save, save_body, err);
    tri_arena *arena = tri_arena_create();
    const char *dir = NULL;
    assert_int_equal(tri_checkpoint_resolve(save.dir, arena, err, &dir), TRI_OK);
    assert_string_equal(dir, join(save.dir, "iter_0000007"));
    struct tri_checkpoint_state read;
    assert_int_equal(tri_checkpoint_read_state(dir, arena, err, &read), TRI_OK);
    assert_int_equal(read.iteration, 7);
    assert_int_equal(read.consumed_samples, 56);
    assert_int_equal(read.consumed_tokens, 7000);
    assert_int_equal(read.schedule_position, 3);
    assert_int_equal(read.optimizer_steps, 6);
    assert_string_equal(read.options, "shape:\n  num_layers: 2\n");
    assert_string_equal(read.tokenizer, "tok-1");
    assert_null(read.data);
    assert_true(tri_checkpoint_has_state(dir));
    assert_false(tri_checkpoint_has_state("golden/hf/gpt2/model"));
    shell("sed -i 's/\"version\": 1/\"version\": 9/' %s/trine/state.json", dir);
    assert_int_equal(tri_checkpoint_read_state(dir, arena, err, &read), TRI_UNSUPPORTED);
    ASSERT_MESSAGE(err, "format version 9, this program reads 1 to 1");
    shell("sed -i 's/\"version\": 9/\"version\": 1/; s/\"iteration\": 7/\"iteration\": \"7\"/; "
          "s/consumed_samples/x/' %s/trine/state.json",
          dir);
    tri_error_clear(err);
    assert_int_equal(tri_checkpoint_read_state(dir, arena, err, &read), TRI_INVALID);
    ASSERT_MESSAGE(err, "'iteration' is '7', expected a whole number");
    ASSERT_MESSAGE(err, "'consumed_samples' is missing");
    tri_arena_destroy(&arena);
}

static tri_status latest(const char *folder, char *name, size_t bytes)
{
    tri_arena *arena = tri_arena_create();
    const char *dir = NULL;
    tri_error_clear(err);
    tri_status status = tri_checkpoint_find_latest(folder, arena, err, &dir);
    snprintf(name, bytes, "%s", status == TRI_OK && dir ? strrchr(dir, '/') + 1 : "");
    tri_arena_destroy(&arena);
    return status;
}

static void test_finding(void **state)
{
    (void)state;
    char name[64];
    assert_int_equal(latest("/nonexistent/x", name, sizeof(name)), TRI_OK);
    assert_string_equal(name, "");
    const char *dir = fresh("find");
    shell("mkdir %s", dir);
    assert_int_equal(latest(dir, name, sizeof(name)), TRI_OK);
    assert_string_equal(name, "");
    struct job save = {.m = &llama, .grid = {1, 1, 1}, .dir = dir, .iteration = 5};
    run_good(&save, save_body, err);
    assert_int_equal(latest(dir, name, sizeof(name)), TRI_OK);
    assert_string_equal(name, "iter_0000005");
    /* a step that is not there */
    tri_arena *arena = tri_arena_create();
    const char *found = NULL;
    assert_int_equal(tri_checkpoint_find_step(dir, 7, arena, err, &found), TRI_INVALID);
    ASSERT_MESSAGE(err, "no checkpoint of iteration 7");
    ASSERT_MESSAGE(err, "there is iter_0000005");
    assert_int_equal(tri_checkpoint_find_step(dir, 5, arena, err, &found), TRI_OK);
    tri_error_clear(err);
    assert_int_equal(tri_checkpoint_resolve("golden", arena, err, &found), TRI_INVALID);
    ASSERT_MESSAGE(err, "neither a model directory");
    tri_arena_destroy(&arena);
    /* broken in several ways: never "none" */
    static const struct {
        const char *damage, *message;
        tri_status status;
    } broken[] = {
        {"rm latest", "no file 'latest'", TRI_INVALID},
        {"echo iter_0000009 > latest", "names 'iter_0000009', which is not there", TRI_IO},
        {"echo ../../etc > latest", "expected the name of a directory", TRI_INVALID},
        {": > latest", "expected the name of a directory", TRI_INVALID},
        {"rm iter_0000005/config.json", "it has no config.json", TRI_IO},
        {"rm iter_0000005/trine/state.json", "it has no 'trine/state.json'", TRI_IO},
        {"rm iter_0000005/trine/checksums.json", "trine/checksums.json", TRI_IO},
        {"rm iter_0000005/model.safetensors", "cannot find", TRI_IO},
        {"truncate -s 5000 iter_0000005/trine/optim-exp_avg_sq.safetensors",
         "the checkpoint is not whole", TRI_INVALID},
        {"truncate -s 100 iter_0000005/trine/checksums.json", "not JSON", TRI_INVALID},
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        const char *copy = fresh("broken");
        shell("cp -r %s %s && cd %s && %s", dir, copy, copy, broken[i].damage);
        assert_int_equal(latest(copy, name, sizeof(name)), broken[i].status);
        ASSERT_MESSAGE(err, broken[i].message);
    }
}

static void test_damage(void **state)
{
    (void)state;
    const char *dir = fresh("damage");
    struct job save = {.m = &llama, .grid = {2, 1, 1}, .dir = dir, .iteration = 5};
    run_good(&save, save_body, err);
    const char *iter = join(dir, "iter_0000005");
    struct job load = {.m = &llama, .grid = {1, 2, 2}, .dir = iter};
    run_good(&load, load_body, err);
    /* one bit of a weight, then of a moment */
    static const char *const files[] = {"model.safetensors", "trine/optim-exp_avg.safetensors"};
    for (int i = 0; i < 2; i++) {
        char path[300];
        snprintf(path, sizeof(path), "%s/%s", iter, files[i]);
        FILE *file = fopen(path, "r+b");
        fseek(file, -1001, SEEK_END);
        int byte = fgetc(file);
        fseek(file, -1001, SEEK_END);
        fputc(byte ^ 4, file);
        fclose(file);
        assert_int_equal(run_job(&load, load_body, err), TRI_INVALID);
        ASSERT_MESSAGE(err, "its bytes have changed since they were saved");
        ASSERT_MESSAGE(err, files[i]);
        if (i == 0) {
            file = fopen(path, "r+b");
            fseek(file, -1001, SEEK_END);
            fputc(byte, file);
            fclose(file);
        }
    }
    load.weights_only = true;
    run_good(&load, load_body, err);
    load.weights_only = false;
    load.dir = "golden/hf/llama/model";
    assert_int_equal(run_job(&load, load_body, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "a model without training state");
    load.dir = iter;
    load.m = &gpt2;
    load.grid = (struct test_grid){1, 1, 1};
    assert_int_equal(run_job(&load, load_body, err), TRI_INVALID);
    ASSERT_MESSAGE(err, "'transformer.wte.weight' [101, 32] is missing");
    ASSERT_MESSAGE(err, "'model.norm.weight' [32] in 'model.safetensors' is unexpected");
}

static void test_replace_and_links(void **state)
{
    (void)state;
    const char *real = fresh("real"), *link = fresh("link");
    shell("mkdir %s && ln -s %s %s", real, real, link);
    struct job save = {.m = &llama,
                       .grid = {1, 2, 1},
                       .dir = link,
                       .iteration = 5,
                       .salt = 1,
                       .file_limit = 20000};
    run_good(&save, save_body, err);
    /* the same step again, in fewer files, over a folder with foreign files in it */
    shell("mkdir %s/iter_0000005/notes && echo x > %s/iter_0000005/notes/x", real, real);
    /* what dead runs left behind */
    shell("mkdir -p %s/.tmp-iter_0000004/trine && cd %s && echo > .tmp-iter_0000004/trine/x && "
          "echo > .tmp-latest && mkdir .tmp-mine && mkdir .old-iter_0000005",
          real, real);
    shell("cp -r %s/iter_0000005 %s/.old-iter_0000003", real, real);
    save.salt = 2;
    save.file_limit = 0;
    run_good(&save, save_body, err);
    struct job load = {
        .m = &llama, .grid = {1, 1, 1}, .dir = join(link, "iter_0000005"), .salt = 2};
    run_good(&load, load_body, err);
    shell("test -L %s && cd %s && test \"$(ls -A | tr '\\n' ' ')\" = "
          "'.tmp-mine iter_0000003 iter_0000005 latest '",
          link, real);
    shell("cd %s/iter_0000005 && test \"$(ls | tr '\\n' ' ')\" = "
          "'config.json generation_config.json model.safetensors trine '",
          real);
}

static void test_umask_and_copies(void **state)
{
    (void)state;
    shell("printf 'a\\0b\\377' > %s/tokenizer.json", scratch_dir());
    const char *copies[2] = {join(scratch_dir(), "tokenizer.json"), "/nonexistent/vocab.json"};
    mode_t old = umask(077);
    struct job save = {.m = &llama,
                       .grid = {1, 1, 1},
                       .dir = fresh("u077"),
                       .iteration = 1,
                       .copies = copies,
                       .num_copies = 1};
    run_good(&save, save_body, err);
    shell("test -z \"$(find %s -type f ! -perm 600)\" && cmp %s %s/iter_0000001/tokenizer.json",
          save.dir, copies[0], save.dir);
    umask(022);
    save.dir = fresh("u022");
    run_good(&save, save_body, err);
    shell("test -z \"$(find %s -type f ! -perm 644)\"", save.dir);
    umask(old);
    save.iteration = 2;
    save.num_copies = 2;
    assert_int_equal(run_job(&save, save_body, err), TRI_IO);
    ASSERT_MESSAGE(err, "cannot open '/nonexistent/vocab.json': no such file");
    shell("cd %s && test \"$(ls -A | tr '\\n' ' ')\" = 'iter_0000001 latest '", save.dir);
}

static void test_keep(void **state)
{
    (void)state;
    const char *dir = fresh("keep");
    struct job save = {.m = &llama, .grid = {1, 1, 1}, .dir = dir, .keep = 2, .iteration = 1000};
    save.first_iteration = 999;
    run_good(&save, save_body, err);
    save.first_iteration = 7;
    for (save.iteration = 8; save.iteration <= 11; save.iteration++)
        run_good(&save, save_body, err);
    char name[64];
    assert_int_equal(latest(dir, name, sizeof(name)), TRI_OK);
    assert_string_equal(name, "iter_0000011");
    shell("cd %s && test \"$(ls -A | tr '\\n' ' ')\" = "
          "'iter_0000010 iter_0000011 iter_0001000 latest '",
          dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_same_bytes_as_transformers),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_replace_and_links),
        cmocka_unit_test(test_umask_and_copies),
        cmocka_unit_test(test_keep),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
