/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How modules are made from a record: the registry, extensions before it, and what each kind of
 * mismatch between spec, record and slice is answered with. Records without backward make modules
 * without it.
 */
#include "harness/nn_fixture.h"

#include "kernels/reduce.h"
#include "trine/extension.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct nn_way one_rank = {.tp = 1, .rows = 2, .length = 4};

struct fixture {
    tri_error *err;
    tri_world *world;
    struct nn_rank rank;
};

static void fixture_init(struct fixture *f, const char *name, bool forward_only)
{
    *f = (struct fixture){.err = tri_error_create()};
    assert_int_equal(tri_world_create_self(tri_reduce_in_order, f->err, &f->world), TRI_OK);
    f->rank.c = nn_case_find(name);
    f->rank.way = &one_rank;
    f->rank.forward_only = forward_only;
    assert_int_equal(nn_rank_create(&f->rank, f->world), TRI_OK);
}

static void fixture_fini(struct fixture *f)
{
    tri_group_destroy(&f->rank.tp);
    nn_rank_destroy(&f->rank);
    tri_world_destroy(&f->world);
    tri_error_destroy(&f->err);
}

/* Building from build fails with status and this message, and leaves nothing behind. */
static void check_refused(struct fixture *f, struct tri_build *build, tri_status status,
                          const char *message)
{
    tri_module *module = NULL;
    assert_int_equal(tri_build_module(build, f->rank.alone.units, &module), status);
    assert_null(module);
    assert_string_equal(tri_error_message(f->err, 0), message);
}

static void the_registry_knows_every_module_of_the_spec(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const units[] = {"embedding gpt", "layer gpt", "layer llama", "head tied"};
    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
        fixture_init(&f, units[u], false);
        for (int i = 0; i < f.rank.size.num_modules; i++) {
            const char *name = f.rank.size.module_spec[i]->module;
            assert_non_null(tri_module_class_find(name, NULL));
            assert_string_equal(tri_module_class_find(name, NULL)->name, name);
        }
        fixture_fini(&f);
    }
    assert_null(tri_module_class_find("no such module", NULL));
}

/* Row and class of one line of the list are of the same module and implementation, and of no other line's. */
static void every_row_has_its_class(void **state)
{
    (void)state;
    for (int i = 0; tri_module_row_get(i) || tri_module_class_get(i); i++) {
        const struct tri_module_row *row = tri_module_row_get(i);
        const struct tri_module_class *class = tri_module_class_get(i);
        assert_non_null(row);
        assert_non_null(class);
        assert_string_equal(row->name, class->name);
        assert_string_equal(row->implementation ? row->implementation : "default",
                            class->implementation ? class->implementation : "default");
        assert_ptr_equal(tri_module_row_find(row->name, row->implementation), row);
        assert_ptr_equal(tri_module_class_find(class->name, class->implementation), class);
    }
}

static void every_module_gets_its_place_and_its_table(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "layer gpt", false);
    struct tri_build build = nn_rank_build(&f.rank);
    build.first_index = 40;
    tri_module *module = NULL;
    assert_int_equal(tri_build_module(&build, f.rank.alone.units, &module), TRI_OK);
    assert_int_equal(build.next, f.rank.size.num_modules);
    assert_int_equal(module->index, 40);
    assert_string_equal(module->path, "decoder.layers.1");
    assert_string_equal(module->ops->name, "transformer_layer");
    assert_string_equal(module->kernels->name, "cpu_fast");
    tri_module_destroy(&module);
    assert_null(module);
    tri_module_destroy(&module);
    fixture_fini(&f);
}

static tri_status refuse(struct tri_build *build, const struct tri_module_spec *node,
                         tri_module **module)
{
    (void)module;
    return tri_error_set(build->err, TRI_NUMERIC, "extension made '%s'", node->slot);
}

static void an_extension_goes_before_the_registry(void **state)
{
    (void)state;
    struct fixture f;
    static const struct tri_module_class own = {.name = "activation", .create = refuse};
    static const struct tri_module_row row = {.name = "activation"};
    static const struct tri_extension extensions[] = {
        {.implementation = "fused", .module_row = &row, .module_class = &own}};
    fixture_init(&f, "mlp", false);
    struct tri_build build = nn_rank_build(&f.rank);
    build.extensions = extensions;
    build.num_extensions = 1;
    check_refused(&f, &build, TRI_NUMERIC, "extension made 'activation'");
    fixture_fini(&f);
}

static void mismatches_are_named(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "row_linear bias", false);
    struct tri_build build = nn_rank_build(&f.rank);
    build.next = 1;
    check_refused(&f, &build, TRI_BUG,
                  "module 'linear_fc2' is not in the record, which ends after 1 modules");
    fixture_fini(&f);

    fixture_init(&f, "row_linear bias", false);
    build = nn_rank_build(&f.rank);
    const struct tri_module_spec *other = &f.rank.model->units[0];
    build.size->module_spec[0] = other;
    check_refused(&f, &build, TRI_BUG,
                  "module 'linear_fc2' (row_linear) was described as 'embedding' (embedding)");
    fixture_fini(&f);

    fixture_init(&f, "row_linear bias", false);
    build = nn_rank_build(&f.rank);
    build.num_params = 0;
    check_refused(&f, &build, TRI_BUG, "the slice of 'decoder.layers.0' has no parameter 'weight'");
    fixture_fini(&f);

    fixture_init(&f, "row_linear bias", false);
    build = nn_rank_build(&f.rank);
    f.rank.size.num_rows = 1;
    check_refused(&f, &build, TRI_BUG,
                  "the record of 'decoder.layers.0' has no row 'workspace_back'");
    fixture_fini(&f);
}

static void an_implementation_without_kernels_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "mlp", false);
    struct tri_build build = nn_rank_build(&f.rank);
    build.num_kernels = 1; /* plain alone */
    check_refused(&f, &build, TRI_UNSUPPORTED,
                  "'decoder.layers.0' asks for the operations of 'fused', which no backend stands "
                  "behind");
    fixture_fini(&f);

    fixture_init(&f, "mlp", false);
    build = nn_rank_build(&f.rank);
    struct tri_module_spec strange = *f.rank.alone.units;
    strange.module = "moe";
    f.rank.alone.units = &strange;
    build.size->module_spec[0] = &strange;
    check_refused(&f, &build, TRI_UNSUPPORTED,
                  "no module 'moe' for 'decoder.layers.0'; give an extension that implements it");
    fixture_fini(&f);
}

static void a_record_without_backward_is_enough_for_forward(void **state)
{
    (void)state;
    struct fixture f;
    for (int i = 0; i < nn_num_cases; i++) {
        struct nn_way way = one_rank;
        struct nn_result trained;
        nn_run(&nn_cases[i], &way, &trained);
        fixture_init(&f, nn_cases[i].name, true);
        assert_int_equal(f.rank.size.saved_bytes, 0);
        assert_int_equal(nn_rank_forward(&f.rank), TRI_OK);
        nn_rank_check_paint(&f.rank);
        assert_string_equal(f.rank.problem, "");
        if (f.rank.out.exists) {
            struct tri_tensor y = nn_rank_tensor(&f.rank, &f.rank.out, &f.rank.y, way.length);
            assert_memory_equal(y.data, trained.tensors[0].values, tri_tensor_bytes(&y));
        } else {
            assert_true(f.rank.slot.loss[TRI_LOSS_LM].value == trained.loss.value);
        }
        nn_result_free(&trained);
        fixture_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_registry_knows_every_module_of_the_spec),
        cmocka_unit_test(every_row_has_its_class),
        cmocka_unit_test(every_module_gets_its_place_and_its_table),
        cmocka_unit_test(an_extension_goes_before_the_registry),
        cmocka_unit_test(mismatches_are_named),
        cmocka_unit_test(an_implementation_without_kernels_is_refused),
        cmocka_unit_test(a_record_without_backward_is_enough_for_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
