/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage owns the bytes of one arena of the plan on one device. A debug build watches the gaps
 * between rows (the address sanitizer at every access, paint once a step) and can report the highest
 * byte ever written.
 */
#pragma once

#include "tensor/device.h"

#include <stdbool.h>

typedef struct tri_storage tri_storage;

/* bytes may be 0. name is borrowed and must outlive the storage. */
tri_status tri_storage_create(const struct tri_device *device, const char *name, size_t bytes,
                              tri_error *err, tri_storage **storage);
void tri_storage_destroy(tri_storage **storage);
void *tri_storage_get(const tri_storage *storage, size_t offset);
size_t tri_storage_bytes(const tri_storage *storage);
const char *tri_storage_name(const tri_storage *storage);
/* Marks every byte so that tri_storage_highest() can tell which were written since. Debug use. */
void tri_storage_paint(tri_storage *storage);
/* One past the highest byte that differs from the paint. */
size_t tri_storage_highest(const tri_storage *storage);
/* Makes any access to bytes offset .. offset+bytes-1 an error of the address sanitizer until the
   storage ends or they are opened again; bytes go from a multiple of 8 to a multiple of 8 or the
   end. Without that sanitizer a debug build paints them. Nothing in other builds or off the host. */
void tri_storage_close_gap(tri_storage *storage, size_t offset, size_t bytes);
void tri_storage_open_gap(tri_storage *storage, size_t offset, size_t bytes);
/* True where gaps are painted: tri_storage_gap_damage() has something to say. */
bool tri_storage_paints_gaps(void);
/* The first of the closed bytes that has been written since, from offset on; bytes if none has. */
size_t tri_storage_gap_damage(const tri_storage *storage, size_t offset, size_t bytes);
