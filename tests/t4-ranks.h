/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of comm/ share: a body is run by every rank of a world of the backend named on the
 * command line (self: one rank, threads: ranks_of_threads, mpi: as many as mpirun started), and the
 * main thread asserts on what the ranks say, since cmocka's own assertions belong to it. Inputs are
 * pure functions of (rank, salt, element), so that every rank can make everybody's.
 */
#pragma once

#include "base/check.h"
#include "comm/comm.h"
#include "kernels/reduce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_RANKS 16

enum backend { BACKEND_SELF, BACKEND_THREADS, BACKEND_MPI };

struct ranks {
    enum backend backend;
    int num;          /* threads: how many to start; else the size of the world */
    tri_world *world; /* self and mpi: one for the whole program */
    tri_error *errs[MAX_RANKS];
    tri_status status[MAX_RANKS];
};

/* What a body says when a value is not what it should be. */
#define EXPECT(cond)                                                                               \
    TRI_CHECK(cond, world->err, TRI_BUG, "rank %d, line %d: %s is false", world->rank, __LINE__,   \
              #cond)

struct ranks_body {
    struct ranks *ranks;
    tri_rank_fn *body;
    void *arg;
};

static inline tri_status ranks_one(void *arg, tri_world *world)
{
    struct ranks_body *call = arg;
    tri_status status = call->body(call->arg, world);
    call->ranks->status[world->rank] = status;
    /* threads does this by itself, a program does it for its own process. */
    if (status != TRI_OK)
        world->abandon(world, tri_error_message(world->err, 0));
    return status;
}

/* Runs body on every rank; statuses and messages stay in ranks. */
static inline tri_status ranks_run(struct ranks *ranks, double seconds, tri_rank_fn *body,
                                   void *arg)
{
    struct ranks_body call = {.ranks = ranks, .body = body, .arg = arg};
    for (int i = 0; i < MAX_RANKS; i++)
        tri_error_clear(ranks->errs[i]);
    if (ranks->backend == BACKEND_THREADS)
        return tri_threads_run(ranks->num, seconds, tri_reduce_in_order, ranks_one, &call,
                               ranks->errs);
    tri_status status = ranks_one(&call, ranks->world);
    /* The messages stand where threads has them. */
    if (ranks->world->rank > 0)
        tri_error_append(ranks->errs[ranks->world->rank], ranks->errs[0]);
    return status;
}

static inline void ranks_pass(struct ranks *ranks, tri_rank_fn *body, void *arg)
{
    tri_status status = ranks_run(ranks, 600.0, body, arg);
    for (int i = 0; i < MAX_RANKS; i++)
        for (int k = 0; k < tri_error_count(ranks->errs[i]); k++)
            print_message("rank %d: %s\n", i, tri_error_message(ranks->errs[i], k));
    assert_int_equal(status, TRI_OK);
}

static inline tri_status ranks_open(struct ranks *ranks, const char *backend, int num_threads,
                                    double seconds)
{
    *ranks = (struct ranks){.num = 1};
    for (int i = 0; i < MAX_RANKS; i++)
        ranks->errs[i] = tri_error_create();
    if (!strcmp(backend, "threads")) {
        ranks->backend = BACKEND_THREADS;
        ranks->num = num_threads;
        return TRI_OK;
    }
    if (!strcmp(backend, "self"))
        return tri_world_create_self(tri_reduce_in_order, ranks->errs[0], &ranks->world);
    ranks->backend = BACKEND_MPI;
    TRI_TRY(tri_world_create_mpi(seconds, tri_reduce_in_order, ranks->errs[0], &ranks->world));
    ranks->num = ranks->world->size;
    return TRI_OK;
}

static inline void ranks_close(struct ranks *ranks)
{
    tri_world_destroy(&ranks->world);
    for (int i = 0; i < MAX_RANKS; i++)
        tri_error_destroy(&ranks->errs[i]);
}

static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Numbers of mixed sign and size, so that the order of a sum shows. */
static inline void fill(void *buffer, enum tri_dtype dtype, int64_t count, int rank, int salt)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = mix(mix((uint64_t)rank * 1000003u + (uint64_t)salt) + (uint64_t)i);
        double value = ((double)(bits >> 11) * 0x1p-52 - 1.0) * (double)(1u << (bits & 7u));
        float narrow = (float)value;
        uint32_t word;
        memcpy(&word, &narrow, sizeof word);
        if (dtype == TRI_DTYPE_F32)
            ((float *)buffer)[i] = narrow;
        else if (dtype == TRI_DTYPE_F64)
            ((double *)buffer)[i] = value;
        else if (dtype == TRI_DTYPE_BF16)
            ((uint16_t *)buffer)[i] = (uint16_t)(word >> 16);
        else if (dtype == TRI_DTYPE_F16)
            ((uint16_t *)buffer)[i] =
                (uint16_t)((bits & 0x83ffu) | (10u + (bits >> 40 & 7u)) << 10);
        else if (dtype == TRI_DTYPE_I64)
            ((int64_t *)buffer)[i] = (int64_t)bits;
        else
            ((unsigned char *)buffer)[i] = (unsigned char)bits;
    }
}
