/* SPDX-License-Identifier: Apache-2.0 */
/* A Megatron index of any content against a .bin file of the size that it claims. */
#include "replay.h"

#include "data/indexed_format.h"

#include <stdlib.h>

/* Every number that tri_idx_read let pass must be safe to use. */
static void walk(const struct tri_idx *idx)
{
    int64_t end = 0;
    for (int64_t i = 0; i < idx->num_sequences; i++) {
        if (tri_idx_length(idx, i) < 0 || tri_idx_offset(idx, i) != end)
            abort();
        end += tri_idx_length(idx, i) * idx->token_bytes;
    }
    for (int64_t i = 0; i < idx->num_boundaries; i++) {
        int64_t boundary = tri_idx_boundary(idx, i);
        if (boundary < 0 || boundary > idx->num_sequences)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tri_error *err = tri_error_create();
    struct tri_idx idx = {0};
    int64_t bin_size = 0;
    if (size >= TRI_IDX_HEADER_BYTES + 4)
        bin_size = (int64_t)data[TRI_IDX_HEADER_BYTES] * tri_idx_type_bytes(data[17]);
    tri_status status = tri_idx_read(data, size, "fuzz.idx", bin_size, "fuzz.bin", &idx, err);
    if ((status == TRI_OK) != (tri_error_count(err) == 0))
        abort();
    if (status == TRI_OK)
        walk(&idx);
    tri_error_destroy(&err);
    return 0;
}
