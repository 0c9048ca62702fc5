/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the JSON files of checkpoints; base/json.h reads. Local. */
#pragma once

#include "base/json.h"

/* The text of root with indent 2 and a line end, as Python's json.dump(indent=2) writes it; the
   caller's to free(). sort: keys in order of names, else as they were set. */
tri_status tri_json_write_text(const json_t *root, bool sort, tri_error *err, char **text);
/* Writes it to path and syncs. */
tri_status tri_json_write_file(const char *path, const json_t *root, bool sort, tri_error *err);
