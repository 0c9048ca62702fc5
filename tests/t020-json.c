/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: places of errors, typed getters and what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *read_text(const char *text, tri_error *err)
{
    json_t *root = NULL;
    tri_error_clear(err);
    tri_json_read_text(text, strlen(text), "config.json", err, &root);
    return root;
}

static void check_refused(const char *text, const char *message)
{
    tri_error *err = tri_error_create();
    assert_null(read_text(text, err));
    assert_int_equal(tri_error_status(err), TRI_INVALID);
    assert_string_equal(tri_error_message(err, 0), message);
    tri_error_destroy(&err);
}

static void test_syntax(void **state)
{
    (void)state;
    check_refused(
        "{\n  \"a\": 1,\n}",
        "config.json:3:1: not JSON: string or '}' expected near '}'; no comma goes before "
        "it");
    check_refused("", "config.json: not JSON: it is empty");
    check_refused("{\"a\": 1, \"a\": 2}",
                  "config.json:1:12: not JSON: 'a' is given twice; keep one");
    check_refused("{\"a\": 123456789012345678901234567890}",
                  "config.json:1:36: not JSON: too big integer; it does not fit into 64 bits");
    tri_error *err = tri_error_create();
    char deep[10000];
    memset(deep, '[', sizeof(deep));
    json_t *root = NULL;
    assert_int_equal(tri_json_read_text(deep, sizeof(deep), "x", err, &root), TRI_INVALID);
    assert_null(root);
    tri_error_destroy(&err);
}

static void test_getters(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    json_t *root = read_text("{\"i\": 7, \"r\": 0.5, \"b\": true, \"t\": \"text\", \"n\": null, "
                             "\"o\": {\"x\": 1}, \"a\": [1, 2]}",
                             err);
    struct tri_json json = {.object = root, .name = "config.json", .err = err};
    int64_t number = -1;
    double real = -1;
    bool flag = false;
    const char *text = NULL;
    const json_t *node = NULL;
    assert_int_equal(tri_json_check_object(&json), TRI_OK);
    assert_int_equal(tri_json_get_int(&json, "i", &number), TRI_OK);
    assert_int_equal(number, 7);
    assert_int_equal(tri_json_get_double(&json, "r", &real), TRI_OK);
    assert_true(real == 0.5);
    assert_int_equal(tri_json_get_double(&json, "i", &real), TRI_OK);
    assert_true(real == 7);
    assert_int_equal(tri_json_get_bool(&json, "b", &flag), TRI_OK);
    assert_true(flag);
    assert_int_equal(tri_json_get_text(&json, "t", &text), TRI_OK);
    assert_string_equal(text, "text");
    assert_int_equal(tri_json_get_object(&json, "o", &node), TRI_OK);
    assert_int_equal(tri_json_get_array(&json, "a", &node), TRI_OK);
    assert_int_equal(json_array_size(node), 2);
    assert_true(tri_json_has(&json, "i"));
    assert_false(tri_json_has(&json, "n"));
    assert_false(tri_json_has(&json, "z"));
    assert_int_equal(tri_error_count(err), 0);

    number = -5;
    assert_int_equal(tri_json_get_int(&json, "r", &number), TRI_INVALID);
    tri_json_get_int(&json, "t", &number);
    tri_json_get_int(&json, "z", &number);
    tri_json_get_double(&json, "n", &real);
    tri_json_get_bool(&json, "i", &flag);
    tri_json_get_text(&json, "a", &text);
    tri_json_get_object(&json, "b", &node);
    tri_json_get_array(&json, "o", &node);
    assert_int_equal(number, -5);
    static const char *const messages[] = {
        "config.json: 'r' is 0.5, expected a whole number",
        "config.json: 't' is 'text', expected a whole number",
        "config.json: 'z' is missing, expected a whole number",
        "config.json: 'n' is null, expected a number",
        "config.json: 'i' is 7, expected true or false",
        "config.json: 'a' is an array, expected a text",
        "config.json: 'b' is a boolean, expected an object",
        "config.json: 'o' is an object, expected an array",
    };
    for (int i = 0; i < 8; i++)
        assert_string_equal(tri_error_message(err, i), messages[i]);
    json_decref(root);
    root = read_text("[1]", err);
    json.object = root;
    assert_int_equal(tri_json_check_object(&json), TRI_INVALID);
    assert_string_equal(tri_error_message(err, 0),
                        "config.json: expected an object, found an array");
    json_decref(root);
    tri_error_destroy(&err);
}

static void test_file(void **state)
{
    (void)state;
    tri_error *err = tri_error_create();
    char path[] = "/tmp/trine-json-XXXXXX";
    int descriptor = mkstemp(path);
    assert_int_equal(write(descriptor, "{\"a\": [1]}", 10), 10);
    close(descriptor);
    json_t *root = NULL;
    assert_int_equal(tri_json_read_file(path, 100, err, &root), TRI_OK);
    assert_int_equal(json_object_size(root), 1);
    json_decref(root);
    root = NULL;
    assert_int_equal(tri_json_read_file(path, 9, err, &root), TRI_INVALID);
    assert_non_null(strstr(tri_error_message(err, 0), "' has more than 9 bytes"));
    unlink(path);
    assert_int_equal(tri_json_read_file(path, 100, err, &root), TRI_IO);
    assert_null(root);
    tri_error_destroy(&err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_syntax),
                                       cmocka_unit_test(test_getters), cmocka_unit_test(test_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
