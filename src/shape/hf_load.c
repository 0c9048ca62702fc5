/* SPDX-License-Identifier: Apache-2.0 */
/* Getting at a config.json: the file's bytes, its JSON, its model_type. */
#include "shape/hf_inner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LARGEST_FILE ((size_t)16 << 20)

/* Reads an open file; size comes from the caller and is not trusted. */
static tri_status load_bytes(FILE *file, const char *path, tri_error *err, char **text,
                             size_t *bytes)
{
    size_t room = 65536, used = 0;
    char *buffer = malloc(room);
    while (buffer) {
        used += fread(buffer + used, 1, room - used, file);
        if (used < room || used > LARGEST_FILE)
            break;
        char *larger = realloc(buffer, 2 * room);
        if (!larger)
            free(buffer);
        buffer = larger;
        room *= 2;
    }
    if (!buffer)
        return tri_error_set(err, TRI_NOMEM, "out of memory while reading '%s'", path);
    if (ferror(file) || used > LARGEST_FILE) {
        free(buffer);
        if (used > LARGEST_FILE)
            return tri_error_set(err, TRI_INVALID,
                                 "'%s' has more than %zu bytes, too many for a config.json", path,
                                 LARGEST_FILE);
        return tri_error_set(err, TRI_IO, "cannot read '%s': %s", path, strerror(errno));
    }
    *text = buffer;
    *bytes = used;
    return TRI_OK;
}

tri_status tri_hf_config_load(const char *path, tri_error *err, char **text, size_t *bytes)
{
    char inner[4096];
    struct stat status;
    TRI_CHECK(stat(path, &status) == 0, err, TRI_IO, "cannot open '%s': %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode)) {
        int length = snprintf(inner, sizeof(inner), "%s/config.json", path);
        TRI_CHECK(length > 0 && (size_t)length < sizeof(inner), err, TRI_INVALID,
                  "path '%.64s...' is too long", path);
        path = inner;
    } else {
        TRI_CHECK(S_ISREG(status.st_mode), err, TRI_IO, "'%s' is neither a file nor a directory",
                  path);
    }
    FILE *file = fopen(path, "rb");
    TRI_CHECK(file, err, TRI_IO, "cannot open '%s': %s", path, strerror(errno));
    tri_status result = load_bytes(file, path, err, text, bytes);
    fclose(file);
    return result;
}

json_t *tri_hf_parse(const char *text, size_t bytes, const char *name, tri_error *err)
{
    json_error_t problem;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem);
    if (!root) {
        tri_error_add(err, TRI_INVALID, "%s:%d:%d: not a complete JSON object: %s", name,
                      problem.line, problem.column, problem.text);
        return NULL;
    }
    if (!json_is_object(root)) {
        tri_error_add(err, TRI_INVALID, "'%s' holds no JSON object; a config.json is one", name);
        json_decref(root);
        return NULL;
    }
    return root;
}

tri_status tri_hf_config_model_type(const char *text, size_t text_bytes, const char *name,
                                    tri_error *err, char *buffer, size_t bytes)
{
    json_t *root = tri_hf_parse(text, text_bytes, name, err);
    if (!root)
        return TRI_INVALID;
    const char *type = json_string_value(json_object_get(root, "model_type"));
    tri_status status = TRI_OK;
    if (!type)
        status =
            tri_error_add(err, TRI_INVALID,
                          "'%s' has no 'model_type'; it says which family the model is of", name);
    else
        snprintf(buffer, bytes, "%s", type);
    json_decref(root);
    return status;
}
