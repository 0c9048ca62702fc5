/* SPDX-License-Identifier: Apache-2.0 */
/* Teams: every task runs once, the caller sees all results, many short jobs, several teams at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TASKS 4001

struct job {
    int runs[MAX_TASKS];
    int64_t values[MAX_TASKS];
    atomic_int bad_members;
    int size;
    int64_t factor;
};

static void job_task(void *arg, int64_t task, int member)
{
    struct job *job = arg;
    job->runs[task]++;
    job->values[task] = task * job->factor;
    if (member < 0 || member >= job->size)
        atomic_fetch_add(&job->bad_members, 1);
}

static void check_job(tri_team *team, struct job *job, int64_t num_tasks, int64_t factor)
{
    memset(job, 0, sizeof(*job));
    job->size = tri_team_size(team);
    job->factor = factor;
    tri_team_run(team, job_task, job, num_tasks);
    assert_int_equal(atomic_load(&job->bad_members), 0);
    for (int64_t i = 0; i < MAX_TASKS; i++) {
        assert_int_equal(job->runs[i], i < num_tasks);
        assert_int_equal(job->values[i], i < num_tasks ? i * factor : 0);
    }
}

static void test_every_task_once(void **state)
{
    (void)state;
    struct job *job = malloc(sizeof(*job));
    static const int64_t counts[] = {0, 1, 2, 3, 17, 1000, MAX_TASKS};
    for (int size = 1; size <= 5; size++) {
        tri_team *team = NULL;
        assert_int_equal(tri_team_create(size, NULL, &team), TRI_OK);
        assert_int_equal(tri_team_size(team), size);
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
            check_job(team, job, counts[i], size + 1);
        tri_team_destroy(&team);
        assert_null(team);
    }
    check_job(NULL, job, 29, 3);
    free(job);
}

struct counter {
    int64_t per_task[8];
};

static void count_task(void *arg, int64_t task, int member)
{
    (void)member;
    ((struct counter *)arg)->per_task[task]++;
}

static void run_many_jobs(int size)
{
    struct counter counter = {{0}};
    tri_team *team = NULL;
    if (tri_team_create(size, NULL, &team) != TRI_OK)
        abort();
    for (int i = 0; i < 3000; i++)
        tri_team_run(team, count_task, &counter, 1 + i % 8);
    tri_team_destroy(&team);
    for (int task = 0; task < 8; task++) {
        if (counter.per_task[task] != 375 * (8 - task))
            abort();
    }
}

static void *rank_main(void *arg)
{
    run_many_jobs(*(const int *)arg);
    return NULL;
}

static void test_many_short_jobs(void **state)
{
    (void)state;
    static const int sizes[] = {3, 2, 4};
    pthread_t ranks[3];
    run_many_jobs(2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&ranks[i], NULL, rank_main, (void *)&sizes[i]), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(ranks[i], NULL);
}

static void test_idle_team_ends(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        tri_team *team = NULL;
        assert_int_equal(tri_team_create(4, NULL, &team), TRI_OK);
        tri_team_destroy(&team);
        tri_team_destroy(&team);
    }
}

static void test_bad_size(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    tri_team *team = NULL;
    assert_int_equal(tri_team_create(0, err, &team), TRI_INVALID);
    assert_null(team);
    assert_string_equal(tri_error_message(err, 0), "team size 0 is below 1; use 1 or more threads");
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_task_once),
        cmocka_unit_test(test_many_short_jobs),
        cmocka_unit_test(test_idle_team_ends),
        cmocka_unit_test(test_bad_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
