/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions against transformers (golden/positions.json), with both tables of kernels: the tables that a module
 * makes for a million positions and vectors turned by them, of every kind; and a whole attention layer whose
 * pairs of channels turn by three different rows of positions, with its gradients. Equal rows are one row.
 */
#include "harness/nn_fixture.h"

#include "kernels/reduce.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *root;
static const json_t *golden; /* the case that configure_turn() reads */

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static bool is_kind(const char *kind)
{
    const json_t *rope = json_object_get(golden, "rope");
    return strcmp(json_string_value(json_object_get(rope, "rope_type")), kind) == 0;
}

static void configure_sections(struct tri_gpt_config *c, const json_t *rope)
{
    struct tri_option_list *sections = &c->transformer.attention.mrope_section;
    c->position_embedding_type = TRI_POSITION_MROPE;
    sections->num = 3;
    for (size_t i = 0; i < 3; i++)
        sections->value[i] =
            json_integer_value(json_array_get(json_object_get(rope, "mrope_section"), i));
}

static void configure_scaling(struct tri_gpt_config *c, const json_t *rope)
{
    struct tri_attention_config *a = &c->transformer.attention;
    double factor = number(rope, "factor");
    if (is_kind("linear"))
        a->rotary_seq_len_interpolation_factor = factor;
    if (is_kind("dynamic"))
        a->rope_dynamic_factor = factor;
    a->use_rope_scaling = is_kind("llama3");
    a->rope_scaling_factor = a->use_rope_scaling ? factor : 8;
    if (json_object_get(rope, "original_max_position_embeddings"))
        a->original_max_position_embeddings =
            (int64_t)number(rope, "original_max_position_embeddings");
    if (!is_kind("yarn"))
        return;
    c->position_embedding_type = TRI_POSITION_YARN;
    a->rotary_scaling_factor = factor;
    if (json_object_get(rope, "attention_factor"))
        a->yarn_attention_factor = number(rope, "attention_factor");
    if (json_object_get(rope, "truncate"))
        a->yarn_correction_range_round_to_int = false;
}

/* One head of 8 channels that turns as the golden case does. */
static void configure_turn(struct tri_gpt_config *c)
{
    const json_t *rope = json_object_get(golden, "rope");
    c->transformer.num_attention_heads = c->transformer.num_query_groups = 1;
    c->transformer.kv_channels = 8;
    c->max_position_embeddings = is_kind("dynamic") ? 64 : (int64_t)number(root, "length");
    c->rotary_base = number(rope, "rope_theta");
    c->rotary_interleaved = json_is_true(json_object_get(golden, "interleaved"));
    if (json_object_get(rope, "partial_rotary_factor"))
        c->rotary_percent = number(rope, "partial_rotary_factor");
    if (json_object_get(rope, "mrope_section"))
        configure_sections(c, rope);
    configure_scaling(c, rope);
}

static const struct nn_case turn_case = {.name = "turn",
                                         .shape = NN_SHAPE_LLAMA,
                                         .unit = 2,
                                         .path = "self_attention",
                                         .configure = configure_turn};

enum { NUM = 6, D = 8 }; /* of the golden cases: positions, channels */

/* Vectors of the case turned by the tables of a module. */
static void check_turn(const struct tri_kernels *kernels, const struct nn_rank *rank)
{
    float x[NUM * D];
    int32_t positions[3][NUM];
    struct tri_rope rope = {.interleaved = json_is_true(json_object_get(golden, "interleaved"))};
    const json_t *rows = json_object_get(golden, "positions");
    const json_t *sections = json_object_get(json_object_get(golden, "rope"), "mrope_section");
    for (size_t axis = 0; axis < 3; axis++) {
        for (size_t i = 0; i < NUM; i++)
            positions[axis][i] =
                (int32_t)json_integer_value(json_array_get(json_array_get(rows, axis), i));
        rope.positions[axis] = positions[axis];
        rope.sections[axis] = json_integer_value(json_array_get(sections, axis));
    }
    for (size_t i = 0; i < NUM * D; i++)
        x[i] = (float)json_number_value(
            json_array_get(json_array_get(json_object_get(golden, "x"), i / D), i % D));
    struct tri_queue queue = {.device = &tri_device_host};
    struct tri_tensor heads = tri_tensor_view(x, TRI_DTYPE_F32, 4, (const int64_t[]){NUM, 1, 1, D});
    kernels->rope(&queue, heads, nn_rank_row(rank, 0, "cos"), nn_rank_row(rank, 0, "sin"), &rope);
    for (size_t i = 0; i < NUM * D; i++) {
        double want = json_number_value(
            json_array_get(json_array_get(json_object_get(golden, "y"), i / D), i % D));
        if (!(fabs((double)x[i] - want) <= 1e-6))
            fail_msg("%s, %s: channel %zu at position %d is %.9g, reference %.9g", kernels->name,
                     json_string_value(json_object_get(golden, "name")), i % D, positions[0][i / D],
                     (double)x[i], want);
    }
}

static void vectors_turn_as_in_the_reference(void **state)
{
    (void)state;
    size_t i;
    json_t *each;
    json_array_foreach(json_object_get(root, "cases"), i, each)
    {
        golden = each;
        const struct nn_way way = {.tp = 1, .rows = 1, .length = 4, .evaluates = true};
        tri_error *err = tri_error_create();
        tri_world *world;
        struct nn_rank rank = {.c = &turn_case, .way = &way, .forward_only = true};
        rank.cache_length = (int64_t)number(root, "length");
        assert_int_equal(tri_world_create_self(tri_reduce_in_order, err, &world), TRI_OK);
        assert_int_equal(nn_rank_create(&rank, world), TRI_OK);
        assert_int_equal(nn_rank_row(&rank, 0, "cos").dims[0], rank.cache_length);
        check_turn(tri_kernels_cpu_ref(), &rank);
        check_turn(tri_kernels_cpu_fast(), &rank);
        tri_group_destroy(&rank.tp);
        nn_rank_destroy(&rank);
        tri_world_destroy(&world);
        tri_error_destroy(&err);
    }
    assert_int_equal(i, 13);
}

/* ---- a layer ---- */

static void configure_layer(struct tri_gpt_config *c)
{
    struct tri_transformer_config *t = &c->transformer;
    t->hidden_size = 12;
    t->num_attention_heads = 2;
    t->num_query_groups = 1;
    t->kv_channels = 6;
    t->attention.mrope_section = (struct tri_option_list){.num = 3, .value = {1, 1, 1}};
    c->position_embedding_type = TRI_POSITION_MROPE;
    c->rotary_base = 100;
    c->max_position_embeddings = 207;
}

static void configure_rope(struct tri_gpt_config *c)
{
    configure_layer(c);
    c->position_embedding_type = TRI_POSITION_ROPE;
}

static const struct nn_case layer_case = {.name = "three rows",
                                          .shape = NN_SHAPE_LLAMA,
                                          .unit = 2,
                                          .path = "self_attention",
                                          .configure = configure_layer};
static const struct nn_case rope_case = {.name = "one row",
                                         .shape = NN_SHAPE_LLAMA,
                                         .unit = 2,
                                         .path = "self_attention",
                                         .configure = configure_rope};

struct fixture {
    tri_error *err;
    tri_world *world;
    struct nn_way way;
    struct nn_rank rank;
};

static void fixture_init(struct fixture *f, const struct nn_case *c, bool plain, bool halves)
{
    *f = (struct fixture){.err = tri_error_create()};
    f->way = (struct nn_way){.plain = plain,
                             .tp = 1,
                             .halves = halves,
                             .rows = 2,
                             .length = 7,
                             .more_length = 200,
                             .evaluates = true};
    f->rank = (struct nn_rank){.c = c, .way = &f->way};
    assert_int_equal(tri_world_create_self(tri_reduce_in_order, f->err, &f->world), TRI_OK);
    assert_int_equal(nn_rank_create(&f->rank, f->world), TRI_OK);
}

static void fixture_fini(struct fixture *f)
{
    tri_group_destroy(&f->rank.tp);
    nn_rank_destroy(&f->rank);
    tri_world_destroy(&f->world);
    tri_error_destroy(&f->err);
}

/* Every number of a list of any depth, in order. */
static void flatten(const json_t *list, float **next)
{
    size_t i;
    json_t *item;
    if (json_is_number(list))
        *(*next)++ = (float)json_number_value(list);
    json_array_foreach(list, i, item) flatten(item, next);
}

/* The golden value of this name, [b, s, h] turned to [s, b, h]; the caller frees. */
static float *layer_values(const char *name, int64_t count, bool is_activation)
{
    float *values = malloc((size_t)count * sizeof(float)), *next = values;
    flatten(json_object_get(json_object_get(root, "attention"), name), &next);
    assert_int_equal(next - values, count);
    if (!is_activation)
        return values;
    float *turned = malloc((size_t)count * sizeof(float));
    for (int64_t i = 0; i < count; i++) {
        int64_t c = i % 12, row = i / 12, s = row / 2, b = row % 2;
        turned[i] = values[(b * 7 + s) * 12 + c];
    }
    free(values);
    return turned;
}

static void expect_close(const struct tri_tensor *got, const char *name, bool is_activation)
{
    int64_t count = tri_tensor_elements(got);
    float *want = layer_values(name, count, is_activation);
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < count; i++) {
        double d = (double)tri_tensor_f32(got)[i] - (double)want[i];
        difference += d * d;
        norm += (double)want[i] * (double)want[i];
    }
    free(want);
    if (!(sqrt(difference / norm) <= 3e-6))
        fail_msg("'%s' is %g away from the reference", name, sqrt(difference / norm));
}

static void fill(const struct tri_tensor *t, const char *name, bool is_activation)
{
    float *values = layer_values(name, tri_tensor_elements(t), is_activation);
    memcpy(tri_tensor_f32(t), values, (size_t)tri_tensor_elements(t) * sizeof(float));
    free(values);
}

static const struct tri_param *param_of(const struct nn_rank *rank, const char *end)
{
    for (int i = 0; i < rank->num_params; i++)
        if (strstr(rank->params[i].spec->name, end))
            return &rank->params[i];
    fail_msg("no parameter '%s'", end);
    return NULL;
}

/* Golden weights and input; positions as read, or the first row for all three. */
static void fill_layer(struct nn_rank *rank, bool equal_rows)
{
    fill(&param_of(rank, "linear_qkv.weight")->value, "weight", false);
    fill(&param_of(rank, "linear_qkv.bias")->value, "bias", false);
    fill(&param_of(rank, "linear_proj.weight")->value, "proj", false);
    struct tri_tensor x = nn_rank_tensor(rank, &rank->in, &rank->x, 7);
    struct tri_tensor dy = nn_rank_tensor(rank, &rank->out, &rank->dy, 7);
    fill(&x, "x", true);
    fill(&dy, "dy", true);
    int32_t *axes = (int32_t *)rank->microbatch.axis_positions;
    float *values = layer_values("positions", 3 * 2 * 7, false);
    for (int i = 0; i < 3 * 2 * 7; i++)
        axes[i] = (int32_t)values[equal_rows ? i % 14 : i];
    free(values);
}

static void a_layer_turns_by_three_rows(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct fixture f;
        fixture_init(&f, &layer_case, i % 2, i / 2);
        fill_layer(&f.rank, false);
        assert_int_equal(nn_rank_forward(&f.rank), TRI_OK);
        assert_int_equal(nn_rank_backward(&f.rank), TRI_OK);
        struct tri_tensor y = nn_rank_tensor(&f.rank, &f.rank.out, &f.rank.y, 7);
        struct tri_tensor dx = nn_rank_tensor(&f.rank, &f.rank.in, &f.rank.dx, 7);
        expect_close(&y, "y", true);
        expect_close(&dx, "dx", true);
        expect_close(&param_of(&f.rank, "linear_qkv.weight")->grad, "dweight", false);
        expect_close(&param_of(&f.rank, "linear_qkv.bias")->grad, "dbias", false);
        expect_close(&param_of(&f.rank, "linear_proj.weight")->grad, "dproj", false);
        fixture_fini(&f);
    }
}

static void equal_rows_are_one_row(void **state)
{
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        struct fixture three, one, none;
        fixture_init(&three, &layer_case, plain, false);
        fixture_init(&one, &rope_case, plain, false);
        fixture_init(&none, &layer_case, plain, false); /* text only: no rows of axes at all */
        fill_layer(&three.rank, true);
        fill_layer(&one.rank, false);
        fill_layer(&none.rank, false);
        const int32_t *axes = none.rank.microbatch.axis_positions;
        none.rank.microbatch.axis_positions = NULL;
        struct fixture *all[] = {&three, &one, &none};
        struct tri_tensor y[3], dx[3];
        for (int i = 0; i < 3; i++) {
            struct nn_rank *rank = &all[i]->rank;
            assert_int_equal(nn_rank_forward(rank), TRI_OK);
            assert_int_equal(nn_rank_backward(rank), TRI_OK);
            y[i] = nn_rank_tensor(rank, &rank->out, &rank->y, 7);
            dx[i] = nn_rank_tensor(rank, &rank->in, &rank->dx, 7);
            assert_memory_equal(y[i].data, y[0].data, tri_tensor_bytes(&y[0]));
            assert_memory_equal(dx[i].data, dx[0].data, tri_tensor_bytes(&dx[0]));
        }
        none.rank.microbatch.axis_positions = axes;
        for (int i = 0; i < 3; i++)
            fixture_fini(all[i]);
    }
}

static void a_position_of_any_row_must_be_in_the_table(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, &layer_case, false, false);
    fill_layer(&f.rank, false);
    ((int32_t *)f.rank.microbatch.axis_positions)[2 * 14 + 9] = 207;
    assert_int_equal(nn_rank_forward(&f.rank), TRI_INVALID);
    assert_non_null(strstr(tri_error_message(f.err, 0),
                           "position 207 of row 1 is outside the 207 rotary positions"));
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_turn_as_in_the_reference),
        cmocka_unit_test(a_layer_turns_by_three_rows),
        cmocka_unit_test(equal_rows_are_one_row),
        cmocka_unit_test(a_position_of_any_row_must_be_in_the_table),
    };
    root = json_load_file("golden/positions.json", 0, NULL);
    if (!root) {
        print_error("golden/positions.json cannot be read\n");
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref(root);
    return failed;
}
