/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON; json_write.h. */
#include "checkpoint/json_write.h"

#include "checkpoint/io.h"

#include <stdlib.h>
#include <string.h>

tri_status tri_json_write_text(const json_t *root, bool sort, tri_error *err, char **text)
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

tri_status tri_json_write_file(const char *path, const json_t *root, bool sort, tri_error *err)
{
    char *text = NULL;
    TRI_TRY(tri_json_write_text(root, sort, err, &text));
    tri_status status = tri_io_write_all(path, text, (int64_t)strlen(text), err);
    free(text);
    return status;
}
