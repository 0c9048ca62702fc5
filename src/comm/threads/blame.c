/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is to blame when ranks did not come in time. The rank whose time limit passes first follows
 * every missing rank that itself waits to those it waits for, until it finds ranks that wait for
 * nobody, and fails the run in their name. The locks it holds keep alive what it looks at.
 */
#include "comm/threads/threads.h"

#include <stdio.h>
#include <stdlib.h>

/* World ranks that have not begun op, into missing; returns their number. */
static int missing_ranks(struct threads_op *op, int *missing)
{
    struct threads_shared_group *group = op->group;
    int num = 0;
    pthread_mutex_lock(&group->lock);
    bool is_message = op->stream != &group->collectives;
    for (int i = 0; i < op->num_members; i++)
        if (!op->member[i].has_begun)
            missing[num++] = group->ranks[is_message ? op->pair[i] : i];
    pthread_mutex_unlock(&group->lock);
    return num;
}

struct blame {
    int *todo, *found; /* [size] each */
    bool *is_seen;     /* [size] */
    int num_todo, num_found;
    /* An operation that a rank in found did not come to. */
    char group_name[TRI_COMM_TEXT / 4];
    enum tri_comm_op op;
    uint64_t sequence;
};

/* Adds the ranks that op misses to those to look at. */
static void blame_add(struct blame *blame, struct threads_op *op, int *missing)
{
    int num = missing_ranks(op, missing);
    for (int i = 0; i < num; i++) {
        if (!blame->is_seen[missing[i]])
            blame->todo[blame->num_todo++] = missing[i];
        blame->is_seen[missing[i]] = true;
    }
    if (num > 0) {
        snprintf(blame->group_name, sizeof blame->group_name, "%s", op->group->name);
        blame->op = op->call.op;
        blame->sequence = op->sequence;
    }
}

/* Fills found with the ranks at the end of the chains that start at op. Without such ranks (all
   wait in a circle) found is what op misses. */
static void blame_search(struct threads_shared *shared, struct threads_op *op, struct blame *blame,
                         int *missing)
{
    blame_add(blame, op, missing);
    while (blame->num_todo > 0) {
        int rank = blame->todo[--blame->num_todo];
        struct threads_sleeper *sleeper = &shared->sleepers[rank];
        pthread_mutex_lock(&sleeper->lock);
        if (sleeper->waits_for)
            blame_add(blame, sleeper->waits_for, missing);
        else
            blame->found[blame->num_found++] = rank;
        pthread_mutex_unlock(&sleeper->lock);
    }
    if (blame->num_found == 0) {
        blame_add(blame, op, missing);
        blame->num_found = missing_ranks(op, blame->found);
    }
}

void tri_threads_lose(tri_world *world, struct threads_op *op)
{
    struct threads_shared *shared = ((struct threads_world *)world)->shared;
    size_t size = (size_t)shared->size;
    int *ranks = calloc(3 * size, sizeof *ranks);
    bool *is_seen = calloc(size, sizeof *is_seen);
    char text[TRI_COMM_TEXT] = "out of memory while looking for the rank that did not come";
    pthread_mutex_lock(&shared->lock);
    if (ranks && is_seen) {
        struct blame blame = {.todo = ranks, .found = ranks + size, .is_seen = is_seen};
        blame_search(shared, op, &blame, ranks + 2 * size);
        tri_comm_missing_format(blame.group_name, blame.op, blame.sequence, blame.found,
                                blame.num_found, shared->time_limit_seconds, text, sizeof text);
    }
    /* Someone may have come meanwhile. */
    if (!atomic_load(&op->has_all))
        tri_threads_fail(shared, THREADS_LOST, world->rank, text);
    pthread_mutex_unlock(&shared->lock);
    free(ranks);
    free(is_seen);
}
