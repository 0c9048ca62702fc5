/* SPDX-License-Identifier: Apache-2.0 */
/* Small files read whole. */
#pragma once

#include "base/check.h"

#include <stddef.h>

/* Reads the file into memory that the caller frees; a zero byte follows the last one. Refuses more
   than max_bytes. Local. */
tri_status tri_file_read(const char *path, size_t max_bytes, tri_error *err, char **text,
                         size_t *bytes);
