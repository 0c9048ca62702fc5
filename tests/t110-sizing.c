/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sizing recorder: rows never overlap where they live together, siblings share bytes, and the classes
 * follow the input (forward only, split backward, sequence parallel, cache).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "t1-sizing.h"

#include <stdlib.h>

static bool is_work(const struct tri_size_row *row)
{
    return row->row_class == TRI_ROW_WORK_FORWARD || row->row_class == TRI_ROW_WORK_BACKWARD;
}

static bool is_slot(const struct tri_size_row *row)
{
    return !is_work(row) && row->row_class != TRI_ROW_RUN;
}

/* True when outer is inner or a container around it; the head's parts are below it under other names. */
static bool is_around(const struct tri_unit_size *size, int outer, int inner)
{
    const char *path = size->module_path[outer];
    size_t length = strlen(path);
    if (outer == inner || strcmp(path, "head") == 0)
        return true;
    return strncmp(path, size->module_path[inner], length) == 0 &&
           size->module_path[inner][length] == '.';
}

/* True when the rows are alive at the same time in the same arena. */
static bool live_together(const struct tri_unit_size *size, const struct tri_size_row *a,
                          const struct tri_size_row *b)
{
    if (is_work(a) && is_work(b))
        return a->row_class == b->row_class &&
               (is_around(size, a->module, b->module) || is_around(size, b->module, a->module));
    return (is_slot(a) && is_slot(b)) ||
           (a->row_class == TRI_ROW_RUN && b->row_class == TRI_ROW_RUN);
}

static void check_rows(const struct tri_unit_size *size)
{
    size_t work = 0;
    for (int i = 0; i < size->num_rows; i++) {
        const struct tri_size_row *a = &size->rows[i];
        size_t end = a->offset + a->bytes, bytes = tri_dtype_bytes(a->dtype);
        for (int d = 0; d < a->num_dims; d++)
            bytes *= (size_t)a->dims[d];
        assert_int_equal(bytes, a->bytes);
        assert_int_equal(a->offset % 64, 0);
        if (is_work(a))
            work = end > work ? end : work;
        else
            assert_true(end <= (is_slot(a) ? size->saved_bytes : size->run_bytes));
        for (int j = 0; j < i; j++) {
            const struct tri_size_row *b = &size->rows[j];
            assert_false(a->module == b->module && strcmp(a->name, b->name) == 0);
            if (live_together(size, a, b))
                assert_true(end <= b->offset || b->offset + b->bytes <= a->offset);
        }
    }
    assert_int_equal((work + 63) / 64 * 64, size->work_bytes);
}

static const struct tri_size_row *find_row(const struct tri_unit_size *size, const char *path,
                                           const char *name)
{
    for (int i = 0; i < size->num_rows; i++)
        if (strcmp(size->module_path[size->rows[i].module], path) == 0 &&
            strcmp(size->rows[i].name, name) == 0)
            return &size->rows[i];
    return NULL;
}

/* Every unit under every kind of input. */
static void test_rows_never_overlap(void **state)
{
    (void)state;
    struct tri_gpt_config shapes[] = {shape_gpt2(2, 48, 4, 101, 40),
                                      shape_llama(2, 48, 4, 2, 72, 131)};
    tri_arena *arena = tri_arena_create();
    for (int i = 0; i < 2; i++)
        for (int bits = 0; bits < 64; bits++) {
            struct tri_model_spec *spec = spec_of(&shapes[i]);
            struct tri_sizing_input input = sizing_input(spec, bits & 1 ? 2 : 1, bits & 2);
            input.forward_only = bits & 4;
            input.split_backward = bits & 8;
            input.cache_length = bits & 16 ? 33 : 0;
            input.shared_head = bits & 32;
            for (int unit = 0; unit < spec->num_units; unit++) {
                struct tri_unit_size size;
                assert_int_equal(tri_size_unit(spec, unit, &input, arena, NULL, &size), TRI_OK);
                check_rows(&size);
                if (input.forward_only)
                    assert_int_equal(size.saved_bytes, 0);
            }
            tri_model_spec_destroy(&spec);
        }
    tri_arena_destroy(&arena);
}

static void test_order_and_paths(void **state)
{
    (void)state;
    static const char *const layer[] = {
        "decoder.layers.1",
        "decoder.layers.1.input_layernorm",
        "decoder.layers.1.self_attention",
        "decoder.layers.1.self_attention.linear_qkv",
        "decoder.layers.1.self_attention.core_attention",
        "decoder.layers.1.self_attention.linear_proj",
        "decoder.layers.1.self_attn_bda",
        "decoder.layers.1.pre_mlp_layernorm",
        "decoder.layers.1.mlp",
        "decoder.layers.1.mlp.linear_fc1",
        "decoder.layers.1.mlp.activation",
        "decoder.layers.1.mlp.linear_fc2",
        "decoder.layers.1.mlp_bda",
    };
    static const char *const head[] = {"head", "decoder.final_layernorm", "output_layer",
                                       "cross_entropy"};
    struct tri_gpt_config shape = shape_gpt2(3, 48, 4, 101, 40);
    struct tri_model_spec *spec = spec_of(&shape);
    struct tri_sizing_input input = sizing_input(spec, 1, false);
    struct tri_unit_size size;
    tri_arena *arena = tri_arena_create();
    assert_int_equal(tri_size_unit(spec, 2, &input, arena, NULL, &size), TRI_OK);
    assert_int_equal(size.num_modules, 13);
    for (int i = 0; i < 13; i++)
        assert_string_equal(size.module_path[i], layer[i]);
    assert_int_equal(tri_size_unit(spec, 4, &input, arena, NULL, &size), TRI_OK);
    assert_int_equal(size.num_modules, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(size.module_path[i], head[i]);
    tri_arena_destroy(&arena);
    tri_model_spec_destroy(&spec);
}

static void check_dims(const struct tri_unit_size *size, const char *path, const char *name,
                       enum tri_row_class row_class, int64_t d0, int64_t d1, int64_t d2)
{
    const struct tri_size_row *row = find_row(size, path, name);
    assert_non_null(row);
    assert_int_equal(row->row_class, row_class);
    assert_int_equal(row->dims[0], d0);
    assert_int_equal(row->dims[1], d1);
    assert_int_equal(row->num_dims == 3 ? row->dims[2] : d2, d2);
}

static void test_classes_and_dims(void **state)
{
    (void)state;
    struct tri_gpt_config shape = shape_llama(1, 48, 4, 2, 72, 131);
    struct tri_model_spec *spec = spec_of(&shape);
    struct tri_sizing_input input = sizing_input(spec, 2, true);
    struct tri_unit_size size;
    tri_arena *arena = tri_arena_create();
    const char *attention = "decoder.layers.0.self_attention";
    const char *qkv = "decoder.layers.0.self_attention.linear_qkv";
    const char *fc2 = "decoder.layers.0.mlp.linear_fc2";
    const char *core = "decoder.layers.0.self_attention.core_attention";
    assert_int_equal(tri_size_unit(spec, 1, &input, arena, NULL, &size), TRI_OK);
    check_dims(&size, attention, "qkv", TRI_ROW_SAVED_INPUT, 24, 3, 48);
    check_dims(&size, attention, "context", TRI_ROW_SAVED_WEIGHT, 24, 3, 24);
    check_dims(&size, attention, "dqkv", TRI_ROW_WORK_BACKWARD, 24, 3, 48);
    check_dims(&size, attention, "cos", TRI_ROW_RUN, 24, 6, 0);
    check_dims(&size, "decoder.layers.0", "normed1", TRI_ROW_SAVED_WEIGHT, 12, 3, 48);
    check_dims(&size, "decoder.layers.0.mlp", "hidden", TRI_ROW_SAVED_INPUT, 24, 3, 72);
    check_dims(&size, qkv, "gathered", TRI_ROW_WORK_FORWARD, 24, 3, 48);
    check_dims(&size, fc2, "full", TRI_ROW_WORK_FORWARD, 24, 3, 48);
    check_dims(&size, core, "lse", TRI_ROW_SAVED_INPUT, 3, 2, 24);
    assert_null(find_row(&size, core, "key_cache"));
    input.split_backward = true;
    assert_int_equal(tri_size_unit(spec, 1, &input, arena, NULL, &size), TRI_OK);
    check_dims(&size, attention, "dqkv", TRI_ROW_GRAD, 24, 3, 48);
    assert_int_equal(tri_size_unit(spec, 2, &input, arena, NULL, &size), TRI_OK);
    check_dims(&size, "head", "logits", TRI_ROW_SAVED_WEIGHT, 24, 3, 128);
    input.forward_only = true;
    input.cache_length = 33;
    assert_int_equal(tri_size_unit(spec, 1, &input, arena, NULL, &size), TRI_OK);
    check_dims(&size, attention, "qkv", TRI_ROW_WORK_FORWARD, 24, 3, 48);
    assert_null(find_row(&size, attention, "dqkv"));
    assert_null(find_row(&size, qkv, "workspace_back"));
    assert_int_equal(find_row(&size, core, "key_cache")->num_dims, 4);
    check_dims(&size, core, "value_cache", TRI_ROW_RUN, 33, 3, 1);
    tri_arena_destroy(&arena);
    tri_model_spec_destroy(&spec);
}

static void test_workspaces(void **state)
{
    (void)state;
    struct tri_gpt_config shape = shape_gpt2(1, 48, 4, 101, 40);
    struct tri_model_spec *spec = spec_of(&shape);
    struct tri_sizing_input input = sizing_input(spec, 2, false);
    struct tri_unit_size size;
    tri_arena *arena = tri_arena_create();
    const char *fc1 = "decoder.layers.0.mlp.linear_fc1";
    assert_int_equal(tri_size_unit(spec, 1, &input, arena, NULL, &size), TRI_OK);
    assert_int_equal(find_row(&size, fc1, "workspace")->bytes, fake_gemm(72, 96, 48, 2));
    assert_int_equal(find_row(&size, fc1, "workspace_back")->bytes, fake_gemm(72, 48, 96, 2));
    assert_int_equal(
        find_row(&size, "decoder.layers.0.self_attention.core_attention", "workspace_back")->bytes,
        fake_attention_backward(24, 24, 3, 2, 2, 12, 2));
    assert_null(find_row(&size, fc1, "gathered"));
    tri_arena_destroy(&arena);
    tri_model_spec_destroy(&spec);
}

static void test_flops_and_bytes(void **state)
{
    (void)state;
    struct tri_gpt_config shape = shape_gpt2(1, 48, 4, 101, 40);
    struct tri_model_spec *spec = spec_of(&shape);
    struct tri_sizing_input input = sizing_input(spec, 1, false);
    struct tri_unit_size size;
    tri_arena *arena = tri_arena_create();
    assert_int_equal(tri_size_unit(spec, 1, &input, arena, NULL, &size), TRI_OK);
    double R = 72, weights = 12.0 * 48 * 48;
    assert_true(size.flops_forward == 2 * R * weights + 2.0 * 24 * 24 * 3 * 48);
    assert_true(size.bytes_tp == 0);
    input = sizing_input(spec, 2, false);
    assert_int_equal(tri_size_unit(spec, 1, &input, arena, NULL, &size), TRI_OK);
    /* two all-reduces forward and two backward of 72 x 48 floats, of which a rank sends half each way */
    assert_true(size.bytes_tp == 4 * 2 * 0.5 * 4 * 72 * 48);
    input = sizing_input(spec, 2, true);
    assert_int_equal(tri_size_unit(spec, 1, &input, arena, NULL, &size), TRI_OK);
    assert_true(size.bytes_tp == 10 * 0.5 * 4 * 72 * 48);
    tri_arena_destroy(&arena);
    tri_model_spec_destroy(&spec);
}

static void test_failures(void **state)
{
    (void)state;
    struct tri_gpt_config shape = shape_gpt2(1, 48, 4, 101, 40);
    struct tri_model_spec *spec = spec_of(&shape);
    struct tri_sizing_input input = sizing_input(spec, 1, false);
    struct tri_unit_size size = {.num_rows = -7};
    tri_arena *arena = tri_arena_create();
    tri_error *err = tri_error_create();
    input.scratch[0].implementation = "other";
    assert_int_equal(tri_size_unit(spec, 1, &input, arena, err, &size), TRI_UNSUPPORTED);
    assert_true(error_says(err, "'decoder.layers.0.input_layernorm' asks for the operations of "
                                "'fused', which no backend stands behind"));
    assert_int_equal(size.num_rows, -7);
    tri_error_clear(err);
    input = sizing_input(spec, 1, false);
    input.micro_batch_size = INT64_MAX / 4096;
    assert_int_equal(tri_size_unit(spec, 1, &input, arena, err, &size), TRI_INVALID);
    assert_true(error_says(err, "'normed1' of 'decoder.layers.0' needs more than"));
    tri_error_destroy(&err);
    tri_arena_destroy(&arena);
    tri_model_spec_destroy(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_never_overlap), cmocka_unit_test(test_order_and_paths),
        cmocka_unit_test(test_classes_and_dims),   cmocka_unit_test(test_workspaces),
        cmocka_unit_test(test_flops_and_bytes),    cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
