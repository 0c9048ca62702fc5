/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing buffers of bytes and of token ids, for code that reads and encodes text. A zeroed struct
 * is an empty buffer. The data room's training path does not use them: it allocates nothing.
 */
#pragma once

#include "base/check.h"

#include <stddef.h>
#include <stdint.h>

struct tri_bytes {
    char *data;
    size_t num, room;
};

struct tri_ids {
    int32_t *data;
    int64_t num, room;
};

/* Makes room for at least extra more entries. */
tri_status tri_bytes_reserve(struct tri_bytes *bytes, size_t extra, tri_error *err);
tri_status tri_bytes_append(struct tri_bytes *bytes, const void *data, size_t num, tri_error *err);
tri_status tri_bytes_append_byte(struct tri_bytes *bytes, char byte, tri_error *err);
void tri_bytes_fini(struct tri_bytes *bytes);

tri_status tri_ids_append(struct tri_ids *ids, int32_t id, tri_error *err);
tri_status tri_ids_append_all(struct tri_ids *ids, const int32_t *data, int64_t num,
                              tri_error *err);
void tri_ids_fini(struct tri_ids *ids);

/* Appends the whole file to bytes. */
tri_status tri_bytes_read_file(struct tri_bytes *bytes, const char *path, tri_error *err);
