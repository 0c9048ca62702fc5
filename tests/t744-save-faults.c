/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saves that cannot be finished: unwritable folders, a full disk, a limit on file sizes, one rank that fails, a
 * process killed at any moment. The error names file and cause, nothing half-written is visible, and what
 * was there before still loads.
 */
#include "t74-save.h"

#include "checkpoint/io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct test_model llama;
static tri_error *err;

static int setup_all(void **state)
{
    (void)state;
    err = tri_error_create();
    model_open(&llama, "golden/hf/llama/model");
    return 0;
}

static int teardown_all(void **state)
{
    model_close(&llama);
    tri_error_destroy(&err);
    return scratch_remove(state);
}

static char folder[160];

/* A folder with a complete checkpoint of iteration 5. */
static struct job with_checkpoint(const char *name)
{
    snprintf(folder, sizeof(folder), "%s/%s", scratch_dir(), name);
    struct job save = {.m = &llama, .grid = {1, 2, 1}, .dir = folder, .iteration = 5, .salt = 5};
    run_good(&save, save_body, err);
    save.iteration = 6;
    save.salt = 6;
    return save;
}

/* Only the old checkpoint is there, and whole. */
static void check_unchanged(void)
{
    shell("cd %s && test \"$(ls -A | tr '\\n' ' ')\" = 'iter_0000005 latest '", folder);
    char dir[192];
    snprintf(dir, sizeof(dir), "%s/iter_0000005", folder);
    struct job load = {.m = &llama, .grid = {1, 1, 1}, .dir = dir, .salt = 5};
    run_good(&load, load_body, err);
}

struct child_result {
    tri_status status;
    char text[1000];
};

/* Runs job in a child after before(); the first rank's messages come back. */
static struct child_result child_save(const struct job *job, void (*before)(void))
{
    struct child_result *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = fork();
    if (pid == 0) {
        before();
        shared->status = run_job(job, save_body, err);
        for (int i = 0; i < tri_error_count(err); i++)
            snprintf(shared->text + strlen(shared->text),
                     sizeof(shared->text) - strlen(shared->text), "%s\n",
                     tri_error_message(err, i));
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status %d", status);
    struct child_result result = *shared;
    munmap(shared, sizeof(*shared));
    return result;
}

#define ASSERT_TEXT(result, part)                                                                  \
    do {                                                                                           \
        if (!strstr((result).text, part))                                                          \
            fail_msg("no \"%s\" in: %s", part, (result).text);                                     \
    } while (0)

static void become_nobody(void)
{
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        _exit(3);
}

static void test_unwritable(void **state)
{
    (void)state;
    struct job save = with_checkpoint("unwritable");
    shell("chmod 711 %s && chmod 555 %s", scratch_dir(), folder);
    struct child_result result = child_save(&save, become_nobody);
    assert_int_equal(result.status, TRI_IO);
    ASSERT_TEXT(result, "cannot make the folder");
    ASSERT_TEXT(result, "permission denied");
    ASSERT_TEXT(result, ".tmp-iter_0000006");
    shell("chmod 755 %s", folder);
    check_unchanged();
    /* the folder's parent */
    char missing[256];
    snprintf(missing, sizeof(missing), "%s/a/b", folder);
    shell("chmod 555 %s", folder);
    save.dir = missing;
    result = child_save(&save, become_nobody);
    assert_int_equal(result.status, TRI_IO);
    ASSERT_TEXT(result, "permission denied");
    shell("chmod 755 %s", folder);
    /* SAVE is a file */
    char file[256];
    snprintf(file, sizeof(file), "%s/latest", folder);
    save.dir = file;
    assert_int_equal(run_job(&save, save_body, err), TRI_IO);
    ASSERT_MESSAGE(err, "latest': file exists");
}

static void limit_files(void)
{
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {.rlim_cur = 60000, .rlim_max = 60000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(3);
}

static void test_file_limit(void **state)
{
    (void)state;
    struct job save = with_checkpoint("limited");
    struct child_result result = child_save(&save, limit_files);
    assert_int_equal(result.status, TRI_IO);
    ASSERT_TEXT(result, "file too large");
    ASSERT_TEXT(result, ".tmp-iter_0000006/model.safetensors");
    check_unchanged();
}

static void test_full_disk(void **state)
{
    (void)state;
    char disk[128];
    snprintf(disk, sizeof(disk), "%s/disk", scratch_dir());
    shell("mkdir %s", disk);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=600k") != 0) {
        print_message("    skipped: a small file system cannot be mounted here\n");
        return;
    }
    snprintf(folder, sizeof(folder), "%s/save", disk);
    struct job save = {.m = &llama, .grid = {1, 2, 1}, .dir = folder, .iteration = 5, .salt = 5};
    tri_status first = run_job(&save, save_body, err);
    save.iteration = 6;
    tri_status second = run_job(&save, save_body, err);
    bool said =
        has_message(err, "no space left on device") && has_message(err, "cannot reserve room");
    if (first == TRI_OK && second == TRI_IO && said)
        check_unchanged();
    umount(disk);
    assert_int_equal(first, TRI_OK);
    assert_int_equal(second, TRI_IO);
    assert_true(said);
}

/* Rank 1's memory cannot be read: its write fails after rank 0 has made the files. */
static tri_status broken_body(void *arg, tri_world *world)
{
    const struct job *job = arg;
    struct test_rank *r = job_rank(job, world->rank);
    void *staging = malloc(tri_checkpoint_staging_bytes());
    void *hole = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (world->rank == 1)
        r->save[r->num / 2].data = hole;
    tri_group *group = NULL;
    tri_status status = job_group(world, &group);
    if (status == TRI_OK)
        status = job_save(job, group, r, staging);
    tri_group_destroy(&group);
    munmap(hole, 1 << 20);
    free(staging);
    rank_free(r);
    free(r);
    /* the others must know that rank 1 failed */
    if (world->rank != 1 && status != TRI_PEER)
        return tri_error_set(world->err, TRI_BUG, "rank %d got status %d", world->rank,
                             (int)status);
    return status;
}

static void test_one_rank_fails(void **state)
{
    (void)state;
    struct job save = with_checkpoint("one-rank");
    save.grid = (struct test_grid){1, 3, 1};
    assert_int_equal(run_job(&save, broken_body, err), TRI_IO);
    ASSERT_MESSAGE(err, "model.safetensors': bad address");
    check_unchanged();
}

/* A piece that no rank writes, then one that two ranks write: a mistake of the caller's, not a silent hole. */
static tri_status uncovered_body(void *arg, tri_world *world)
{
    const struct job *job = arg;
    struct test_rank *r = job_rank(job, world->rank);
    void *staging = malloc(tri_checkpoint_staging_bytes());
    if (job->salt == 0)
        r->save[3].writes = false;
    if (job->salt == 1) {
        r->save[3] = r->load[3];
        r->save[3].writes = true;
    }
    tri_group *group = NULL;
    tri_status status = job_group(world, &group);
    if (status == TRI_OK)
        status = job_save(job, group, r, staging);
    tri_group_destroy(&group);
    free(staging);
    rank_free(r);
    free(r);
    return status;
}

static void test_uncovered(void **state)
{
    (void)state;
    struct job save = with_checkpoint("uncovered");
    save.salt = 0;
    assert_int_equal(run_job(&save, uncovered_body, err), TRI_BUG);
    ASSERT_MESSAGE(err, "ranks wrote 0 elements of 'model.layers.0.");
    check_unchanged();
    save.salt = 1;
    assert_int_equal(run_job(&save, uncovered_body, err), TRI_BUG);
    ASSERT_MESSAGE(err, "elements of 'model.layers.0.");
    check_unchanged();
}

static void nothing(void)
{
}

static void close_stdout(void)
{
    close(0);
    close(1);
}

static void test_closed_stdout(void **state)
{
    (void)state;
    struct job save = with_checkpoint("closed");
    assert_int_equal(child_save(&save, close_stdout).status, TRI_OK);
    pid_t pid = fork();
    if (pid == 0) {
        close_stdout();
        int fd = -1;
        tri_io_open_read("/dev/null", NULL, &fd);
        _exit(fd > 2 ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(child_save(&save, nothing).status, TRI_OK);
}

static void test_killed(void **state)
{
    (void)state;
    struct job save = with_checkpoint("killed");
    char dir[192];
    int newer = 0;
    for (int n = 0; n < 25; n++) {
        pid_t pid = fork();
        if (pid == 0) {
            run_job(&save, save_body, err);
            _exit(0);
        }
        usleep((useconds_t)(n * 8000));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        tri_arena *arena = tri_arena_create();
        const char *found = NULL;
        tri_error_clear(err);
        tri_status status = tri_checkpoint_find_latest(folder, arena, err, &found);
        print_errors(err);
        assert_int_equal(status, TRI_OK);
        assert_non_null(found);
        snprintf(dir, sizeof(dir), "%s", found);
        tri_arena_destroy(&arena);
        bool is_new = strstr(dir, "iter_0000006") != NULL;
        newer += is_new;
        struct job load = {.m = &llama, .grid = {1, 1, 1}, .dir = dir, .salt = is_new ? 6 : 5};
        run_good(&load, load_body, err);
    }
    print_message("    %d of 25 saves were finished before the kill\n", newer);
    run_good(&save, save_body, err);
    shell("cd %s && test \"$(ls -A | tr '\\n' ' ')\" = 'iter_0000005 iter_0000006 latest '",
          folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unwritable), cmocka_unit_test(test_file_limit),
        cmocka_unit_test(test_full_disk),  cmocka_unit_test(test_one_rank_fails),
        cmocka_unit_test(test_uncovered),  cmocka_unit_test(test_closed_stdout),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
