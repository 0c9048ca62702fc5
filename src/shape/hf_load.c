/* SPDX-License-Identifier: Apache-2.0 */
/* Getting at a config.json: the file's bytes, its JSON, its model_type. */
#include "shape/hf_inner.h"

#include "base/file.h"
#include "base/json.h"

#include <stdio.h>
#include <sys/stat.h>

#define LARGEST_FILE ((size_t)16 << 20)

tri_status tri_hf_config_load(const char *path, tri_error *err, char **text, size_t *bytes)
{
    char inner[4096];
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        int length = snprintf(inner, sizeof(inner), "%s/config.json", path);
        if (length < 0 || (size_t)length >= sizeof(inner))
            return tri_error_add(err, TRI_INVALID, "path '%.64s...' is too long", path);
        path = inner;
    }
    return tri_file_read(path, LARGEST_FILE, err, text, bytes);
}

json_t *tri_hf_parse(const char *text, size_t bytes, const char *name, tri_error *err)
{
    json_t *root;
    if (tri_json_read_text(text, bytes, name, err, &root) != TRI_OK)
        return NULL;
    struct tri_json json = {.object = root, .name = name, .err = err};
    if (tri_json_check_object(&json) == TRI_OK)
        return root;
    json_decref(root);
    return NULL;
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
        status = tri_error_add(
            err, TRI_INVALID, "%s: 'model_type' is missing or no text; it names the model's family",
            name);
    else
        snprintf(buffer, bytes, "%s", type);
    json_decref(root);
    return status;
}
