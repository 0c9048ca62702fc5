/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stopping and going on: 10 steps are 5 and 5, in every bit of losses and files on one grid, in the band on
 * another; weight files do not depend on the grid; and what is missing or broken is never taken for a fresh
 * start.
 */
#include "harness/train_run.h"
#include "t1-shapes.h"

#include "train/resume.h"
#include "trine/launch.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_RANKS 8

/* ---- folders ---- */

static char base[64]; /* of everything this test writes */

static const char *path_of(const char *name)
{
    static char paths[8][256];
    static int next;
    next = (next + 1) % 8;
    snprintf(paths[next], sizeof paths[next], "%s/%s", base, name);
    return paths[next];
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*bytes + 1);
    assert_int_equal(fread(text, 1, *bytes, file), *bytes);
    text[*bytes] = 0;
    fclose(file);
    return text;
}

/* state.json holds the options, and so the grid; checksums.json holds its sum. */
static bool depends_on_options(const char *path)
{
    return strstr(path, "/state.json") || strstr(path, "/checksums.json");
}

static struct walk {
    const char *from, *to;
    bool other_options;
    int num_files;
} walk;

static int compare_entry(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info;
    (void)ftw;
    char other[512];
    size_t bytes, other_bytes;
    if (kind != FTW_F || (walk.other_options && depends_on_options(path)))
        return 0;
    snprintf(other, sizeof other, "%s%s", walk.to, path + strlen(walk.from));
    char *a = read_file(path, &bytes), *b = read_file(other, &other_bytes);
    if (bytes != other_bytes || memcmp(a, b, bytes) != 0)
        fail_msg("%s and %s differ", path, other);
    free(a);
    free(b);
    walk.num_files++;
    return 0;
}

/* Every file below a is below b with the same bytes; how many there are. */
static int expect_same_files(const char *a, const char *b, bool other_options)
{
    walk = (struct walk){.from = a, .to = b, .other_options = other_options};
    assert_int_equal(nftw(a, compare_entry, 16, FTW_PHYS), 0);
    return walk.num_files;
}

/* ---- a part of a run ---- */

struct part {
    const struct train_way *way;
    const char *load, *save; /* NULL: neither */
    int64_t until;           /* iterations in all */
    int64_t step;            /* of the checkpoint to load; 0: the newest */
    void (*change)(struct tri_run_config *config);
    bool found;                                          /* out: progress was taken up */
    double loss[TRAIN_MAX_STEPS], norm[TRAIN_MAX_STEPS]; /* out, by iteration */
    double lr[TRAIN_MAX_STEPS];
};

static void part_config(const struct part *part, struct tri_run_config *config)
{
    train_way_config(part->way, config);
    struct tri_checkpoint_config *checkpoint = &config->checkpoint;
    snprintf(checkpoint->load, sizeof checkpoint->load, "%s", part->load ? part->load : "");
    snprintf(checkpoint->save, sizeof checkpoint->save, "%s", part->save ? part->save : "");
    checkpoint->max_shard_size_gb = 3e-5; /* several files even of a tiny model */
    if (part->step)
        checkpoint->ckpt_step = part->step;
    if (part->change)
        part->change(config);
}

static tri_status part_steps(struct part *part, struct tri_session *session,
                             tri_session_state *state, struct train_source *source)
{
    struct tri_batch_source batches = train_source_get(source);
    struct tri_lr_schedule schedule;
    struct tri_progress progress;
    bool found;
    TRI_TRY(train_schedule(session, &schedule));
    TRI_TRY(tri_session_state_start(state, &progress, &schedule, &found));
    while (progress.iteration < part->until) {
        struct tri_step_result result;
        TRI_TRY(tri_step_run(session, &batches, &schedule, false, &progress, &result));
        if (session->world->rank != 0)
            continue;
        part->loss[progress.iteration - 1] = result.loss;
        part->norm[progress.iteration - 1] = result.grad_norm;
        part->lr[progress.iteration - 1] = result.lr;
    }
    if (session->world->rank == 0)
        part->found = found;
    return part->save ? tri_session_state_save(state, &progress) : TRI_OK;
}

static tri_status part_body(void *arg, tri_world *world)
{
    struct part *part = arg;
    struct tri_run_config config;
    struct train_source source = {0};
    struct tri_session *session = NULL;
    tri_session_state *state = NULL;
    part_config(part, &config);
    struct tri_session_request request = {.config = &config, .world = world};
    tri_status status = tri_session_create(&request, &session);
    if (status == TRI_OK)
        status = tri_session_state_create(session, NULL, &state);
    if (status == TRI_OK)
        status = train_source_init(&source, session);
    if (status == TRI_OK)
        status = part_steps(part, session, state, &source);
    train_source_fini(&source);
    tri_session_state_destroy(&state);
    tri_session_destroy(&session);
    return status;
}

/* Messages of all ranks go to err. */
static tri_status part_try(struct part *part, tri_error *err)
{
    struct tri_launch launch = {.ranks = train_way_ranks(part->way), .time_limit_seconds = 600};
    tri_error *errs[MAX_RANKS];
    for (int i = 0; i < MAX_RANKS; i++)
        errs[i] = tri_error_create();
    tri_status status = tri_launch_run(&launch, part_body, part, errs);
    for (int i = 0; i < MAX_RANKS; i++) {
        tri_error_append(err, errs[i]);
        tri_error_destroy(&errs[i]);
    }
    return status;
}

static void part_run(struct part *part)
{
    tri_error *err = tri_error_create();
    tri_status status = part_try(part, err);
    for (int k = 0; k < tri_error_count(err); k++)
        print_error("%s\n", tri_error_message(err, k));
    tri_error_destroy(&err);
    assert_int_equal(status, TRI_OK);
}

/* ---- ten are five and five ---- */

static void check_same_grid(const struct train_way *way)
{
    const char *out = path_of("out"), *whole = path_of("whole");
    /* Both runs have the same options, folder included, so that every file must be the same. */
    struct part ten = {.way = way, .load = out, .save = out, .until = 10};
    struct part five = {.way = way, .load = out, .save = out, .until = 5}, ten_again = ten;
    part_run(&ten);
    assert_false(ten.found);
    assert_int_equal(rename(out, whole), 0);
    part_run(&five);
    part_run(&ten_again);
    assert_true(ten_again.found);
    for (int i = 0; i < 10; i++) {
        const struct part *half = i < 5 ? &five : &ten_again;
        if (half->loss[i] != ten.loss[i] || half->norm[i] != ten.norm[i])
            fail_msg("step %d: loss %.17g against %.17g", i + 1, half->loss[i], ten.loss[i]);
    }
    char a[300], b[300];
    snprintf(a, sizeof a, "%s/iter_0000010", whole);
    snprintf(b, sizeof b, "%s/iter_0000010", out);
    int num = expect_same_files(a, b, false);
    assert_int_equal(expect_same_files(b, a, false), num);
    assert_true(num >= 7); /* config, weights in parts, index, state, checksums, two moments */
    remove_tree(out);
    remove_tree(whole);
}

static void ten_steps_are_five_and_five(void **state)
{
    static const struct train_way ways[] = {
        {.model = TRAIN_GPT2, .team = 2},
        {.model = TRAIN_LLAMA, .tp = 2, .dp = 2, .sequence_parallel = true, .sharded = true},
        {.model = TRAIN_GPT2, .pp = 2, .dp = 2, .sharded = true, .bucket_size = 5000},
        {.model = TRAIN_LLAMA, .pp = 2, .vpp = 2, .dp = 2},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        check_same_grid(&ways[i]);
    (void)state;
}

static void a_run_goes_on_on_another_grid(void **state)
{
    for (int model = 0; model < TRAIN_NUM_MODELS; model++) {
        const struct train_way alone = {.model = (enum train_model)model};
        const struct train_way first = {.model = (enum train_model)model, .tp = 2};
        const struct train_way second = {
            .model = (enum train_model)model, .pp = 2, .dp = 2, .sharded = true};
        const char *out = path_of("out");
        struct part ten = {.way = &alone, .until = 10};
        struct part five = {.way = &first, .save = out, .until = 5};
        struct part rest = {.way = &second, .load = out, .until = 10};
        part_run(&ten);
        part_run(&five);
        part_run(&rest);
        assert_true(rest.found);
        for (int i = 0; i < 10; i++) {
            double loss = i < 5 ? five.loss[i] : rest.loss[i];
            double norm = i < 5 ? five.norm[i] : rest.norm[i];
            assert_true(loss / ten.loss[i] - 1 < 1e-6 && loss / ten.loss[i] - 1 > -1e-6);
            assert_true(norm / ten.norm[i] - 1 < 1e-4 && norm / ten.norm[i] - 1 > -1e-4);
        }
        remove_tree(out);
    }
    (void)state;
}

/* ---- files ---- */

static void weight_files_do_not_depend_on_the_grid(void **state)
{
    static const struct train_way ways[] = {
        {.tp = 2},
        {.tp = 4},
        {.pp = 2},
        {.pp = 4},
        {.dp = 2, .sharded = true},
        {.tp = 2, .pp = 2, .dp = 2},
    };
    for (int model = 0; model < TRAIN_NUM_MODELS; model++) {
        const struct train_way alone = {.model = (enum train_model)model};
        const char *out = path_of("out"), *again = path_of("again");
        char a[300], b[300];
        struct part three = {.way = &alone, .save = out, .until = 3};
        part_run(&three);
        snprintf(a, sizeof a, "%s/iter_0000003", out);
        snprintf(b, sizeof b, "%s/iter_0000003", again);
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            struct train_way way = ways[i];
            way.model = (enum train_model)model;
            struct part copy = {.way = &way, .load = out, .save = again, .until = 3};
            part_run(&copy);
            assert_true(copy.found);
            int num = expect_same_files(a, b, true);
            assert_int_equal(expect_same_files(b, a, true), num);
            assert_true(num >= 6);
            remove_tree(again);
        }
        remove_tree(out);
    }
    (void)state;
}

/* ---- what is no fresh start ---- */

static void expect_refused(struct part *part, const char *text)
{
    tri_error *err = tri_error_create();
    tri_status status = part_try(part, err);
    if (status == TRI_OK)
        fail_msg("taken, though it should say: %s", text);
    assert_true(error_says(err, text));
    tri_error_destroy(&err);
}

static void cut(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        fail_msg("no file %s", path);
    assert_int_equal(truncate(path, info.st_size - 100), 0);
}

/* Makes a checkpoint of 2 iterations, breaks it, and tries to go on. */
static void check_broken(const char *name, bool is_cut, const char *text)
{
    const struct train_way way = {.model = TRAIN_LLAMA, .layers = 1, .dp = 2, .sharded = true};
    const char *out = path_of("out");
    char path[400];
    struct part two = {.way = &way, .save = out, .until = 2},
                more = {.way = &way, .load = out, .until = 3};
    part_run(&two);
    snprintf(path, sizeof path, "%s/%s", out, name);
    if (is_cut)
        cut(path);
    else
        remove_tree(path);
    expect_refused(&more, text);
    remove_tree(out);
}

static void a_broken_checkpoint_is_no_fresh_start(void **state)
{
    check_broken("latest", false, "no file 'latest'");
    check_broken("iter_0000002", false, "which is not there");
    check_broken("iter_0000002/config.json", false, "has no config.json");
    check_broken("iter_0000002/trine", false, "is not whole");
    check_broken("iter_0000002/trine/state.json", false, "is not whole");
    check_broken("iter_0000002/model-00001-of-00003.safetensors", false,
                 "model-00001-of-00003.safetensors");
    check_broken("iter_0000002/model-00001-of-00003.safetensors", true,
                 "model-00001-of-00003.safetensors");
    (void)state;
}

static void exit_on_missing(struct tri_run_config *config)
{
    config->checkpoint.exit_on_missing_checkpoint = true;
}

static void a_missing_checkpoint_is_said(void **state)
{
    const struct train_way way = {.model = TRAIN_LLAMA, .layers = 1, .pp = 2};
    const char *out = path_of("out");
    struct part none = {.way = &way, .load = path_of("nothing"), .until = 1};
    expect_refused(&none, "leave out --load to start anew");
    none.save = none.load;
    part_run(&none);
    assert_false(none.found);
    remove_tree(none.load);
    none.change = exit_on_missing;
    expect_refused(&none, "exit_on_missing_checkpoint is set");

    struct part five = {.way = &way, .save = out, .until = 5},
                seven = {.way = &way, .load = out, .until = 8};
    part_run(&five);
    seven.step = 7;
    expect_refused(&seven, "no checkpoint of iteration 7");
    expect_refused(&seven, "iter_0000005");
    remove_tree(out);
    (void)state;
}

/* ---- another learning rate ---- */

static void lower_rate(struct tri_run_config *config)
{
    config->optim.lr = 3e-4;
}

static void lower_rate_override(struct tri_run_config *config)
{
    lower_rate(config);
    config->optim.override_opt_param_scheduler = true;
}

static void another_rate_needs_a_word(void **state)
{
    const struct train_way way = {.model = TRAIN_LLAMA, .layers = 1, .tp = 2};
    const char *out = path_of("out");
    struct part five = {.way = &way, .save = out, .until = 5};
    struct part more = {.way = &way, .load = out, .until = 10, .change = lower_rate};
    part_run(&five);
    expect_refused(&more, "highest rate (lr) 0.003, this run 0.0003");
    more.change = lower_rate_override;
    part_run(&more);
    struct part fresh = {.way = &way, .until = 10, .change = lower_rate};
    part_run(&fresh);
    for (int i = 5; i < 10; i++)
        assert_true(more.lr[i] == fresh.lr[i]);
    remove_tree(out);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_steps_are_five_and_five),
        cmocka_unit_test(a_run_goes_on_on_another_grid),
        cmocka_unit_test(weight_files_do_not_depend_on_the_grid),
        cmocka_unit_test(a_broken_checkpoint_is_no_fresh_start),
        cmocka_unit_test(a_missing_checkpoint_is_said),
        cmocka_unit_test(another_rate_needs_a_word),
    };
    /* Memory where there is such a folder: a save syncs each of its files. */
    snprintf(base, sizeof base, "%s/trine-test-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(base))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_tree(base);
    return failed;
}
