/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain memory as a device. Fresh mappings read as zero and cost nothing until touched; a queue
 * runs at once, so there is nothing to finish, and a mapped address is the address itself.
 */
#include "tensor/device.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* From here on an arena is worth large pages. */
#define HUGE_FROM ((size_t)8 << 20)

static tri_status host_alloc(size_t bytes, tri_error *err, void **address)
{
    if (bytes == 0) {
        *address = NULL;
        return TRI_OK;
    }
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TRI_CHECK(made != MAP_FAILED, err, TRI_NOMEM, "cannot map %zu bytes of memory: %s", bytes,
              strerror(errno));
    if (bytes >=
        HUGE_FROM) /* advice: fewer first touches, and fewer interruptions of the other cores */
        madvise(made, bytes, MADV_HUGEPAGE);
    *address = made;
    return TRI_OK;
}

static void host_free(void *address, size_t bytes)
{
    if (address)
        munmap(address, bytes);
}

static tri_status host_copy(struct tri_queue *queue, void *to, const void *from, size_t bytes,
                            tri_error *err)
{
    (void)queue;
    (void)err;
    if (bytes > 0)
        memmove(to, from, bytes);
    return TRI_OK;
}

static void *host_map(struct tri_queue *queue, void *address, size_t bytes, enum tri_map_mode mode)
{
    (void)queue;
    (void)bytes;
    (void)mode;
    return address;
}

static void host_unmap(struct tri_queue *queue, void *address, void *host)
{
    (void)queue;
    (void)address;
    (void)host;
}

static tri_status host_finish(struct tri_queue *queue, tri_error *err)
{
    (void)queue;
    (void)err;
    return TRI_OK;
}

const struct tri_device tri_device_host = {
    .name = "host",
    .alloc = host_alloc,
    .free = host_free,
    .copy = host_copy,
    .map = host_map,
    .unmap = host_unmap,
    .finish = host_finish,
};
