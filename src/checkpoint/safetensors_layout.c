/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's half of safetensors: header and offsets of a file, computed before any data
   exists. */
#include "checkpoint/safetensors.h"

#include <stdio.h>
#include <string.h>

static const char metadata[] = "{\"__metadata__\":{\"format\":\"pt\"}";

/* Length of name as JSON text writes it; -1 for characters that no tensor of ours has. */
static int64_t layout_name_length(const char *name)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e || *c == '"' || *c == '\\')
            return -1;
    return (int64_t)strlen(name);
}

/* Writes the header's JSON into text (room for bytes), or only counts when text is NULL. */
static int64_t layout_print(const struct tri_safetensors_entry *entries, int num, char *text,
                            size_t bytes)
{
    int64_t at = 0, offset = 0;
#define PUT(...) at += snprintf(text ? text + at : NULL, text ? bytes - (size_t)at : 0, __VA_ARGS__)
    PUT("%s", metadata);
    for (int i = 0; i < num; i++) {
        int64_t elements = 1;
        PUT(",\"%s\":{\"dtype\":\"F32\",\"shape\":[", entries[i].name);
        for (int d = 0; d < entries[i].num_dims; d++) {
            PUT("%s%lld", d ? "," : "", (long long)entries[i].dims[d]);
            elements *= entries[i].dims[d];
        }
        PUT("],\"data_offsets\":[%lld,%lld]}", (long long)offset,
            (long long)(offset + 4 * elements));
        offset += 4 * elements;
    }
    PUT("}");
#undef PUT
    return at;
}

tri_status tri_safetensors_layout(struct tri_safetensors_entry *entries, int num, tri_arena *arena,
                                  tri_error *err, const char **header, int64_t *header_bytes,
                                  int64_t *file_bytes)
{
    for (int i = 0; i < num; i++) {
        TRI_CHECK(layout_name_length(entries[i].name) >= 0, err, TRI_INVALID,
                  "tensor name '%s' cannot be written: plain ASCII without quotes is needed",
                  entries[i].name);
        TRI_CHECK(i == 0 || strcmp(entries[i - 1].name, entries[i].name) < 0, err, TRI_BUG,
                  "tensor '%s' is not in the order of names or stands twice", entries[i].name);
    }
    int64_t text_bytes = layout_print(entries, num, NULL, 0);
    int64_t padded = (text_bytes + 7) / 8 * 8;
    TRI_CHECK(padded <= TRI_SAFETENSORS_MAX_HEADER, err, TRI_INVALID,
              "a header of %lld bytes for %d tensors is more than the %d that readers take; use a "
              "smaller file limit",
              (long long)padded, num, TRI_SAFETENSORS_MAX_HEADER);
    char *made = tri_arena_alloc(arena, (size_t)padded + 9);
    TRI_CHECK(made, err, TRI_NOMEM, "out of memory for a header of %lld bytes", (long long)padded);
    for (int i = 0; i < 8; i++)
        made[i] = (char)((uint64_t)padded >> (8 * i) & 0xff);
    layout_print(entries, num, made + 8, (size_t)text_bytes + 1);
    memset(made + 8 + text_bytes, ' ', (size_t)(padded - text_bytes));
    int64_t at = 8 + padded;
    for (int i = 0; i < num; i++) {
        entries[i].begin = at;
        int64_t elements = 1;
        for (int d = 0; d < entries[i].num_dims; d++)
            elements *= entries[i].dims[d];
        at += 4 * elements;
    }
    *header = made;
    *header_bytes = 8 + padded;
    *file_bytes = at;
    return TRI_OK;
}
