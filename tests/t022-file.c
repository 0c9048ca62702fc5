/* SPDX-License-Identifier: Apache-2.0 */
/* Small files read whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_size(size_t size)
{
    char path[] = "/tmp/trine-file-XXXXXX";
    int descriptor = mkstemp(path);
    char *content = malloc(size + 1), *text = NULL;
    size_t bytes = 0;
    tri_error *err = tri_error_create();
    for (size_t i = 0; i < size; i++)
        content[i] = (char)(i * 7 % 251);
    assert_int_equal(write(descriptor, content, size), (ssize_t)size);
    close(descriptor);
    assert_int_equal(tri_file_read(path, size, err, &text, &bytes), TRI_OK);
    assert_int_equal(bytes, size);
    assert_memory_equal(text, content, size);
    assert_int_equal(text[size], 0);
    free(text);
    text = NULL;
    if (size > 0) {
        assert_int_equal(tri_file_read(path, size - 1, err, &text, &bytes), TRI_INVALID);
        assert_null(text);
    }
    unlink(path);
    free(content);
    tri_error_destroy(&err);
}

static void test_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 65534, 65535, 65536, 131071, 131072, 1000003};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        check_size(sizes[i]);
}

static void test_no_file(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(tri_file_read("/nowhere/x", 10, err, &text, &bytes), TRI_IO);
    assert_string_equal(tri_error_message(err, 0),
                        "cannot open '/nowhere/x': No such file or directory");
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_no_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
