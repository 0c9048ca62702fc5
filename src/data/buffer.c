/* SPDX-License-Identifier: Apache-2.0 */
/* Growing buffers (buffer.h). */
#include "data/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tri_status tri_bytes_reserve(struct tri_bytes *bytes, size_t extra, tri_error *err)
{
    if (bytes->room - bytes->num >= extra)
        return TRI_OK;
    TRI_CHECK(extra < SIZE_MAX / 4 && bytes->num < SIZE_MAX / 4, err, TRI_NOMEM,
              "out of memory for a text of %zu bytes", bytes->num);
    size_t room = bytes->room ? bytes->room + bytes->room / 2 : 64;
    if (room < bytes->num + extra)
        room = bytes->num + extra;
    char *data = realloc(bytes->data, room);
    TRI_CHECK(data, err, TRI_NOMEM, "out of memory for %zu bytes of text", room);
    bytes->data = data;
    bytes->room = room;
    return TRI_OK;
}

tri_status tri_bytes_append(struct tri_bytes *bytes, const void *data, size_t num, tri_error *err)
{
    TRI_TRY(tri_bytes_reserve(bytes, num, err));
    if (num)
        memcpy(bytes->data + bytes->num, data, num);
    bytes->num += num;
    return TRI_OK;
}

tri_status tri_bytes_append_byte(struct tri_bytes *bytes, char byte, tri_error *err)
{
    return tri_bytes_append(bytes, &byte, 1, err);
}

void tri_bytes_fini(struct tri_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct tri_bytes){0};
}

tri_status tri_ids_append(struct tri_ids *ids, int32_t id, tri_error *err)
{
    return tri_ids_append_all(ids, &id, 1, err);
}

tri_status tri_ids_append_all(struct tri_ids *ids, const int32_t *data, int64_t num, tri_error *err)
{
    if (ids->room - ids->num < num) {
        int64_t room = ids->room ? ids->room + ids->room / 2 : 64;
        if (room < ids->num + num)
            room = ids->num + num;
        int32_t *grown = realloc(ids->data, (size_t)room * sizeof(*grown));
        TRI_CHECK(grown, err, TRI_NOMEM, "out of memory for %lld token ids", (long long)room);
        ids->data = grown;
        ids->room = room;
    }
    if (num)
        memcpy(ids->data + ids->num, data, (size_t)num * sizeof(*data));
    ids->num += num;
    return TRI_OK;
}

void tri_ids_fini(struct tri_ids *ids)
{
    free(ids->data);
    *ids = (struct tri_ids){0};
}

tri_status tri_bytes_read_file(struct tri_bytes *bytes, const char *path, tri_error *err)
{
    FILE *file = fopen(path, "rb");
    TRI_CHECK(file, err, TRI_IO, "cannot open '%s': %s", path, strerror(errno));
    tri_status status = TRI_OK;
    for (size_t got = 1; status == TRI_OK && got > 0;) {
        status = tri_bytes_reserve(bytes, 1 << 16, err);
        if (status != TRI_OK)
            break;
        got = fread(bytes->data + bytes->num, 1, bytes->room - bytes->num, file);
        bytes->num += got;
    }
    if (status == TRI_OK && ferror(file))
        status = tri_error_set(err, TRI_IO, "cannot read '%s': %s", path, strerror(errno));
    fclose(file);
    return status;
}
