/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups over MPI: each has a communicator of its own. MPI_Comm_create_group() waits for all
 * members without a time limit, so they pass a barrier of ours first, which names who does not
 * come.
 */
#include "comm/mpi/engine.h"

#include <stdlib.h>

/* Groups whose members meet at the same time are told apart by their tag. */
#define NUM_ARRIVAL_TAGS 499

static unsigned group_hash(const char *name, const int *ranks, int size)
{
    unsigned hash = 2166136261u;
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    for (int i = 0; i < size; i++)
        hash = (hash ^ (unsigned)ranks[i]) * 16777619u;
    return hash;
}

/* Waits on the world's communicator until all members are here. */
static tri_status group_arrive(struct mpi_group *group, int tag)
{
    struct mpi_world *world = (struct mpi_world *)group->base.world;
    group->comm = world->arrivals;
    group->is_arriving = true;
    group->first_tag = tag * TRI_MPI_NUM_PHASES;
    /* The number of the collective is part of the tag; it stays 0 here. */
    group->num_collectives = UINT64_MAX;
    tri_request *request = NULL;
    TRI_TRY(tri_mpi_barrier_begin(&group->base, &request));
    TRI_TRY(tri_mpi_end(&group->base, &request));
    group->comm = MPI_COMM_NULL;
    group->is_arriving = false;
    group->first_tag = TRI_NUM_CHANNELS;
    group->num_collectives = 0;
    return TRI_OK;
}

static tri_status group_connect(struct mpi_group *group, int tag)
{
    struct mpi_world *world = (struct mpi_world *)group->base.world;
    MPI_Group all, members;
    TRI_TRY(tri_mpi_check(MPI_Comm_group(world->arrivals, &all), &group->base, "MPI_Comm_group"));
    tri_status status =
        tri_mpi_check(MPI_Group_incl(all, group->base.size, group->base.ranks, &members),
                      &group->base, "MPI_Group_incl");
    if (status == TRI_OK) {
        status = tri_mpi_check(MPI_Comm_create_group(world->arrivals, members, tag, &group->comm),
                               &group->base, "MPI_Comm_create_group");
        MPI_Group_free(&members);
    }
    MPI_Group_free(&all);
    TRI_TRY(status);
    return tri_mpi_check(MPI_Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN), &group->base,
                         "MPI_Comm_set_errhandler");
}

tri_status tri_mpi_group_create(tri_world *world, const char *name, const int *ranks, int size,
                                tri_error *err, tri_group **group)
{
    if (size == 1)
        return tri_self_group_create(world, name, ranks, size, err, group);
    struct mpi_group *created = calloc(1, sizeof *created);
    TRI_CHECK(created, err, TRI_NOMEM, "out of memory for group '%s'", name);
    created->comm = MPI_COMM_NULL;
    created->id = group_hash(name, ranks, size);
    created->num_messages =
        calloc((size_t)size * 2 * TRI_NUM_CHANNELS, sizeof *created->num_messages);
    if (!created->num_messages) {
        free(created);
        return tri_error_set(err, TRI_NOMEM, "out of memory for group '%s'", name);
    }
    tri_mpi_history_forget((struct mpi_world *)world, created->id);
    tri_status status = tri_group_init(&created->base, &tri_mpi_ops, world, name, ranks, size, err);
    if (status != TRI_OK) {
        free(created->num_messages);
        free(created);
        return status;
    }
    int tag = (int)(created->id % NUM_ARRIVAL_TAGS);
    status = group_arrive(created, tag);
    if (status == TRI_OK)
        status = group_connect(created, tag);
    if (status != TRI_OK) {
        tri_mpi_group_destroy(&created->base);
        return status;
    }
    *group = &created->base;
    return TRI_OK;
}

/* In a failed world nothing collective is called any more; the communicator ends with the
   process. */
void tri_mpi_group_destroy(tri_group *base)
{
    struct mpi_group *group = (struct mpi_group *)base;
    struct mpi_world *world = (struct mpi_world *)base->world;
    if (group->comm != MPI_COMM_NULL && group->comm != world->arrivals &&
        world->failure == MPI_NO_FAILURE)
        MPI_Comm_free(&group->comm);
    free(group->num_messages);
    tri_group_fini(base);
    free(group);
}

void tri_mpi_lend_staging(tri_group *base, void *memory, size_t bytes)
{
    struct mpi_group *group = (struct mpi_group *)base;
    group->lent = bytes > 0 ? memory : NULL;
    group->lent_bytes = bytes;
}
