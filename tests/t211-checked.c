/* SPDX-License-Identifier: Apache-2.0 */
/* The checked table round a backend with planted faults: each is reported, by operation and tensor;
   a sound backend is not. */
#include "harness/kernel_case.h"

struct log {
    int num;
    char last[256];
};

static void log_report(void *arg, const char *text)
{
    struct log *log = arg;
    log->num++;
    snprintf(log->last, sizeof(log->last), "%s", text);
}

static struct tri_queue queue = {.device = &tri_device_host};

/* Runs y = f(a, b) once through a checked table whose add is the given one. */
static struct log run_add(void (*add)(struct tri_queue *, struct tri_tensor, struct tri_tensor,
                                      struct tri_tensor),
                          bool shadow, float first_input)
{
    struct log log = {0};
    struct tri_kernels inner = *tri_kernels_cpu_ref(), *table = NULL;
    float y[5], a[5] = {first_input, 2, 3, 4, 5}, b[5] = {1, 1, 1, 1, 1};
    inner.add = add;
    assert_int_equal(tri_kernels_create_checked(&inner, shadow, log_report, &log, NULL, &table),
                     TRI_OK);
    table->add(&queue, tri_tensor_f32_1d(y, 5), tri_tensor_f32_1d(a, 5), tri_tensor_f32_1d(b, 5));
    tri_kernels_destroy_checked(&table);
    assert_null(table);
    return log;
}

static void add_forgets(struct tri_queue *q, struct tri_tensor y, struct tri_tensor a,
                        struct tri_tensor b)
{
    y.dims[0]--; /* the last element is never written */
    tri_kernels_cpu_ref()->add(q, y, a, b);
}

static void add_writes_input(struct tri_queue *q, struct tri_tensor y, struct tri_tensor a,
                             struct tri_tensor b)
{
    tri_kernels_cpu_ref()->add(q, y, a, b);
    ((float *)b.data)[2] = 7;
}

static void add_is_wrong(struct tri_queue *q, struct tri_tensor y, struct tri_tensor a,
                         struct tri_tensor b)
{
    tri_kernels_cpu_ref()->add(q, y, a, b);
    ((float *)y.data)[3] += 0.1f;
}

static void test_sound(void **state)
{
    (void)state;
    assert_int_equal(run_add(tri_kernels_cpu_ref()->add, true, 1).num, 0);
    assert_int_equal(run_add(tri_kernels_cpu_fast()->add, true, 1).num, 0);
    assert_int_equal(run_add(tri_kernels_cpu_ref()->add, true, NAN).num, 0); /* came from outside */
}

static void test_unwritten_output(void **state)
{
    (void)state;
    struct log log = run_add(add_forgets, false, 1);
    assert_int_equal(log.num, 1);
    assert_string_equal(log.last, "operation 'add' of backend 'cpu_ref', tensor 'y': non-finite "
                                  "result of finite inputs");
}

static void test_changed_input(void **state)
{
    (void)state;
    struct log log = run_add(add_writes_input, false, 1);
    assert_int_equal(log.num, 1);
    assert_string_equal(log.last, "operation 'add' of backend 'cpu_ref', tensor 'b': an input was "
                                  "changed");
}

static void test_wrong_result(void **state)
{
    (void)state;
    assert_int_equal(run_add(add_is_wrong, false, 1).num, 0);
    struct log log = run_add(add_is_wrong, true, 1);
    assert_int_equal(log.num, 1);
    assert_string_equal(log.last, "operation 'add' of backend 'cpu_ref', tensor 'y': differs from "
                                  "cpu_ref by 0.1 where the largest value is 6");
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    struct log log = {0};
    struct tri_kernels *first = NULL, *second = NULL;
    tri_error *err = tri_error_create();
    const struct tri_kernels *inner = tri_kernels_cpu_ref();
    assert_int_equal(tri_kernels_create_checked(inner, true, log_report, &log, err, &first),
                     TRI_OK);
    assert_int_equal(tri_kernels_create_checked(inner, true, log_report, &log, err, &second),
                     TRI_INVALID);
    assert_null(second);
    assert_string_equal(tri_error_message(err, 0),
                        "a checked table round 'cpu_ref' exists already; destroy it first");
    tri_kernels_destroy_checked(&first);
    tri_kernels_destroy_checked(&first);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),         cmocka_unit_test(test_unwritten_output),
        cmocka_unit_test(test_changed_input), cmocka_unit_test(test_wrong_result),
        cmocka_unit_test(test_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
