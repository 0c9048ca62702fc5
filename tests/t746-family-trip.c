/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face directories there and back, as 'trine train --load' reads and --save writes them: of every golden case
 * every tensor has its bytes and config.json every key, on one rank and cut over tp and pp, where all files are the
 * same. 16-bit files come back as fp32 of the same values, and config.json says so.
 */
#include "shape/check.h"
#include "train/resume.h"
#include "trine/launch.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#define MAX_RANKS   8
#define MAX_TENSORS 128
#define MAX_FILES   64
#define GOLDEN      "golden/hf"

/* ---- folders ---- */

static char base[64]; /* of everything this test writes */

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *format, ...)
{
    char command[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    if (system(command) != 0)
        fail_msg("command failed: %s", command);
}

static char *slurp(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *data = calloc(1, *bytes + 1);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

static json_t *read_json(const char *dir, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    json_t *root = json_load_file(path, 0, NULL);
    if (!root)
        fail_msg("'%s' is no JSON", path);
    return root;
}

/* ---- a directory read plainly ---- */

struct tensor {
    char name[128], dtype[8];
    json_t *shape;
    size_t bytes;
    char *data;
};

struct directory {
    int num_files, num_tensors;
    char *files[MAX_FILES];
    struct tensor tensors[MAX_TENSORS];
};

static void read_weights(const char *path, struct directory *dir)
{
    size_t bytes;
    uint64_t length;
    const char *name;
    json_t *entry;
    assert_true(dir->num_files < MAX_FILES);
    char *data = dir->files[dir->num_files++] = slurp(path, &bytes);
    memcpy(&length, data, 8);
    json_t *header = json_loadb(data + 8, length, 0, NULL);
    json_object_foreach(header, name, entry)
    {
        struct tensor *t = &dir->tensors[dir->num_tensors];
        json_t *offsets = json_object_get(entry, "data_offsets");
        size_t begin = (size_t)json_integer_value(json_array_get(offsets, 0));
        if (strcmp(name, "__metadata__") == 0)
            continue;
        assert_true(++dir->num_tensors <= MAX_TENSORS);
        snprintf(t->name, sizeof t->name, "%s", name);
        snprintf(t->dtype, sizeof t->dtype, "%s",
                 json_string_value(json_object_get(entry, "dtype")));
        t->shape = json_incref(json_object_get(entry, "shape"));
        t->bytes = (size_t)json_integer_value(json_array_get(offsets, 1)) - begin;
        t->data = data + 8 + length + begin;
    }
    json_decref(header);
}

static void directory_open(const char *path, struct directory *dir)
{
    *dir = (struct directory){0};
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char file[512];
        size_t length = strlen(entry->d_name);
        if (length < 12 || strcmp(entry->d_name + length - 12, ".safetensors") != 0)
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        read_weights(file, dir);
    }
    closedir(folder);
}

static void directory_close(struct directory *dir)
{
    for (int i = 0; i < dir->num_tensors; i++)
        json_decref(dir->tensors[i].shape);
    for (int i = 0; i < dir->num_files; i++)
        free(dir->files[i]);
}

static const struct tensor *find(const struct directory *dir, const char *name)
{
    for (int i = 0; i < dir->num_tensors; i++)
        if (strcmp(dir->tensors[i].name, name) == 0)
            return &dir->tensors[i];
    return NULL;
}

/* Names, types, shapes and bytes. */
static bool same_tensors(const char *path_a, const char *path_b)
{
    struct directory a, b;
    directory_open(path_a, &a);
    directory_open(path_b, &b);
    bool same = a.num_tensors == b.num_tensors && a.num_tensors > 0;
    for (int i = 0; i < a.num_tensors && same; i++) {
        const struct tensor *t = &a.tensors[i], *u = find(&b, t->name);
        same = u && strcmp(t->dtype, u->dtype) == 0 && json_equal(t->shape, u->shape) &&
               t->bytes == u->bytes && memcmp(t->data, u->data, t->bytes) == 0;
    }
    directory_close(&a);
    directory_close(&b);
    return same;
}

static bool same_config(const char *path_a, const char *path_b)
{
    json_t *a = read_json(path_a, "config.json"), *b = read_json(path_b, "config.json");
    bool same = json_equal(a, b);
    json_decref(a);
    json_decref(b);
    return same;
}

/* ---- loading and saving as a run does ---- */

struct trip {
    const char *from, *to; /* saved is to/iter_0000000 */
    int tp, pp;
    double file_gb;
    const char *more[2]; /* another flag and its value */
    tri_status status[MAX_RANKS];
};

static tri_status trip_config(const struct trip *trip, tri_error *err,
                              struct tri_run_config *config)
{
    char tp[8], pp[8], size[32];
    snprintf(tp, sizeof tp, "%d", trip->tp);
    snprintf(pp, sizeof pp, "%d", trip->pp);
    snprintf(size, sizeof size, "%g", trip->file_gb > 0 ? trip->file_gb : 5);
    const char *words[] = {"--shape-from",
                           trip->from,
                           "--load",
                           trip->from,
                           "--save",
                           trip->to,
                           "--tensor-model-parallel-size",
                           tp,
                           "--pipeline-model-parallel-size",
                           pp,
                           "--max-shard-size-gb",
                           size,
                           "--seq-length",
                           "8",
                           "--micro-batch-size",
                           "1",
                           "--global-batch-size",
                           "1",
                           "--train-iters",
                           "1",
                           trip->more[0],
                           trip->more[1]};
    int num = (int)(sizeof words / sizeof words[0]) - (trip->more[0] ? 0 : 2);
    return tri_run_config_read(num, (char **)(uintptr_t)words, 0, NULL, config, err);
}

static tri_status trip_body(void *arg, tri_world *world)
{
    const struct trip *trip = arg;
    struct tri_session *session = NULL;
    tri_session_state *state = NULL;
    struct tri_progress progress;
    struct tri_lr_schedule schedule;
    bool found;
    struct tri_run_config *config = malloc(sizeof *config);
    tri_status status = trip_config(trip, world->err, config);
    struct tri_session_request request = {.config = config, .world = world};
    if (status == TRI_OK)
        status = tri_session_create(&request, &session);
    if (status == TRI_OK)
        status = tri_session_state_create(session, NULL, &state);
    if (status == TRI_OK)
        status = tri_session_state_start(state, &progress, &schedule, &found);
    if (status == TRI_OK)
        status = tri_session_state_save(state, &progress);
    tri_session_state_destroy(&state);
    tri_session_destroy(&session);
    free(config);
    return status;
}

/* Loads from and saves to; the directory that was made. */
static const char *trip_run(struct trip *trip)
{
    static char made[4][256];
    static int next;
    struct tri_launch launch = {.ranks = trip->tp * trip->pp, .time_limit_seconds = 600};
    tri_error *errs[MAX_RANKS];
    for (int i = 0; i < MAX_RANKS; i++)
        errs[i] = tri_error_create();
    tri_status status = tri_launch_run(&launch, trip_body, trip, errs);
    for (int i = 0; i < MAX_RANKS; i++) {
        for (int k = 0; k < tri_error_count(errs[i]); k++)
            print_error("%s: %s\n", trip->from, tri_error_message(errs[i], k));
        tri_error_destroy(&errs[i]);
    }
    assert_int_equal(status, TRI_OK);
    next = (next + 1) % 4;
    snprintf(made[next], sizeof made[next], "%s/iter_0000000", trip->to);
    return made[next];
}

static const char *place(const char *name)
{
    static char paths[4][128];
    static int next;
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", base, name);
    shell("rm -rf %s", paths[next]);
    return paths[next];
}

/* ---- every case on every grid ---- */

static void check_trip(const char *from, const char *made)
{
    if (!same_tensors(from, made))
        fail_msg("%s: tensors differ in '%s'", from, made);
    if (!same_config(from, made))
        fail_msg("%s: config.json differs in '%s'", from, made);
}

static void check_case(const char *from)
{
    json_t *config = read_json(from, "config.json");
    const json_t *heads = json_object_get(config, "num_attention_heads");
    heads = heads ? heads : json_object_get(config, "n_head");
    int tp = json_integer_value(heads) % 2 == 0 ? 2 : 3;
    const struct trip grids[] = {
        {.tp = 1, .pp = 1}, {.tp = 1, .pp = 2}, {.tp = tp, .pp = 1}, {.tp = tp, .pp = 2}};
    char first[256] = "";
    for (int i = 0; i < 4; i++) {
        struct trip trip = grids[i];
        char name[32];
        snprintf(name, sizeof name, "grid%d", i);
        trip.from = from;
        trip.to = place(name);
        const char *made = trip_run(&trip);
        check_trip(from, made);
        if (i == 0)
            snprintf(first, sizeof first, "%s", made);
        else
            shell("for f in config.json model.safetensors; do cmp %s/$f %s/$f || exit 1; done",
                  first, made);
    }
    struct trip parts = {.from = from, .to = place("parts"), .tp = 1, .pp = 2, .file_gb = 2e-5};
    const char *made = trip_run(&parts);
    check_trip(from, made);
    json_t *index = read_json(made, "model.safetensors.index.json");
    struct directory dir;
    directory_open(made, &dir);
    assert_true(dir.num_files > 1);
    assert_int_equal(json_object_size(json_object_get(index, "weight_map")), dir.num_tensors);
    directory_close(&dir);
    json_decref(index);
    json_decref(config);
}

static void every_directory_comes_back(void **state)
{
    (void)state;
    const char *seen[64];
    int num = 0;
    DIR *folder = opendir(GOLDEN);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char from[384];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(from, sizeof from, GOLDEN "/%s/model", entry->d_name);
        json_t *config = read_json(from, "config.json");
        const char *type = json_string_value(json_object_get(config, "model_type"));
        seen[num++] = strdup(tri_family_find(type) ? type : "");
        if (tri_family_find(type))
            check_case(from);
        json_decref(config);
    }
    closedir(folder);
    for (int f = 0; tri_family_get(f); f++) {
        bool is_seen = false;
        for (int i = 0; i < num; i++)
            is_seen |= strcmp(seen[i], tri_family_get(f)->name) == 0;
        if (!is_seen)
            fail_msg("family '%s' has no case in " GOLDEN, tri_family_get(f)->name);
    }
    for (int i = 0; i < num; i++)
        free((char *)(uintptr_t)seen[i]);
}

/* ---- what must not pass ---- */

static void faults_are_seen(void **state)
{
    (void)state;
    const char *from = GOLDEN "/qwen3/model";
    struct trip trip = {.from = from, .to = place("fault"), .tp = 1, .pp = 1};
    const char *made = trip_run(&trip);
    assert_true(same_tensors(from, made) && same_config(from, made));
    shell("sed -i 's/\"rope_theta\": 1/\"rope_theta\": 2/' %s/config.json", made);
    assert_false(same_config(from, made));
    shell("printf '\\001' | dd of=%s/model.safetensors bs=1 conv=notrunc status=none "
          "seek=$(($(stat -c %%s %s/model.safetensors) - 3))",
          made, made);
    assert_false(same_tensors(from, made));
}

/* ---- a run's own values, and other files ---- */

/* What the run changes is what changes, in the file's own spelling. */
static void check_changed(const char *from, const char *flag, const char *value, const char *object,
                          const char *key, double wanted)
{
    struct trip trip = {
        .from = from, .to = place("changed"), .tp = 1, .pp = 1, .more = {flag, value}};
    const char *made = trip_run(&trip);
    json_t *was = read_json(from, "config.json"), *is = read_json(made, "config.json");
    json_t *home = object ? json_object_get(was, object) : was;
    assert_true(json_is_number(json_object_get(home, key)));
    json_object_set_new(home, key, json_real(wanted));
    assert_true(json_equal(was, is));
    json_decref(was);
    json_decref(is);
}

static void changes_keep_the_spelling(void **state)
{
    (void)state;
    check_changed(GOLDEN "/qwen3/model", "--rotary-base", "5000", "rope_parameters", "rope_theta",
                  5000);
    check_changed(GOLDEN "/llama3/model", "--rotary-base", "5000", NULL, "rope_theta", 5000);
    check_changed(GOLDEN "/gpt_neox/model", "--rotary-percent", "0.25", "rope_parameters",
                  "partial_rotary_factor", 0.25);
    check_changed(GOLDEN "/granite/model", "--logits-scaling", "3", NULL, "logits_scaling", 3);
}

static void other_files_come_along(void **state)
{
    (void)state;
    const char *from = place("source"), *text = "{\"eos_token_id\": [1, 2], \"top_p\": 0.9}\n";
    char path[256];
    size_t bytes;
    shell("cp -r " GOLDEN "/llama/model %s && chmod -R u+w %s", from, from);
    shell("sed -i 's/^{/{\\n  \"my_own\": [1, {\"b\": null}],/' %s/config.json", from);
    shell("printf '%%s' '%s' >%s/generation_config.json", text, from);
    struct trip trip = {.from = from, .to = place("along"), .tp = 2, .pp = 1};
    const char *made = trip_run(&trip);
    check_trip(from, made);
    snprintf(path, sizeof path, "%s/generation_config.json", made);
    char *back = slurp(path, &bytes);
    assert_string_equal(back, text);
    free(back);
}

/* ---- files of 16 bits ---- */

static float bf16_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static float f16_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    float value = (float)mantissa / 1024 + (exponent > 0);
    value *= exponent > 0 ? (float)(1 << exponent) / 32768 : 1.0F / 16384;
    return bits >> 15 ? -value : value;
}

/* The type by its name in either file, and its meaning. */
struct half {
    const char *dtype, *torch;
    float (*value)(uint16_t bits);
    uint16_t largest; /* finite */
};

/* Writes path/model.safetensors anew: the same names and shapes with invented halves. */
static void write_halves(const char *path, const struct half *half, struct directory *dir)
{
    json_t *header = json_object();
    size_t at = 0;
    char file[256];
    for (int i = 0; i < dir->num_tensors; i++) {
        struct tensor *t = &dir->tensors[i];
        json_object_set_new(header, t->name,
                            json_pack("{ss sO s[II]}", "dtype", half->dtype, "shape", t->shape,
                                      "data_offsets", (json_int_t)at,
                                      (json_int_t)(at + t->bytes / 2)));
        at += t->bytes / 2;
    }
    char *text = json_dumps(header, JSON_COMPACT);
    uint64_t length = strlen(text);
    uint32_t seed = 1;
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    FILE *out = fopen(file, "wb");
    assert_non_null(out);
    fwrite(&length, 8, 1, out);
    fwrite(text, 1, length, out);
    for (int i = 0; i < dir->num_tensors; i++)
        for (size_t e = 0; e < dir->tensors[i].bytes / 4; e++) {
            seed = seed * 1664525 + 1013904223;
            uint16_t bits = (uint16_t)((seed >> 16) % (half->largest + 1U) | (seed & 0x8000));
            float value = half->value(bits);
            memcpy(dir->tensors[i].data + 4 * e, &value, 4); /* what is expected */
            fwrite(&bits, 2, 1, out);
        }
    assert_int_equal(fclose(out), 0);
    free(text);
    json_decref(header);
}

static void check_half(const char *golden, const char *key, const struct half *half)
{
    const char *from = place("half");
    struct directory wanted, got;
    shell("cp -r %s %s && chmod -R u+w %s", golden, from, from);
    shell("sed -i 's/\"%s\": \"float32\"/\"%s\": \"%s\"/' %s/config.json", key, key, half->torch,
          from);
    assert_false(same_config(golden, from));
    directory_open(golden, &wanted);
    write_halves(from, half, &wanted);
    struct trip trip = {.from = from, .to = place("wide"), .tp = 2, .pp = 2};
    const char *made = trip_run(&trip);
    directory_open(made, &got);
    assert_int_equal(got.num_tensors, wanted.num_tensors);
    for (int i = 0; i < got.num_tensors; i++) {
        const struct tensor *t = find(&wanted, got.tensors[i].name);
        assert_string_equal(got.tensors[i].dtype, "F32");
        assert_non_null(t);
        assert_int_equal(t->bytes, got.tensors[i].bytes);
        assert_memory_equal(t->data, got.tensors[i].data, t->bytes);
    }
    assert_true(same_config(golden, made)); /* float32 */
    directory_close(&wanted);
    directory_close(&got);
}

static void halves_become_fp32(void **state)
{
    (void)state;
    const struct half bf16 = {"BF16", "bfloat16", bf16_value, 0x7f7f};
    const struct half f16 = {"F16", "float16", f16_value, 0x7bff};
    check_half(GOLDEN "/qwen3/model", "dtype", &bf16);
    check_half(GOLDEN "/qwen2/model", "torch_dtype", &f16);
    check_half(GOLDEN "/gpt2/model", "dtype", &f16);
}

static int make_base(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/t746-XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
    (void)state;
    shell("rm -rf %s", base);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_directory_comes_back), cmocka_unit_test(faults_are_seen),
        cmocka_unit_test(changes_keep_the_spelling),  cmocka_unit_test(other_files_come_along),
        cmocka_unit_test(halves_become_fp32),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
