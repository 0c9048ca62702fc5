/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the data tests share: reading golden JSON files, comparing arrays with them, writing small
 * files into a folder of the test's own, and looking for words in an error record. A failed helper
 * fails the test that called it.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "trine/error.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline json_t *case_load(const char *path)
{
    json_error_t error;
    json_t *json = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (!json)
        fail_msg("%s: %s", path, error.text);
    return json;
}

static inline json_int_t case_int(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        fail_msg("case has no integer '%s'", key);
    return json_integer_value(value);
}

static inline int case_flag(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static inline const char *case_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text)
        fail_msg("case has no text '%s'", key);
    return text;
}

/* Fails with the place of the first difference. */
static inline void case_same_ids(const char *name, const json_t *expected, const int32_t *found,
                                 int64_t num)
{
    size_t count = json_array_size(expected);
    for (size_t i = 0; i < count && (int64_t)i < num; i++) {
        json_int_t want = json_integer_value(json_array_get(expected, i));
        if (want != found[i])
            fail_msg("%s: entry %zu is %d, expected %lld", name, i, found[i], (long long)want);
    }
    if ((int64_t)count != num)
        fail_msg("%s: %lld entries, expected %zu", name, (long long)num, count);
}

static char case_dir[64];

static inline int case_dir_create(void **state)
{
    (void)state;
    snprintf(case_dir, sizeof(case_dir), "/tmp/trine-data-XXXXXX");
    return mkdtemp(case_dir) ? 0 : -1;
}

static inline int case_dir_remove(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", case_dir);
    return system(command);
}

/* A path in the test's folder; valid until the fourth call after. */
static inline const char *case_path(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", case_dir, name);
    return path;
}

static inline void case_write(const char *name, const void *data, size_t bytes)
{
    FILE *file = fopen(case_path(name), "wb");
    assert_non_null(file);
    if (bytes)
        assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static inline char *case_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    data[*bytes] = '\0';
    fclose(file);
    return data;
}

/* The record holds one message with this status and every one of the words; it is cleared. */
static inline void case_expect(tri_error *err, tri_status found, tri_status status, ...)
{
    va_list words;
    const char *message = tri_error_message(err, 0);
    if (found != status)
        fail_msg("status is '%s', expected '%s': %s", tri_status_text(found),
                 tri_status_text(status), message);
    va_start(words, status);
    for (const char *word = va_arg(words, const char *); word; word = va_arg(words, const char *)) {
        if (!strstr(message, word))
            fail_msg("'%s' is not in the message: %s", word, message);
    }
    va_end(words);
    tri_error_clear(err);
}

/* The call succeeded; its message otherwise. */
static inline void case_ok(tri_error *err, tri_status status)
{
    if (status != TRI_OK)
        fail_msg("%s: %s", tri_status_text(status), tri_error_message(err, 0));
}
