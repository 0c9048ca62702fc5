/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON through jansson: loading with file, line and column in every message, and getters that name
 * the key and what was expected. A getter writes its output only on success; all it returns is
 * borrowed from the tree.
 */
#pragma once

#include "base/check.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Loads a file of at most max_bytes. A key given twice is an error. The caller ends *root with
   json_decref(). Local. */
tri_status tri_json_read_file(const char *path, size_t max_bytes, tri_error *err, json_t **root);
/* The same from memory; name stands for the file in messages. */
tri_status tri_json_read_text(const char *text, size_t bytes, const char *name, tri_error *err,
                              json_t **root);

/* An object inside a file, for the getters. */
struct tri_json {
    const json_t *object;
    const char *name; /* how messages call it: "config.json", "config.json: 'rope_scaling'" */
    tri_error *err;
};

/* True when the key is there and not null. */
bool tri_json_has(const struct tri_json *json, const char *key);
/* Fails unless the value is an object. */
tri_status tri_json_check_object(const struct tri_json *json);
tri_status tri_json_get_int(const struct tri_json *json, const char *key, int64_t *value);
/* Whole numbers are read too. */
tri_status tri_json_get_double(const struct tri_json *json, const char *key, double *value);
tri_status tri_json_get_bool(const struct tri_json *json, const char *key, bool *value);
tri_status tri_json_get_text(const struct tri_json *json, const char *key, const char **value);
tri_status tri_json_get_object(const struct tri_json *json, const char *key, const json_t **value);
tri_status tri_json_get_array(const struct tri_json *json, const char *key, const json_t **value);
