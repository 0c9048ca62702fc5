/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks as threads: starting and joining them, sleeping and waking, and failure. A failure is a
 * property of the whole run and is set once: either a rank abandoned the run, or ranks did not come
 * in time (blame.c). All ranks then fail with the same text.
 */
#include "comm/staging.h"
#include "comm/threads/threads.h"

#include "base/cancel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define relax() _mm_pause()
#else
#define relax() ((void)0)
#endif

/* About 10 microseconds: as long as a wake-up costs. Not at all when ranks outnumber the cores. */
#define NUM_SPINS 300

struct threads_sleeper *tri_threads_sleeper(const tri_world *world)
{
    return &((const struct threads_world *)world)->shared->sleepers[world->rank];
}

void tri_threads_notify(struct threads_shared *shared, int rank)
{
    struct threads_sleeper *sleeper = &shared->sleepers[rank];
    atomic_fetch_add(&sleeper->events, 1);
    if (!atomic_load(&sleeper->is_sleeping))
        return;
    pthread_mutex_lock(&sleeper->lock);
    pthread_cond_signal(&sleeper->wake);
    pthread_mutex_unlock(&sleeper->lock);
}

static struct timespec timespec_in(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    seconds = fmin(fmax(seconds, 0.0), 1e8) + (double)now.tv_nsec * 1e-9;
    double whole = floor(seconds);
    return (struct timespec){.tv_sec = now.tv_sec + (time_t)whole,
                             .tv_nsec = (long)((seconds - whole) * 1e9)};
}

bool tri_threads_sleep(struct threads_shared *shared, struct threads_sleeper *sleeper,
                       struct threads_op *op, unsigned seen, double deadline)
{
    for (int i = 0; i < shared->num_spins; i++) {
        if (atomic_load_explicit(&sleeper->events, memory_order_acquire) != seen)
            return true;
        relax();
    }
    struct timespec until = timespec_in(deadline - tri_clock_seconds());
    int rc = 0;
    pthread_mutex_lock(&sleeper->lock);
    sleeper->waits_for = op;
    atomic_store(&sleeper->is_sleeping, true);
    while (atomic_load(&sleeper->events) == seen && rc == 0)
        rc = pthread_cond_timedwait(&sleeper->wake, &sleeper->lock, &until);
    atomic_store(&sleeper->is_sleeping, false);
    pthread_mutex_unlock(&sleeper->lock);
    return atomic_load(&sleeper->events) != seen;
}

void tri_threads_wait_over(struct threads_sleeper *sleeper)
{
    pthread_mutex_lock(&sleeper->lock);
    sleeper->waits_for = NULL;
    pthread_mutex_unlock(&sleeper->lock);
}

tri_status tri_threads_failure(tri_world *world)
{
    struct threads_shared *shared = ((struct threads_world *)world)->shared;
    switch ((enum threads_failure)atomic_load(&shared->failure)) {
    case THREADS_NO_FAILURE:
        break;
    case THREADS_ABANDONED:
        return tri_error_set(world->err, TRI_PEER, "rank %d failed first: %s", shared->failed_rank,
                             shared->failure_text);
    case THREADS_LOST:
        return tri_error_set(world->err, TRI_COMM, "%s", shared->failure_text);
    }
    return TRI_OK;
}

void tri_threads_fail(struct threads_shared *shared, enum threads_failure failure, int rank,
                      const char *text)
{
    if (atomic_load(&shared->failure) != THREADS_NO_FAILURE)
        return;
    shared->failed_rank = rank;
    snprintf(shared->failure_text, sizeof shared->failure_text, "%s", text);
    atomic_store(&shared->failure, failure);
    for (int i = 0; i < shared->size; i++)
        tri_threads_notify(shared, i);
}

static void threads_abandon(tri_world *world, const char *why)
{
    struct threads_shared *shared = ((struct threads_world *)world)->shared;
    pthread_mutex_lock(&shared->lock);
    tri_threads_fail(shared, THREADS_ABANDONED, world->rank, why);
    pthread_mutex_unlock(&shared->lock);
}

static bool threads_is_failed(tri_world *world)
{
    return atomic_load(&((struct threads_world *)world)->shared->failure) != THREADS_NO_FAILURE;
}

/* The world belongs to tri_threads_run(). */
static void threads_world_destroy(tri_world *world)
{
    (void)world;
}

struct rank_thread {
    struct threads_world world;
    pthread_t thread;
    tri_rank_fn *body;
    void *arg;
    tri_status status;
};

static void *rank_main(void *arg)
{
    struct rank_thread *rank = arg;
    tri_world *world = &rank->world.base;
    rank->status = rank->body(rank->arg, world);
    if (rank->status != TRI_OK) {
        const char *why = tri_error_message(world->err, 0);
        threads_abandon(world, why[0] ? why : tri_status_text(rank->status));
    }
    return NULL;
}

static void shared_fini(struct threads_shared *shared)
{
    while (shared->groups) {
        struct threads_shared_group *group = shared->groups;
        shared->groups = group->next;
        tri_threads_shared_group_free(group);
    }
    for (int i = 0; i < shared->size; i++) {
        pthread_cond_destroy(&shared->sleepers[i].wake);
        pthread_mutex_destroy(&shared->sleepers[i].lock);
    }
    pthread_mutex_destroy(&shared->lock);
    free(shared->sleepers);
}

static tri_status shared_init(struct threads_shared *shared, int size, double time_limit_seconds)
{
    *shared = (struct threads_shared){
        .size = size,
        .num_spins = size <= sysconf(_SC_NPROCESSORS_ONLN) ? NUM_SPINS : 0,
        .time_limit_seconds = time_limit_seconds,
    };
    shared->sleepers =
        aligned_alloc(_Alignof(struct threads_sleeper), (size_t)size * sizeof *shared->sleepers);
    if (!shared->sleepers)
        return TRI_NOMEM;
    memset(shared->sleepers, 0, (size_t)size * sizeof *shared->sleepers);
    pthread_mutex_init(&shared->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    for (int i = 0; i < size; i++) {
        pthread_mutex_init(&shared->sleepers[i].lock, NULL);
        pthread_cond_init(&shared->sleepers[i].wake, &attr);
    }
    pthread_condattr_destroy(&attr);
    return TRI_OK;
}

/* The first status in rank order that is a cause, else the first that is not TRI_OK. */
static tri_status first_status(const struct rank_thread *ranks, int num_ranks)
{
    tri_status first = TRI_OK;
    for (int i = 0; i < num_ranks; i++) {
        if (ranks[i].status != TRI_OK && ranks[i].status != TRI_PEER)
            return ranks[i].status;
        if (first == TRI_OK)
            first = ranks[i].status;
    }
    return first;
}

static void rank_init(struct rank_thread *rank, int number, struct threads_shared *shared,
                      tri_reduce_fn *reduce, tri_error *err)
{
    rank->world.shared = shared;
    rank->world.base = (tri_world){
        .ops = &tri_threads_ops,
        .rank = number,
        .size = shared->size,
        .time_limit_seconds = shared->time_limit_seconds,
        .reduce = reduce,
        .err = err,
        .destroy = threads_world_destroy,
        .abandon = threads_abandon,
        .staging_bytes = tri_staging_none,
        .is_failed = threads_is_failed,
    };
}

tri_status tri_threads_run(int num_ranks, double time_limit_seconds, tri_reduce_fn *reduce,
                           tri_rank_fn *body, void *arg, tri_error **errs)
{
    TRI_CHECK(num_ranks >= 1, NULL, TRI_INVALID, "%d ranks cannot run; give 1 or more", num_ranks);
    struct threads_shared shared;
    struct rank_thread *ranks = calloc((size_t)num_ranks, sizeof *ranks);
    if (!ranks || shared_init(&shared, num_ranks, time_limit_seconds) != TRI_OK) {
        free(ranks);
        return tri_error_set(errs[0], TRI_NOMEM, "out of memory for %d ranks", num_ranks);
    }
    int num_started = 0;
    for (; num_started < num_ranks; num_started++) {
        struct rank_thread *rank = &ranks[num_started];
        rank_init(rank, num_started, &shared, reduce, errs[num_started]);
        rank->body = body;
        rank->arg = arg;
        int rc = pthread_create(&rank->thread, NULL, rank_main, rank);
        if (rc != 0) {
            rank->status = tri_error_set(rank->world.base.err, TRI_NOMEM,
                                         "cannot start the thread of rank %d: %s; use fewer ranks",
                                         num_started, strerror(rc));
            threads_abandon(&rank->world.base, tri_error_message(rank->world.base.err, 0));
            break;
        }
    }
    for (int i = 0; i < num_started; i++)
        pthread_join(ranks[i].thread, NULL);
    tri_status status = first_status(ranks, num_ranks);
    shared_fini(&shared);
    free(ranks);
    return status;
}
