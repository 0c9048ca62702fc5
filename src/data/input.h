/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text file read as a stream of bytes or of lines, plain or compressed by gzip or zstd (told by
 * its first bytes). A compressed file is a row of members or frames, read to the end; a cut one,
 * and stray bytes behind the last, are errors with file and byte offset. A byte order mark at the
 * very start is left out.
 */
#pragma once

#include "data/buffer.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tri_input tri_input;

tri_status tri_input_create(const char *path, tri_input **input, tri_error *err);
void tri_input_destroy(tri_input **input);

/* Borrows the next line without its end; \n, \r\n and a lone \r end one. Valid until the next call.
   *has_line is false at the end of the file. */
tri_status tri_input_read_line(tri_input *input, const char **line, size_t *bytes, bool *has_line,
                               tri_error *err);
/* Number of the last line read, from 1. */
int64_t tri_input_line_number(const tri_input *input);
/* Appends everything that is left. */
tri_status tri_input_read_all(tri_input *input, struct tri_bytes *text, tri_error *err);
