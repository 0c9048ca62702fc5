/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of thread ranks. The first member to create a group makes the part that all members share;
 * the others find it by name and ranks. Nobody waits here: a member that never creates the group is
 * missed at the first operation. The last member to destroy it frees the shared part, or
 * tri_threads_run() does at the end.
 */
#include "comm/threads/threads.h"

#include <stdlib.h>
#include <string.h>

void tri_threads_shared_group_free(struct threads_shared_group *group)
{
    if (group->has_made) {
        tri_pool_fini(&group->ops, NULL);
        pthread_mutex_destroy(&group->lock);
    }
    free(group->name);
    free(group->ranks);
    free(group->has_made);
    free(group->messages);
    free(group);
}

static struct threads_shared_group *
shared_group_create(struct threads_shared *shared, const char *name, const int *ranks, int size)
{
    struct threads_shared_group *group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    size_t members = (size_t)size;
    group->shared = shared;
    group->size = size;
    group->name = strdup(name);
    group->ranks = malloc(members * sizeof *group->ranks);
    group->messages = calloc(members * members * TRI_NUM_CHANNELS, sizeof *group->messages);
    if (group->name && group->ranks && group->messages)
        group->has_made = calloc(members, sizeof *group->has_made);
    if (!group->has_made) {
        tri_threads_shared_group_free(group);
        return NULL;
    }
    memcpy(group->ranks, ranks, members * sizeof *group->ranks);
    pthread_mutex_init(&group->lock, NULL);
    tri_pool_init(&group->ops, sizeof(struct threads_op) + members * sizeof(struct threads_member));
    group->next = shared->groups;
    shared->groups = group;
    return group;
}

/* The shared part that this member has not entered yet; lock is held. */
static struct threads_shared_group *shared_group_find(struct threads_shared *shared,
                                                      const tri_group *base)
{
    struct threads_shared_group *found = NULL;
    for (struct threads_shared_group *at = shared->groups; at; at = at->next)
        if (at->size == base->size && !at->has_made[base->rank] && !strcmp(at->name, base->name) &&
            !memcmp(at->ranks, base->ranks, (size_t)base->size * sizeof *base->ranks))
            found = at; /* the oldest: groups of one name are made in the same order by all */
    return found;
}

tri_status tri_threads_group_create(tri_world *world, const char *name, const int *ranks, int size,
                                    tri_error *err, tri_group **group)
{
    if (size == 1)
        return tri_self_group_create(world, name, ranks, size, err, group);
    TRI_TRY(tri_threads_failure(world));
    struct threads_shared *shared = ((struct threads_world *)world)->shared;
    struct threads_group *created = calloc(1, sizeof *created);
    TRI_CHECK(created, err, TRI_NOMEM, "out of memory for group '%s'", name);
    tri_status status =
        tri_group_init(&created->base, &tri_threads_ops, world, name, ranks, size, err);
    if (status != TRI_OK) {
        free(created);
        return status;
    }
    tri_pool_init(&created->requests, sizeof(struct threads_request));
    created->num_messages =
        calloc((size_t)size * 2 * TRI_NUM_CHANNELS, sizeof *created->num_messages);
    if (created->num_messages) {
        pthread_mutex_lock(&shared->lock);
        created->shared = shared_group_find(shared, &created->base);
        if (!created->shared)
            created->shared = shared_group_create(shared, name, ranks, size);
        if (created->shared)
            created->shared->has_made[created->base.rank] = true;
        pthread_mutex_unlock(&shared->lock);
    }
    if (!created->shared) {
        tri_threads_group_destroy(&created->base);
        return tri_error_set(err, TRI_NOMEM, "out of memory for group '%s' of %d ranks", name,
                             size);
    }
    *group = &created->base;
    return TRI_OK;
}

static void release_request(void *object)
{
    struct threads_request *request = object;
    free(request->inputs);
    free(request->counts);
}

void tri_threads_group_destroy(tri_group *base)
{
    struct threads_group *group = (struct threads_group *)base;
    struct threads_shared *shared = ((struct threads_world *)base->world)->shared;
    if (group->shared) {
        pthread_mutex_lock(&shared->lock);
        if (++group->shared->num_destroyed == base->size) {
            struct threads_shared_group **at = &shared->groups;
            while (*at != group->shared)
                at = &(*at)->next;
            *at = group->shared->next;
            tri_threads_shared_group_free(group->shared);
        }
        pthread_mutex_unlock(&shared->lock);
    }
    tri_pool_fini(&group->requests, release_request);
    free(group->num_messages);
    tri_group_fini(base);
    free(group);
}
