/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and folders for checkpoints: whole reads and writes with EINTR and short counts handled,
 * durable names, copies, and the removal of a folder tree. Every failure is added to the record
 * with the path and the system's cause ("no space left on device", "permission denied").
 * Descriptors are never 0, 1 or 2: a closed stdout must not make a checkpoint file of the next line
 * printed. All calls are local.
 */
#pragma once

#include "base/arena.h"
#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds "cannot VERB 'PATH': cause of code" and returns TRI_IO. */
tri_status tri_io_fail(tri_error *err, const char *verb, const char *path, int code);

/* DIR/NAME in the arena; adds TRI_NOMEM and returns NULL when memory is out. */
const char *tri_io_path(tri_arena *arena, tri_error *err, const char *dir, const char *name);

tri_status tri_io_open_read(const char *path, tri_error *err, int *fd);
/* New file, mode 0666 less the umask; an older one of the name is cut to nothing. */
tri_status tri_io_open_new(const char *path, tri_error *err, int *fd);
/* An existing file, to write parts of it. */
tri_status tri_io_open_parts(const char *path, tri_error *err, int *fd);
/* Closes *fd when it is not -1 and sets it to -1; a failing close counts as a failed write. */
tri_status tri_io_close(const char *path, tri_error *err, int *fd);

tri_status tri_io_read_at(int fd, const char *path, void *data, int64_t bytes, int64_t at,
                          tri_error *err);
tri_status tri_io_write_at(int fd, const char *path, const void *data, int64_t bytes, int64_t at,
                           tri_error *err);
/* Takes the room on the disk now, so that a full disk is found before anything is written. */
tri_status tri_io_reserve(int fd, const char *path, int64_t bytes, tri_error *err);
tri_status tri_io_sync(int fd, const char *path, tri_error *err);

/* The whole file with a NUL behind it, in the arena; TRI_INVALID beyond most bytes. */
tri_status tri_io_read_all(const char *path, int64_t most, tri_arena *arena, tri_error *err,
                           const char **text, int64_t *bytes);
/* Writes and syncs a small file. */
tri_status tri_io_write_all(const char *path, const void *data, int64_t bytes, tri_error *err);
/* Copies byte for byte through buffer and syncs. */
tri_status tri_io_copy(const char *from, const char *to, void *buffer, size_t buffer_bytes,
                       tri_error *err);

bool tri_io_is_dir(const char *path);
bool tri_io_exists(const char *path);
/* Whatever it points to. */
bool tri_io_is_link(const char *path);
/* Makes path and its missing parents; an existing folder or a link to one is fine. */
tri_status tri_io_make_dirs(const char *path, tri_error *err);
tri_status tri_io_make_dir(const char *path, tri_error *err);
tri_status tri_io_sync_dir(const char *path, tri_error *err);
/* Removes path and what lies below it; links are removed, never followed. Missing is fine. */
tri_status tri_io_remove_tree(const char *path, tri_error *err);
/* Names in dir that begin with prefix, sorted; without "." and "..". */
tri_status tri_io_list(const char *dir, const char *prefix, tri_arena *arena, tri_error *err,
                       const char *const **names, int *num);
