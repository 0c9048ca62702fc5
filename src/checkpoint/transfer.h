/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving elements between a file tensor and the range of a parameter that a rank holds, tile by
 * tile (layout.h), through a bounded buffer where runs are small, strided or of another type. A
 * writer writes exactly its own bytes. A reader may also read the small gaps between its runs. Both
 * add the checksum of their elements to *sum (fp32 files). Local.
 */
#pragma once

#include "base/dtype.h"
#include "checkpoint/checksum.h"
#include "checkpoint/layout.h"

/* Bytes of the buffer that saving and loading need; more makes nothing wrong, less is refused. */
#define TRI_STAGING_BYTES ((size_t)2 << 20)

struct tri_transfer {
    void *staging; /* TRI_STAGING_BYTES */
    const struct tri_checksum *checksum;
    tri_error *err;
};

/* Writes the elements of range, which lie at data, that disk holds. */
tri_status tri_transfer_write(const struct tri_transfer *transfer, int fd, const char *path,
                              const struct tri_disk_tensor *disk,
                              const struct tri_local_range *range, const float *data,
                              uint64_t *sum);
/* Reads them; disk->begin and dtype are those of the file that is read. sum may be NULL. */
tri_status tri_transfer_read(const struct tri_transfer *transfer, int fd, const char *path,
                             enum tri_dtype dtype, const struct tri_disk_tensor *disk,
                             const struct tri_local_range *range, float *data, uint64_t *sum);
