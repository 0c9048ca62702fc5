/* SPDX-License-Identifier: Apache-2.0 */
/* Storage: one allocation of one device, and the paint that shows which bytes were written. */
#include "tensor/storage.h"

#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STORAGE_HAS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define STORAGE_HAS_SANITIZER 1
#endif

#ifdef STORAGE_HAS_SANITIZER
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

#define STORAGE_PAINT 0xa5

/* The sanitizer's own watch is the better one, and its gaps must not be touched. */
#if defined(TRI_DEBUG) && !defined(STORAGE_HAS_SANITIZER)
#define STORAGE_PAINTS_GAPS true
#else
#define STORAGE_PAINTS_GAPS false
#endif

struct tri_storage {
    const struct tri_device *device;
    const char *name;
    unsigned char *address; /* NULL when bytes is 0 */
    size_t bytes;
};

tri_status tri_storage_create(const struct tri_device *device, const char *name, size_t bytes,
                              tri_error *err, tri_storage **storage)
{
    tri_storage *made = calloc(1, sizeof(*made));
    TRI_CHECK(made, err, TRI_NOMEM, "out of memory for storage '%s'", name);
    *made = (struct tri_storage){.device = device, .name = name, .bytes = bytes};
    if (bytes > 0) {
        void *address = NULL;
        tri_status status = device->alloc(bytes, NULL, &address);
        if (status != TRI_OK) {
            free(made);
            return tri_error_set(err, status,
                                 "cannot allocate %zu bytes on device '%s' for arena '%s'; "
                                 "'trine plan' shows what needs them",
                                 bytes, device->name, name);
        }
        made->address = address;
    }
    *storage = made;
    return TRI_OK;
}

void tri_storage_destroy(tri_storage **storage)
{
    tri_storage *old = *storage;
    if (!old)
        return;
    if (old->address) {
        tri_storage_open_gap(old, 0, old->bytes); /* the next mapping may lie here */
        old->device->free(old->address, old->bytes);
    }
    free(old);
    *storage = NULL;
}

void *tri_storage_get(const tri_storage *storage, size_t offset)
{
    TRI_ASSERT(offset <= storage->bytes);
    return storage->address ? storage->address + offset : NULL;
}

size_t tri_storage_bytes(const tri_storage *storage)
{
    return storage->bytes;
}

const char *tri_storage_name(const tri_storage *storage)
{
    return storage->name;
}

void tri_storage_paint(tri_storage *storage)
{
    if (!storage->address)
        return;
    struct tri_queue queue = {.device = storage->device};
    void *host = storage->device->map(&queue, storage->address, storage->bytes, TRI_MAP_WRITE);
    memset(host, STORAGE_PAINT, storage->bytes);
    storage->device->unmap(&queue, storage->address, host);
}

size_t tri_storage_highest(const tri_storage *storage)
{
    if (!storage->address)
        return 0;
    struct tri_queue queue = {.device = storage->device};
    unsigned char *host =
        storage->device->map(&queue, storage->address, storage->bytes, TRI_MAP_READ);
    size_t highest = storage->bytes;
    while (highest > 0 && host[highest - 1] == STORAGE_PAINT)
        highest--;
    storage->device->unmap(&queue, storage->address, host);
    return highest;
}

void tri_storage_close_gap(tri_storage *storage, size_t offset, size_t bytes)
{
    TRI_ASSERT(offset <= storage->bytes && bytes <= storage->bytes - offset);
    if (storage->device != &tri_device_host || bytes == 0)
        return;
    if (STORAGE_PAINTS_GAPS)
        memset(storage->address + offset, STORAGE_PAINT, bytes);
    ASAN_POISON_MEMORY_REGION(storage->address + offset, bytes);
}

bool tri_storage_paints_gaps(void)
{
    return STORAGE_PAINTS_GAPS;
}

size_t tri_storage_gap_damage(const tri_storage *storage, size_t offset, size_t bytes)
{
    size_t whole = STORAGE_PAINTS_GAPS && storage->device == &tri_device_host ? 0 : bytes;
    while (whole < bytes && storage->address[offset + whole] == STORAGE_PAINT)
        whole++;
    return whole;
}

void tri_storage_open_gap(tri_storage *storage, size_t offset, size_t bytes)
{
    TRI_ASSERT(offset <= storage->bytes && bytes <= storage->bytes - offset);
    if (storage->device == &tri_device_host && bytes > 0)
        ASAN_UNPOISON_MEMORY_REGION(storage->address + offset, bytes);
}
