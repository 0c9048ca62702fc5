/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the safetensors header parser: the input behind its first byte is the first part of a file, whose length
 * is that of the input, or (first byte odd) far larger. Where the first byte has bit 1, the header is all of the
 * input, whatever length it claims, and the claim's first two bytes say how many bytes of tensors follow: so
 * longer and shorter headers are read too.
 */
#include "checkpoint/safetensors.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    int64_t head = (int64_t)size - 1;
    int64_t file_bytes = data[0] & 1 ? INT64_MAX / 2 : head;
    char *copy = malloc(size + 8); /* of exactly the size that is claimed, for the sanitizer */
    tri_arena *arena = tri_arena_create();
    tri_error *err = tri_error_create();
    if (copy && arena && err) {
        memset(copy, 0, 8);
        memcpy(copy, data + 1, size - 1);
        if (data[0] & 2 && head > 8) {
            uint64_t length = (uint64_t)head - 8;
            file_bytes = head + (uint8_t)copy[0] + 256 * (uint8_t)copy[1];
            memcpy(copy, &length, 8);
        }
        struct tri_safetensors file;
        tri_status status =
            tri_safetensors_parse("fuzz", copy, head, file_bytes, arena, err, &file);
        if (status != TRI_OK && tri_error_count(err) == 0)
            abort();
        for (int i = 0; status == TRI_OK && i < file.num_tensors; i++)
            if (tri_safetensors_find(&file, file.tensors[i].name) == NULL ||
                file.tensors[i].end > file_bytes || file.tensors[i].begin < file.header_bytes)
                abort();
    }
    tri_error_destroy(&err);
    tri_arena_destroy(&arena);
    free(copy);
    return 0;
}
