/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of any content through the loader and the getters. */
#include "replay.h"

#include "base/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tri_error *err = tri_error_create();
    json_t *root = NULL;
    tri_status status = tri_json_read_text((const char *)data, size, "fuzz.json", err, &root);
    if ((status == TRI_OK) != (root != NULL) || (status == TRI_OK) != (tri_error_count(err) == 0))
        abort();
    struct tri_json json = {.object = root, .name = "fuzz.json", .err = err};
    if (root && tri_json_check_object(&json) == TRI_OK) {
        int64_t number;
        const char *text;
        tri_json_get_int(&json, "a", &number);
        tri_json_get_text(&json, "b", &text);
    }
    json_decref(root);
    tri_error_destroy(&err);
    return 0;
}
