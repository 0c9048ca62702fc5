/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process grid against groups recorded from Megatron-LM (golden/placement/groups.json), and its
 * inverse properties.
 */
#include "placement/grid.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define DENSE(a) TRI_AXES(TRI_AXIS_##a)

static const struct {
    const char *name;
    tri_axis_set axes;
} group_names[] = {
    {"tp", DENSE(TP)},
    {"pp", DENSE(PP)},
    {"dp", DENSE(DP)},
    {"dp_cp", DENSE(DP) | DENSE(CP)},
    {"cp", DENSE(CP)},
    {"tp_pp", DENSE(TP) | DENSE(PP)},
    {"tp_cp", DENSE(TP) | DENSE(CP)},
    {"tp_dp", DENSE(TP) | DENSE(DP)},
    {"tp_dp_cp", DENSE(TP) | DENSE(DP) | DENSE(CP)},
    {"ep", DENSE(EP)},
    {"expert_tp", DENSE(ETP)},
    {"expert_dp", DENSE(EDP)},
    {"expert_tp_ep", DENSE(ETP) | DENSE(EP)},
    {"expert_tp_ep_pp", DENSE(ETP) | DENSE(EP) | DENSE(PP)},
};

static int number(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

static tri_status plan_case(const json_t *item, tri_error *err, struct tri_grid *grid)
{
    const json_t *etp = json_object_get(item, "etp");
    const char *order = json_string_value(json_object_get(item, "order"));
    return tri_grid_plan(number(item, "world"), number(item, "tp"), number(item, "cp"),
                         number(item, "ep"),
                         json_is_null(etp) ? number(item, "tp") : number(item, "etp"),
                         number(item, "pp"), strcmp(order, "tp-cp-ep-pp-dp") == 0, err, grid);
}

static void check_group(const struct tri_grid *grid, const json_t *golden, tri_axis_set axes)
{
    const json_t *members = json_object_get(golden, "members");
    for (int rank = 0; rank < grid->world_size; rank++) {
        size_t which = (size_t)json_integer_value(
            json_array_get(json_object_get(golden, "group_of_rank"), (size_t)rank));
        const json_t *expected = json_array_get(members, which);
        int size = tri_grid_group_size(grid, axes), ranks[64];
        assert_int_equal(size, json_array_size(expected));
        int position = tri_grid_group(grid, rank, axes, ranks);
        assert_int_equal(ranks[position], rank);
        for (int i = 0; i < size; i++)
            assert_int_equal(ranks[i], json_integer_value(json_array_get(expected, (size_t)i)));
    }
}

static void check_embedding(const struct tri_grid *grid, const json_t *golden)
{
    for (int rank = 0; rank < grid->world_size; rank++) {
        const json_t *which =
            json_array_get(json_object_get(golden, "group_of_rank"), (size_t)rank);
        int ranks[2];
        bool member;
        int size = tri_grid_embedding_group(grid, rank, ranks, &member);
        assert_int_equal(member, !json_is_null(which));
        if (!member)
            continue;
        const json_t *expected =
            json_array_get(json_object_get(golden, "members"), (size_t)json_integer_value(which));
        assert_int_equal(size, json_array_size(expected));
        for (int i = 0; i < size; i++)
            assert_int_equal(ranks[i], json_integer_value(json_array_get(expected, (size_t)i)));
    }
}

static void test_groups_equal_megatron(void **state)
{
    (void)state;
    json_t *root = json_load_file("golden/placement/groups.json", 0, NULL);
    assert_non_null(root);
    size_t index;
    json_t *item;
    int checked = 0;
    json_array_foreach(json_object_get(root, "cases"), index, item)
    {
        const char *order = json_string_value(json_object_get(item, "order"));
        if (strcmp(order, "tp-cp-ep-dp-pp") != 0 && strcmp(order, "tp-cp-ep-pp-dp") != 0)
            continue; /* trine has these two orders */
        tri_error *err = tri_error_create();
        struct tri_grid grid;
        tri_status status = plan_case(item, err, &grid);
        if (json_object_get(item, "rejected")) {
            assert_int_equal(status, TRI_INVALID);
            assert_true(tri_error_count(err) > 0);
        } else {
            assert_int_equal(status, TRI_OK);
            const json_t *groups = json_object_get(item, "groups");
            for (size_t i = 0; i < sizeof(group_names) / sizeof(group_names[0]); i++)
                check_group(&grid, json_object_get(groups, group_names[i].name),
                            group_names[i].axes);
            check_embedding(&grid, json_object_get(groups, "embedding"));
            checked++;
        }
        tri_error_destroy(&err);
    }
    assert_true(checked > 5);
    json_decref(root);
}

static void test_move_and_coordinates(void **state)
{
    (void)state;
    struct tri_grid grid;
    assert_int_equal(tri_grid_plan(3000, 5, 1, 1, 5, 12, false, NULL, &grid), TRI_OK);
    assert_int_equal(grid.size[TRI_AXIS_DP], 50);
    int rank = 2999;
    assert_int_equal(tri_grid_coordinate(&grid, rank, TRI_AXIS_TP), 4);
    assert_int_equal(tri_grid_coordinate(&grid, rank, TRI_AXIS_PP), 11);
    for (enum tri_axis axis = 0; axis < TRI_NUM_AXES; axis++) {
        int home = tri_grid_coordinate(&grid, 1234, axis);
        int moved = tri_grid_move(&grid, 1234, axis, grid.size[axis] - 1);
        assert_int_equal(tri_grid_coordinate(&grid, moved, axis), grid.size[axis] - 1);
        assert_int_equal(tri_grid_move(&grid, moved, axis, home), 1234);
    }
}

static void test_bad_sizes_name_what_works(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    struct tri_grid grid;
    assert_int_equal(tri_grid_plan(6, 4, 1, 1, 4, 1, false, err, &grid), TRI_INVALID);
    assert_non_null(strstr(tri_error_message(err, 0), "use 4 or 8 ranks"));
    tri_error_clear(err);
    assert_int_equal(tri_grid_plan(2, 2, 1, 1, 2, 2, false, err, &grid), TRI_INVALID);
    assert_non_null(strstr(tri_error_message(err, 0), "use 4 or 8 ranks"));
    tri_error_clear(err);
    assert_int_equal(tri_grid_plan(0, 0, 1, 1, 1, 0, false, err, &grid), TRI_INVALID);
    assert_int_equal(tri_error_count(err), 3);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_equal_megatron),
        cmocka_unit_test(test_move_and_coordinates),
        cmocka_unit_test(test_bad_sizes_name_what_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
