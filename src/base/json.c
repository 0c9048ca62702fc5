/* SPDX-License-Identifier: Apache-2.0 */
/* JSON through jansson: loading, and typed getters. */
#include "base/json.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What jansson's words for the commonest slips do not say: the way out. */
static const char *json_way_out(const char *what)
{
    static const struct {
        const char *words, *way_out;
    } hints[] = {
        {"near end of file", "; the text ends too early"},
        {"premature end of input", "; the text ends too early"},
        {"near 'NaN'", "; JSON has no NaN, write a number or null"},
        {"near 'Infinity'", "; JSON has no Infinity, write a number or null"},
        {"near 'True'", "; write true"},
        {"near 'False'", "; write false"},
        {"near 'None'", "; write null"},
        {"near '/'", "; JSON has no comments"},
        {"near '''", "; quote with \""},
        {"string or '}' expected near '}'", "; no comma goes before it"},
        {"too big integer", "; it does not fit into 64 bits"},
        {"real number overflow", "; it is too large for a number"},
    };
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        if (strstr(what, hints[i].words))
            return hints[i].way_out;
    return "";
}

/* What the file is instead of JSON, seen at its first bytes, or NULL. */
static const char *json_other_kind(const char *text, size_t bytes)
{
    const unsigned char *head = (const unsigned char *)text;
    size_t blank = 0;
    while (blank < bytes && strchr(" \t\r\n", text[blank]) && text[blank])
        blank++;
    if (blank == bytes)
        return "it is empty";
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return "it begins with a byte order mark; save it without";
    if (bytes >= 2 && head[0] >= 0xfe && (head[0] ^ head[1]) == 1)
        return "it is UTF-16; save it as UTF-8";
    return NULL;
}

static tri_status json_problem(const char *text, size_t bytes, const char *name,
                               const json_error_t *problem, tri_error *err)
{
    const char *kind = json_other_kind(text, bytes), *what = problem->text;
    char twice[JSON_ERROR_TEXT_LENGTH + 32];
    if (json_error_code(problem) == json_error_out_of_memory)
        return tri_error_add(err, TRI_NOMEM, "out of memory while '%s' was read", name);
    if (kind || problem->line < 1)
        return tri_error_add(err, TRI_INVALID, "%s: not JSON: %s", name, kind ? kind : what);
    if (json_error_code(problem) == json_error_duplicate_key) {
        const char *key = strchr(what, '"'); /* "... near '"a"'" */
        int length = key ? (int)strlen(key) - 3 : 0;
        snprintf(twice, sizeof(twice), "'%.*s' is given twice; keep one", length,
                 key ? key + 1 : "");
        what = twice;
    } else if (json_error_code(problem) == json_error_null_character) {
        what = "a text with \\u0000 is not read";
    }
    return tri_error_add(err, TRI_INVALID, "%s:%d:%d: not JSON: %s%s", name, problem->line,
                         problem->column, what, json_way_out(what));
}

tri_status tri_json_read_text(const char *text, size_t bytes, const char *name, tri_error *err,
                              json_t **root)
{
    json_error_t problem;
    json_t *made = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem);
    if (!made)
        return json_problem(text, bytes, name, &problem, err);
    *root = made;
    return TRI_OK;
}

tri_status tri_json_read_file(const char *path, size_t max_bytes, tri_error *err, json_t **root)
{
    char *text = NULL;
    size_t bytes = 0;
    TRI_TRY(tri_file_read(path, max_bytes, err, &text, &bytes));
    tri_status status = tri_json_read_text(text, bytes, path, err, root);
    free(text);
    return status;
}

static const char *kind_name(const json_t *value)
{
    if (!value)
        return "missing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        return "null";
    }
    return "unknown";
}

bool tri_json_has(const struct tri_json *json, const char *key)
{
    const json_t *value = json_object_get(json->object, key);
    return value && !json_is_null(value);
}

tri_status tri_json_check_object(const struct tri_json *json)
{
    if (json_is_object(json->object))
        return TRI_OK;
    return tri_error_add(json->err, TRI_INVALID, "%s: expected an object, found %s", json->name,
                         kind_name(json->object));
}

static tri_status json_wrong_kind(const struct tri_json *json, const char *key,
                                  const char *expected)
{
    const json_t *value = json_object_get(json->object, key);
    if (json_is_integer(value))
        return tri_error_add(json->err, TRI_INVALID, "%s: '%s' is %lld, expected %s", json->name,
                             key, (long long)json_integer_value(value), expected);
    if (json_is_real(value))
        return tri_error_add(json->err, TRI_INVALID, "%s: '%s' is %.17g, expected %s", json->name,
                             key, json_real_value(value), expected);
    if (json_is_string(value))
        return tri_error_add(json->err, TRI_INVALID, "%s: '%s' is '%.100s', expected %s",
                             json->name, key, json_string_value(value), expected);
    return tri_error_add(json->err, TRI_INVALID, "%s: '%s' is %s, expected %s", json->name, key,
                         kind_name(value), expected);
}

tri_status tri_json_get_int(const struct tri_json *json, const char *key, int64_t *value)
{
    const json_t *found = json_object_get(json->object, key);
    if (!json_is_integer(found))
        return json_wrong_kind(json, key, "a whole number");
    *value = (int64_t)json_integer_value(found);
    return TRI_OK;
}

tri_status tri_json_get_double(const struct tri_json *json, const char *key, double *value)
{
    const json_t *found = json_object_get(json->object, key);
    if (!json_is_number(found))
        return json_wrong_kind(json, key, "a number");
    *value = json_number_value(found);
    return TRI_OK;
}

tri_status tri_json_get_bool(const struct tri_json *json, const char *key, bool *value)
{
    const json_t *found = json_object_get(json->object, key);
    if (!json_is_boolean(found))
        return json_wrong_kind(json, key, "true or false");
    *value = json_is_true(found);
    return TRI_OK;
}

tri_status tri_json_get_text(const struct tri_json *json, const char *key, const char **value)
{
    const json_t *found = json_object_get(json->object, key);
    if (!json_is_string(found))
        return json_wrong_kind(json, key, "a text");
    *value = json_string_value(found);
    return TRI_OK;
}

tri_status tri_json_get_object(const struct tri_json *json, const char *key, const json_t **value)
{
    const json_t *found = json_object_get(json->object, key);
    if (!json_is_object(found))
        return json_wrong_kind(json, key, "an object");
    *value = found;
    return TRI_OK;
}

tri_status tri_json_get_array(const struct tri_json *json, const char *key, const json_t **value)
{
    const json_t *found = json_object_get(json->object, key);
    if (!json_is_array(found))
        return json_wrong_kind(json, key, "an array");
    *value = found;
    return TRI_OK;
}
