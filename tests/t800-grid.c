/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grid matrix: one tiny model, dropout on, 20 steps on the same data on many grids. Initial values are
 * the same bits everywhere. Grids that differ only in pipeline, schedule, team size or optimizer sharding
 * give the same bits; with a table tied over two stages those with more than one stage form a class of their
 * own, since its two gradients are added in another order. All others lie in the band.
 *
 * Run as "t800-grid MODEL", or under mpirun as "t800-grid MODEL mpi TP PP DP".
 */
#include "harness/train_run.h"

#include "kernels/reduce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The first way of a class is held against the first of all, the others against the first of theirs. */
static const struct train_way ways[] = {
    {.team = 1},
    {.team = 2},
    {.team = 3},
    {.pp = 2, .team = 3},
    {.pp = 4},
    {.pp = 2, .vpp = 2, .team = 2},
    {.tp = 2, .team = 2},
    {.tp = 2, .pp = 2, .team = 1},
    {.tp = 2, .pp = 2, .vpp = 2, .team = 3},
    {.tp = 2, .sequence_parallel = true, .team = 1},
    {.tp = 2, .sequence_parallel = true, .pp = 2, .team = 2},
    {.tp = 4, .team = 1},
    {.tp = 4, .sequence_parallel = true, .team = 2},
    {.tp = 8, .team = 1},
    {.tp = 4, .dp = 2, .team = 1},
    {.tp = 4, .dp = 2, .sharded = true, .bucket_size = 4000, .team = 2},
    {.dp = 2, .team = 3},
    {.dp = 2, .sharded = true, .bucket_size = 5000, .team = 1},
    {.dp = 2, .pp = 2, .team = 2},
    {.dp = 2, .pp = 2, .sharded = true, .bucket_size = 3000},
    {.dp = 3, .team = 1},
    {.dp = 3, .sharded = true, .team = 2},
    {.dp = 4, .team = 1},
    {.dp = 4, .sharded = true, .bucket_size = 9000, .team = 3},
    {.tp = 2, .dp = 2, .team = 1},
    {.tp = 2, .dp = 2, .sharded = true, .bucket_size = 4000, .team = 2},
    {.tp = 2, .pp = 2, .dp = 2, .team = 1},
    {.tp = 2, .pp = 2, .dp = 2, .sharded = true, .team = 1},
    {.tp = 2, .pp = 2, .dp = 2, .sharded = true, .sequence_parallel = true, .team = 1},
};
enum { NUM_WAYS = sizeof(ways) / sizeof(ways[0]) };

static enum train_model model;
static struct train_way mpi_way;

static int size_of(int size)
{
    return size > 0 ? size : 1;
}

static bool same_class(const struct train_way *a, const struct train_way *b)
{
    if (model == TRAIN_GPT2 && (size_of(a->pp) > 1) != (size_of(b->pp) > 1))
        return false;
    return size_of(a->tp) == size_of(b->tp) && size_of(a->dp) == size_of(b->dp) &&
           a->sequence_parallel == b->sequence_parallel;
}

static int first_of_class(int i)
{
    int first = 0;
    while (!same_class(&ways[first], &ways[i]))
        first++;
    return first;
}

static void check(const struct train_way *way, const struct train_result *result,
                  const struct train_result *base, bool bits)
{
    char text[256];
    train_way_format(way, text, sizeof text);
    print_message("%s: loss %.6f to %.6f%s\n", text, result->loss[0],
                  result->loss[result->num_steps - 1], bits ? ", the bits of its class" : "");
    if (!train_same_start(result, base))
        fail_msg("%s: other initial values", text);
    if (result->other_copies != 0)
        fail_msg("%s: %lld elements have copies with other bits", text,
                 (long long)result->other_copies);
    if (bits ? !train_same_bits(result, base, true) : !train_in_band(result, base, true))
        fail_msg("%s: %s", text, bits ? "other bits" : "outside the band");
}

static void every_grid_trains_alike(void **state)
{
    static struct train_result results[NUM_WAYS];
    for (int i = 0; i < NUM_WAYS; i++) {
        struct train_way way = ways[i];
        way.model = model;
        train_run(&way, &results[i]);
        int first = first_of_class(i);
        check(&way, &results[i], &results[first == i ? 0 : first], first != i);
    }
    for (int i = 0; i < NUM_WAYS; i++)
        train_result_free(&results[i]);
    (void)state;
}

/* 7 layers on 3 stages: no layer is lost, and nothing else changes. */
static void an_uneven_pipeline_trains_alike(void **state)
{
    struct train_way alone = {.model = model, .layers = 7, .team = 2};
    struct train_way uneven = {.model = model, .layers = 7, .pp = 3, .team = 1};
    struct train_way replicas = {.model = model, .layers = 7, .pp = 3, .dp = 2, .sharded = true};
    struct train_result a, b, c;
    train_run(&alone, &a);
    train_run(&uneven, &b);
    train_run(&replicas, &c);
    check(&uneven, &b, &a, model != TRAIN_GPT2);
    check(&replicas, &c, &a, false);
    train_result_free(&a);
    train_result_free(&b);
    train_result_free(&c);
    (void)state;
}

/* Every parameter is trained: a model that stands still would agree on every grid as well. */
static void every_parameter_moves(void **state)
{
    struct train_way way = {.model = model, .team = 2};
    struct train_result result;
    train_run(&way, &result);
    for (int t = 0; t < result.num_tensors; t++) {
        const struct train_tensor *tensor = &result.tensors[t];
        int64_t moved = 0;
        for (int64_t i = tensor->first; i < tensor->first + tensor->elements; i++)
            moved += result.initial[i] != result.final[i];
        if (moved < tensor->elements * 9 / 10)
            fail_msg("only %lld of %lld elements of %s have moved", (long long)moved,
                     (long long)tensor->elements, tensor->name);
    }
    train_result_free(&result);
    (void)state;
}

/* ---- under mpirun ---- */

static tri_status mpi_alone(struct train_result *alone, struct train_result *threads)
{
    struct train_way way = {.model = model};
    train_run(&way, alone);
    train_run(&mpi_way, threads);
    return TRI_OK;
}

/* Every rank runs; rank 0 holds the result against one rank, and against threads bit for bit. */
static tri_status mpi_body(tri_world *world, bool *ok)
{
    struct train_result alone = {0}, threads = {0}, own;
    if (world->rank == 0)
        TRI_TRY(mpi_alone(&alone, &threads));
    TRI_TRY(train_run_on(&mpi_way, world, &own));
    *ok = world->rank != 0 ||
          (train_same_start(&own, &alone) && own.other_copies == 0 &&
           train_in_band(&own, &alone, true) && train_same_bits(&own, &threads, true));
    train_result_free(&own);
    train_result_free(&alone);
    train_result_free(&threads);
    return TRI_OK;
}

static void a_grid_under_mpi_trains_alike(void **state)
{
    tri_error *err = tri_error_create();
    tri_world *world = NULL;
    bool ok = false;
    tri_status status = tri_world_create_mpi(600, tri_reduce_in_order, err, &world);
    if (status == TRI_OK && world->size == train_way_ranks(&mpi_way)) {
        status = mpi_body(world, &ok);
        if (status != TRI_OK)
            world->abandon(world, tri_error_message(err, 0));
    }
    for (int i = 0; i < tri_error_count(err); i++)
        print_error("%s\n", tri_error_message(err, i));
    tri_world_destroy(&world);
    tri_error_destroy(&err);
    assert_int_equal(status, TRI_OK);
    assert_true(ok);
    (void)state;
}

static int run_mpi(char **sizes)
{
    mpi_way = (struct train_way){.model = model, .sharded = true, .bucket_size = 5000};
    mpi_way.tp = (int)strtol(sizes[0], NULL, 10);
    mpi_way.pp = (int)strtol(sizes[1], NULL, 10);
    mpi_way.dp = (int)strtol(sizes[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_grid_under_mpi_trains_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    model = train_model_find(argc > 1 ? argv[1] : "llama");
    if (model == TRAIN_NUM_MODELS) {
        print_error("no model is called '%s'\n", argv[1]);
        return 1;
    }
    if (argc == 6)
        return run_mpi(argv + 3);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_grid_trains_alike),
        cmocka_unit_test(an_uneven_pipeline_trains_alike),
        cmocka_unit_test(every_parameter_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
