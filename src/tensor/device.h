/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device table: allocate, copy, map, queue, event. tensor/host/ is plain memory, where a queue
 * runs at once and map returns the address itself. A queue carries the rank's team. Device memory
 * is touched on the host only between map and unmap.
 */
#pragma once

#include "base/check.h"
#include "base/team.h"

#include <stddef.h>

struct tri_queue {
    const struct tri_device *device;
    tri_team *team; /* NULL: one thread */
    void *handle;   /* the device's own stream; NULL on the host */
};

enum tri_map_mode { TRI_MAP_READ, TRI_MAP_WRITE, TRI_MAP_READ_WRITE };

struct tri_device {
    const char *name; /* "host", "cuda" */
    /* Fresh memory that reads as zero and is not touched; aligned to 4096. */
    tri_status (*alloc)(size_t bytes, tri_error *err, void **address);
    void (*free)(void *address, size_t bytes);
    tri_status (*copy)(struct tri_queue *queue, void *to, const void *from, size_t bytes,
                       tri_error *err);
    /* A host address for bytes at address, valid until unmap. */
    void *(*map)(struct tri_queue *queue, void *address, size_t bytes, enum tri_map_mode mode);
    void (*unmap)(struct tri_queue *queue, void *address, void *host);
    /* Returns when everything queued so far is done. */
    tri_status (*finish)(struct tri_queue *queue, tri_error *err);
};

extern const struct tri_device tri_device_host;

/* The device called name; NULL if there is none. */
const struct tri_device *tri_device_find(const char *name);
