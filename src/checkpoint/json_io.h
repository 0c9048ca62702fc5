/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON files of checkpoints, and members that must be there; base/json.h reads. Local. */
#pragma once

#include "base/json.h"

/* The text of root with indent 2 and a line end, as Python's json.dump(indent=2) writes it; the
   caller's to free(). sort: keys in order of names, else as they were set. */
tri_status tri_json_io_format(const json_t *root, bool sort, tri_error *err, char **text);
/* Writes it to path and syncs. */
tri_status tri_json_io_write(const char *path, const json_t *root, bool sort, tri_error *err);
/* A member of object that must be of type, or NULL with a problem added. path names the file. */
json_t *tri_json_io_member(const json_t *object, const char *key, json_type type, const char *path,
                           tri_error *err);
