/* SPDX-License-Identifier: Apache-2.0 */
/* Views: every index of a view must fall on the element that it names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tensor/tensor.h"

#include <string.h>

static int64_t at(const struct tri_tensor *t, const int64_t *index)
{
    int64_t offset = 0;
    for (int i = 0; i < t->num_dims; i++)
        offset += index[i] * t->strides[i];
    return (int64_t)((const float *)t->data)[offset];
}

static float data[2 * 3 * 5 * 7];

static struct tri_tensor make_view(void)
{
    const int64_t dims[4] = {2, 3, 5, 7};
    for (int i = 0; i < 210; i++)
        data[i] = (float)i;
    return tri_tensor_view(data, TRI_DTYPE_F32, 4, dims);
}

static void test_view(void **state)
{
    (void)state;
    struct tri_tensor t = make_view();
    assert_int_equal(tri_tensor_elements(&t), 210);
    assert_int_equal(tri_tensor_bytes(&t), 840);
    assert_true(tri_tensor_is_contiguous(&t));
    const int64_t index[4] = {1, 2, 3, 4};
    assert_int_equal(at(&t, index), ((1 * 3 + 2) * 5 + 3) * 7 + 4);
    struct tri_tensor scalar = tri_tensor_view(data, TRI_DTYPE_F64, 0, NULL);
    assert_int_equal(tri_tensor_elements(&scalar), 1);
    assert_int_equal(tri_tensor_bytes(&scalar), 8);
    struct tri_tensor vector = tri_tensor_f32_1d(data, 9), matrix = tri_tensor_f32_2d(data, 3, 4);
    assert_int_equal(tri_tensor_elements(&vector), 9);
    assert_int_equal(matrix.strides[0], 4);
    assert_ptr_equal(tri_tensor_f32(&matrix), data);
}

static void test_slice_and_rows(void **state)
{
    (void)state;
    struct tri_tensor t = make_view();
    struct tri_tensor inner = tri_tensor_slice(&t, 3, 2, 4);
    assert_false(tri_tensor_is_contiguous(&inner));
    const int64_t index[4] = {1, 0, 4, 3};
    assert_int_equal(at(&inner, index), (1 * 3 * 5 + 4) * 7 + 5);
    struct tri_tensor rows = tri_tensor_rows(&inner);
    assert_int_equal(rows.dims[0], 30);
    assert_int_equal(rows.dims[1], 4);
    const int64_t row_index[2] = {19, 3};
    assert_int_equal(at(&rows, row_index), at(&inner, index));
    struct tri_tensor outer = tri_tensor_slice(&t, 0, 1, 1);
    assert_true(tri_tensor_is_contiguous(&outer));
    struct tri_tensor one = tri_tensor_slice(&outer, 1, 2, 1);
    assert_true(tri_tensor_is_contiguous(&one));
    rows = tri_tensor_rows(&one);
    assert_int_equal(rows.dims[0], 5);
    assert_int_equal(rows.strides[0], 7);
    const int64_t last[2] = {4, 6};
    assert_int_equal(at(&rows, last), 209);
    struct tri_tensor none = tri_tensor_slice(&t, 1, 3, 0);
    assert_int_equal(tri_tensor_elements(&none), 0);
    assert_true(tri_tensor_is_contiguous(&none));
    assert_int_equal(tri_tensor_rows(&none).dims[0], 0);
    struct tri_tensor vector = tri_tensor_f32_1d(data, 9);
    rows = tri_tensor_rows(&vector);
    assert_int_equal(rows.dims[0], 1);
    assert_int_equal(rows.dims[1], 9);
}

static void test_reshape(void **state)
{
    (void)state;
    struct tri_tensor t = make_view();
    const int64_t dims[3] = {6, 1, 35}, other_dims[3] = {6, 35, 1};
    struct tri_tensor r = tri_tensor_reshape(&t, 3, dims);
    struct tri_tensor s = tri_tensor_reshape(&t, 3, other_dims);
    const int64_t index[3] = {5, 0, 34};
    assert_int_equal(at(&r, index), 209);
    assert_false(tri_tensor_same_dims(&r, &s));
    assert_true(tri_tensor_same_dims(&r, &r));
    s = r;
    s.dtype = TRI_DTYPE_BF16;
    assert_false(tri_tensor_same_dims(&r, &s));
    assert_int_equal(tri_tensor_bytes(&s), 420);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_view),
                                       cmocka_unit_test(test_slice_and_rows),
                                       cmocka_unit_test(test_reshape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
