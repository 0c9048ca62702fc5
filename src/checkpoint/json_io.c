/* SPDX-License-Identifier: Apache-2.0 */
/* JSON files of checkpoints. */
#include "checkpoint/json_io.h"

#include "checkpoint/io.h"

#include <stdlib.h>
#include <string.h>

tri_status tri_json_io_format(const json_t *root, bool sort, tri_error *err, char **text)
{
    char *made = json_dumps(root, JSON_INDENT(2) | (sort ? JSON_SORT_KEYS : 0));
    size_t n = made ? strlen(made) : 0;
    char *longer = made ? realloc(made, n + 2) : NULL;
    if (!longer) {
        free(made);
        return tri_error_add(err, TRI_NOMEM, "out of memory for JSON text");
    }
    memcpy(longer + n, "\n", 2);
    *text = longer;
    return TRI_OK;
}

tri_status tri_json_io_write(const char *path, const json_t *root, bool sort, tri_error *err)
{
    char *text = NULL;
    TRI_TRY(tri_json_io_format(root, sort, err, &text));
    tri_status status = tri_io_write_all(path, text, (int64_t)strlen(text), err);
    free(text);
    return status;
}

static const char *json_type_name(json_type type)
{
    switch (type) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
        return "a whole number";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        break;
    }
    return "null";
}

json_t *tri_json_io_member(const json_t *object, const char *key, json_type type, const char *path,
                           tri_error *err)
{
    json_t *value = json_object_get(object, key);
    if (value && json_typeof(value) == type)
        return value;
    if (!value)
        tri_error_add(err, TRI_INVALID, "'%s': '%s' is missing", path, key);
    else
        tri_error_add(err, TRI_INVALID, "'%s': '%s' is %s, expected %s", path, key,
                      json_type_name(json_typeof(value)), json_type_name(type));
    return NULL;
}
