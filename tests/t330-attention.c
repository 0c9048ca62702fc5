/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What attention does beyond its gradients: the rotary tables, generation with a key-value cache
 * against one call over the whole sequence, documents that do not see each other, and positions
 * that do not exist.
 */
#include "harness/nn_fixture.h"

#include "kernels/reduce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Room for one more row than there is, so that a cache is used in part. */
static const struct nn_way way = {
    .tp = 1, .rows = 3, .length = 8, .more_rows = 1, .evaluates = true};

struct fixture {
    tri_error *err;
    tri_world *world;
    struct nn_rank rank;
};

static void fixture_init(struct fixture *f, const char *name, int64_t cache_length)
{
    *f = (struct fixture){.err = tri_error_create()};
    assert_int_equal(tri_world_create_self(tri_reduce_in_order, f->err, &f->world), TRI_OK);
    f->rank.c = nn_case_find(name);
    f->rank.way = &way;
    f->rank.forward_only = true;
    f->rank.cache_length = cache_length;
    assert_int_equal(nn_rank_create(&f->rank, f->world), TRI_OK);
}

static void fixture_fini(struct fixture *f)
{
    tri_group_destroy(&f->rank.tp);
    nn_rank_destroy(&f->rank);
    tri_world_destroy(&f->world);
    tri_error_destroy(&f->err);
}

static struct tri_tensor output(const struct fixture *f)
{
    return nn_rank_tensor(&f->rank, &f->rank.out, &f->rank.y, way.length);
}

/* Forward over positions first .. first + count - 1, behind as many in the cache. */
static tri_status forward_part(struct fixture *f, int64_t first, int64_t count)
{
    struct nn_rank *rank = &f->rank;
    int32_t positions[64];
    for (int64_t i = 0; i < way.rows * count; i++)
        positions[i] = (int32_t)(first + i % count);
    struct tri_microbatch part = rank->microbatch;
    part.length = count;
    part.positions = positions;
    struct tri_cache_state cache = {.length = first};
    rank->slot.microbatch = &part;
    rank->slot.cache = &cache;
    struct tri_tensor in = nn_rank_tensor(rank, &rank->in, &rank->x, way.length);
    struct tri_tensor out = output(f);
    int64_t place = first < way.length ? first : 0;
    in = tri_tensor_slice(&in, 0, place, count);
    out = tri_tensor_slice(&out, 0, place, count);
    tri_status status = rank->module->ops->forward(rank->module, &rank->slot, &in, &out);
    rank->slot.microbatch = &rank->microbatch;
    rank->slot.cache = NULL;
    return status;
}

static void check_close(const struct tri_tensor *a, const struct tri_tensor *b)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < tri_tensor_elements(a); i++) {
        double d = (double)tri_tensor_f32(a)[i] - tri_tensor_f32(b)[i];
        difference += d * d;
        norm += (double)tri_tensor_f32(a)[i] * tri_tensor_f32(a)[i];
    }
    assert_true(sqrt(difference / norm) <= NN_TOLERANCE_TP);
}

static void a_cache_gives_what_one_call_gives(void **state)
{
    (void)state;
    static const char *const names[] = {"layer gpt", "layer llama", "self_attention rotary",
                                        "self_attention gated"};
    static const int64_t cuts[][9] = {{8}, {5, 1, 1, 1}, {3, 5}, {1, 1, 1, 1, 1, 1, 1, 1}};
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
        for (size_t k = 0; k < sizeof(cuts) / sizeof(cuts[0]); k++) {
            struct fixture whole, cached;
            fixture_init(&whole, names[n], 0);
            fixture_init(&cached, names[n], way.length + 2);
            assert_int_equal(nn_rank_forward(&whole.rank), TRI_OK);
            int64_t first = 0;
            for (int i = 0; cuts[k][i] > 0; first += cuts[k][i++])
                assert_int_equal(forward_part(&cached, first, cuts[k][i]), TRI_OK);
            struct tri_tensor expected = output(&whole), made = output(&cached);
            check_close(&expected, &made);
            nn_rank_check_paint(&cached.rank);
            assert_string_equal(cached.rank.problem, "");
            fixture_fini(&whole);
            fixture_fini(&cached);
        }
}

static void a_full_cache_is_an_error(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "self_attention", 9);
    assert_int_equal(forward_part(&f, 8, 1), TRI_OK);
    assert_int_equal(forward_part(&f, 9, 1), TRI_INVALID);
    assert_string_equal(
        tri_error_message(f.err, 0),
        "'decoder.layers.1.core_attention' would hold 10 positions, its key-value cache was "
        "planned for 9; plan a longer cache or generate fewer tokens");
    fixture_fini(&f);
}

static void a_position_outside_the_table_is_an_error(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "self_attention rotary", 9);
    ((int32_t *)f.rank.microbatch.positions)[9] = 16;
    assert_int_equal(nn_rank_forward(&f.rank), TRI_INVALID);
    assert_string_equal(tri_error_message(f.err, 0),
                        "position 16 of row 1 is outside the 9 rotary positions of "
                        "'decoder.layers.1'; raise --seq-length and --max-position-embeddings or "
                        "use shorter input");
    fixture_fini(&f);
}

static void rotary_tables_are_those_of_the_reference(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "self_attention rotary", 16);
    struct tri_tensor cosines = nn_rank_row(&f.rank, 0, "cos");
    struct tri_tensor sines = nn_rank_row(&f.rank, 0, "sin");
    assert_int_equal(cosines.dims[0], 16);
    assert_int_equal(cosines.dims[1], 3);
    for (int p = 0; p < 16; p++)
        for (int i = 0; i < 3; i++) {
            double angle = p * pow(10000, -i / 3.0);
            assert_float_equal(tri_tensor_f32(&cosines)[3 * p + i], cos(angle), 1e-6);
            assert_float_equal(tri_tensor_f32(&sines)[3 * p + i], sin(angle), 1e-6);
        }
    fixture_fini(&f);
}

/* With a border between positions 3 and 4, nothing that changes before it is seen behind it. */
static void documents_do_not_see_each_other(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "attention grouped", 0);
    int32_t segments[24];
    for (int i = 0; i < 24; i++)
        segments[i] = i % 8 >= 4;
    f.rank.microbatch.segments = segments;
    assert_int_equal(nn_rank_forward(&f.rank), TRI_OK);
    struct tri_tensor out = output(&f);
    int64_t half = tri_tensor_elements(&out) / 2;
    float *before = malloc(2 * (size_t)half * sizeof(float));
    memcpy(before, out.data, 2 * (size_t)half * sizeof(float));
    struct tri_tensor in = nn_rank_tensor(&f.rank, &f.rank.in, &f.rank.x, way.length);
    for (int64_t i = 0; i < tri_tensor_elements(&in) / 2; i++)
        tri_tensor_f32(&in)[i] += 1;
    assert_int_equal(nn_rank_forward(&f.rank), TRI_OK);
    assert_memory_not_equal(before, out.data, (size_t)half * sizeof(float));
    assert_memory_equal(before + half, tri_tensor_f32(&out) + half, (size_t)half * sizeof(float));
    f.rank.microbatch.segments = NULL;
    assert_int_equal(nn_rank_forward(&f.rank), TRI_OK);
    assert_memory_not_equal(before + half, tri_tensor_f32(&out) + half,
                            (size_t)half * sizeof(float));
    free(before);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_gives_what_one_call_gives),
        cmocka_unit_test(a_full_cache_is_an_error),
        cmocka_unit_test(a_position_outside_the_table_is_an_error),
        cmocka_unit_test(rotary_tables_are_those_of_the_reference),
        cmocka_unit_test(documents_do_not_see_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
