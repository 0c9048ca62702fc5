/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A team: size - 1 worker threads and the caller. A job is opened under the lock; workers join it
 * by counting themselves into 'state', take task numbers from one counter and leave. The caller
 * takes tasks too, then closes the job and waits only for workers that joined, so a worker that is
 * slow to wake never holds a job up. A waiting thread spins for a few microseconds, then sleeps.
 *
 *   state = 2 * (number of workers inside the job) + (1 while the job is open)
 */
#include "base/team.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define TEAM_SPINS     400
#define TEAM_OPEN      1u
#define TEAM_ONE       2u
#define TEAM_CACHELINE 64

struct team_worker {
    tri_team *team;
    int member;
    pthread_t thread;
};

struct tri_team {
    int size;
    struct team_worker *workers; /* size - 1 */
    int num_started;
    tri_task_fn *fn;
    void *arg;
    int64_t num_tasks;
    pthread_mutex_t lock;
    pthread_cond_t opened, left;
    atomic_bool stop;
    alignas(TEAM_CACHELINE) atomic_uint generation; /* number of jobs so far */
    alignas(TEAM_CACHELINE) atomic_uint state;
    alignas(TEAM_CACHELINE) _Atomic int64_t next_task;
};

static void spin_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void team_take_tasks(tri_team *team, int member)
{
    int64_t num_tasks = team->num_tasks;
    for (;;) {
        int64_t task = atomic_fetch_add_explicit(&team->next_task, 1, memory_order_relaxed);
        if (task >= num_tasks)
            return;
        team->fn(team->arg, task, member);
    }
}

static void team_join(tri_team *team, int member)
{
    unsigned state = atomic_load(&team->state);
    do {
        if (!(state & TEAM_OPEN))
            return;
    } while (!atomic_compare_exchange_weak(&team->state, &state, state + TEAM_ONE));
    team_take_tasks(team, member);
    if (atomic_fetch_sub(&team->state, TEAM_ONE) == TEAM_ONE) {
        pthread_mutex_lock(&team->lock); /* the caller may be about to sleep */
        pthread_cond_signal(&team->left);
        pthread_mutex_unlock(&team->lock);
    }
}

/* Returns the number of a job newer than 'seen', or 'seen' itself when the team ends. */
static unsigned team_wait_opened(tri_team *team, unsigned seen)
{
    for (int i = 0; i < TEAM_SPINS; i++) {
        if (atomic_load(&team->generation) != seen)
            return atomic_load(&team->generation);
        spin_pause();
    }
    pthread_mutex_lock(&team->lock);
    while (atomic_load(&team->generation) == seen && !atomic_load(&team->stop))
        pthread_cond_wait(&team->opened, &team->lock);
    pthread_mutex_unlock(&team->lock);
    return atomic_load(&team->generation);
}

static void *team_worker_main(void *arg)
{
    struct team_worker *worker = arg;
    tri_team *team = worker->team;
    unsigned seen = 0;
    while (!atomic_load(&team->stop)) {
        seen = team_wait_opened(team, seen);
        team_join(team, worker->member);
    }
    return NULL;
}

tri_status tri_team_create(int size, tri_error *err, tri_team **team)
{
    TRI_CHECK(size >= 1, err, TRI_INVALID, "team size %d is below 1; use 1 or more threads", size);
    tri_status status = TRI_OK;
    size_t bytes = (sizeof(tri_team) + TEAM_CACHELINE - 1) / TEAM_CACHELINE * TEAM_CACHELINE;
    tri_team *made = aligned_alloc(TEAM_CACHELINE, bytes);
    TRI_CHECK(made, err, TRI_NOMEM, "out of memory for a team of %d threads", size);
    memset(made, 0, bytes);
    made->size = size;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->opened, NULL);
    pthread_cond_init(&made->left, NULL);
    made->workers = calloc((size_t)size, sizeof(*made->workers));
    if (!made->workers) {
        status = tri_error_set(err, TRI_NOMEM, "out of memory for a team of %d threads", size);
        goto fail;
    }
    for (int i = 0; i < size - 1; i++) {
        struct team_worker *worker = &made->workers[i];
        *worker = (struct team_worker){.team = made, .member = i + 1};
        int code = pthread_create(&worker->thread, NULL, team_worker_main, worker);
        if (code != 0) {
            status = tri_error_set(err, TRI_NOMEM, "cannot start thread %d of a team of %d: %s",
                                   i + 1, size, strerror(code));
            goto fail;
        }
        made->num_started++;
    }
    *team = made;
    return TRI_OK;
fail:
    tri_team_destroy(&made);
    return status;
}

void tri_team_destroy(tri_team **team)
{
    tri_team *old = *team;
    if (!old)
        return;
    pthread_mutex_lock(&old->lock);
    atomic_store(&old->stop, true);
    atomic_fetch_add(&old->generation, 1);
    pthread_cond_broadcast(&old->opened);
    pthread_mutex_unlock(&old->lock);
    for (int i = 0; i < old->num_started; i++)
        pthread_join(old->workers[i].thread, NULL);
    pthread_cond_destroy(&old->left);
    pthread_cond_destroy(&old->opened);
    pthread_mutex_destroy(&old->lock);
    free(old->workers);
    free(old);
    *team = NULL;
}

int tri_team_size(const tri_team *team)
{
    return team ? team->size : 1;
}

static void team_wait_left(tri_team *team)
{
    for (int i = 0; i < TEAM_SPINS; i++) {
        if (atomic_load(&team->state) == 0)
            return;
        spin_pause();
    }
    pthread_mutex_lock(&team->lock);
    while (atomic_load(&team->state) != 0)
        pthread_cond_wait(&team->left, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

void tri_team_run(tri_team *team, tri_task_fn *fn, void *arg, int64_t num_tasks)
{
    if (!team || team->size == 1 || num_tasks <= 1) {
        for (int64_t task = 0; task < num_tasks; task++)
            fn(arg, task, 0);
        return;
    }
    team->fn = fn;
    team->arg = arg;
    team->num_tasks = num_tasks;
    atomic_store(&team->next_task, 0);
    atomic_store(&team->state, TEAM_OPEN);
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->generation, 1);
    pthread_cond_broadcast(&team->opened);
    pthread_mutex_unlock(&team->lock);
    team_take_tasks(team, 0);
    atomic_fetch_and(&team->state, ~TEAM_OPEN);
    team_wait_left(team);
}
