/* SPDX-License-Identifier: Apache-2.0 */
/* File access of checkpoints; io.h says the rules. */
#include "checkpoint/io.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tri_status tri_io_fail(tri_error *err, const char *verb, const char *path, int code)
{
    char buffer[128];
    const char *cause = strerror_r(code, buffer, sizeof(buffer));
    return tri_error_add(err, TRI_IO, "cannot %s '%s': %c%s", verb, path,
                         tolower((unsigned char)cause[0]), cause + 1);
}

const char *tri_io_path(tri_arena *arena, tri_error *err, const char *dir, const char *name)
{
    const char *path = tri_arena_format(arena, "%s/%s", dir, name);
    if (!path)
        tri_error_add(err, TRI_NOMEM, "out of memory for the name of '%s' in '%s'", name, dir);
    return path;
}

static tri_status io_open(const char *path, int flags, const char *verb, tri_error *err, int *fd)
{
    int got;
    do {
        got = open(path, flags | O_CLOEXEC, 0666);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return tri_io_fail(err, verb, path, errno);
    if (got <= STDERR_FILENO) {
        int moved = fcntl(got, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        int code = errno;
        close(got);
        if (moved < 0)
            return tri_io_fail(err, verb, path, code);
        got = moved;
    }
    *fd = got;
    return TRI_OK;
}

tri_status tri_io_open_read(const char *path, tri_error *err, int *fd)
{
    return io_open(path, O_RDONLY, "open", err, fd);
}

tri_status tri_io_open_new(const char *path, tri_error *err, int *fd)
{
    return io_open(path, O_RDWR | O_CREAT | O_TRUNC, "create", err, fd);
}

tri_status tri_io_open_parts(const char *path, tri_error *err, int *fd)
{
    return io_open(path, O_WRONLY, "open for writing", err, fd);
}

tri_status tri_io_close(const char *path, tri_error *err, int *fd)
{
    if (*fd < 0)
        return TRI_OK;
    int got = close(*fd);
    *fd = -1;
    if (got != 0 && errno != EINTR)
        return tri_io_fail(err, "close", path, errno);
    return TRI_OK;
}

tri_status tri_io_read_at(int fd, const char *path, void *data, int64_t bytes, int64_t at,
                          tri_error *err)
{
    char *to = data;
    while (bytes > 0) {
        ssize_t got = pread(fd, to, (size_t)bytes, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tri_io_fail(err, "read", path, errno);
        if (got == 0)
            return tri_error_add(
                err, TRI_IO,
                "'%s' ends at byte %lld while %lld more bytes were expected: it was "
                "cut while being read",
                path, (long long)at, (long long)bytes);
        to += got;
        at += got;
        bytes -= got;
    }
    return TRI_OK;
}

tri_status tri_io_write_at(int fd, const char *path, const void *data, int64_t bytes, int64_t at,
                           tri_error *err)
{
    const char *from = data;
    while (bytes > 0) {
        ssize_t got = pwrite(fd, from, (size_t)bytes, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tri_io_fail(err, "write", path, errno);
        if (got == 0)
            return tri_io_fail(err, "write", path, ENOSPC);
        from += got;
        at += got;
        bytes -= got;
    }
    return TRI_OK;
}

tri_status tri_io_reserve(int fd, const char *path, int64_t bytes, tri_error *err)
{
    if (ftruncate(fd, bytes) != 0)
        return tri_io_fail(err, "size", path, errno);
    /* posix_fallocate() writes a byte to every block where the file system cannot reserve. */
    int code;
    do {
        code = bytes > 0 ? posix_fallocate(fd, 0, bytes) : 0;
    } while (code == EINTR);
    if (code == EINVAL || code == EOPNOTSUPP)
        return TRI_OK;
    return code == 0 ? TRI_OK : tri_io_fail(err, "reserve room for", path, code);
}

tri_status tri_io_sync(int fd, const char *path, tri_error *err)
{
    int got;
    do {
        got = fsync(fd);
    } while (got != 0 && errno == EINTR);
    if (got != 0 && errno != EINVAL && errno != ENOTSUP)
        return tri_io_fail(err, "sync", path, errno);
    return TRI_OK;
}

static tri_status io_read_open(int fd, const char *path, int64_t most, tri_arena *arena,
                               tri_error *err, const char **text, int64_t *bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return tri_io_fail(err, "read", path, errno);
    if (!S_ISREG(st.st_mode))
        return tri_error_add(err, TRI_INVALID, "'%s' is not a file", path);
    if (st.st_size > most)
        return tri_error_add(err, TRI_INVALID, "'%s' is %lld bytes, more than %lld are not read",
                             path, (long long)st.st_size, (long long)most);
    char *room = tri_arena_alloc(arena, (size_t)st.st_size + 1);
    if (!room)
        return tri_error_add(err, TRI_NOMEM, "out of memory for the %lld bytes of '%s'",
                             (long long)st.st_size, path);
    TRI_TRY(tri_io_read_at(fd, path, room, st.st_size, 0, err));
    *text = room;
    *bytes = st.st_size;
    return TRI_OK;
}

tri_status tri_io_read_all(const char *path, int64_t most, tri_arena *arena, tri_error *err,
                           const char **text, int64_t *bytes)
{
    int fd = -1;
    TRI_TRY(tri_io_open_read(path, err, &fd));
    tri_status status = io_read_open(fd, path, most, arena, err, text, bytes);
    close(fd);
    return status;
}

tri_status tri_io_write_all(const char *path, const void *data, int64_t bytes, tri_error *err)
{
    int fd = -1;
    TRI_TRY(tri_io_open_new(path, err, &fd));
    tri_status status = tri_io_write_at(fd, path, data, bytes, 0, err);
    if (status == TRI_OK)
        status = tri_io_sync(fd, path, err);
    tri_status closed = tri_io_close(path, status == TRI_OK ? err : NULL, &fd);
    return status != TRI_OK ? status : closed;
}

static tri_status io_copy_open(int in, int out, const char *from, const char *to, void *buffer,
                               size_t buffer_bytes, tri_error *err)
{
    for (int64_t at = 0;;) {
        ssize_t got = pread(in, buffer, buffer_bytes, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tri_io_fail(err, "read", from, errno);
        if (got == 0)
            return tri_io_sync(out, to, err);
        TRI_TRY(tri_io_write_at(out, to, buffer, got, at, err));
        at += got;
    }
}

tri_status tri_io_copy(const char *from, const char *to, void *buffer, size_t buffer_bytes,
                       tri_error *err)
{
    int in = -1, out = -1;
    TRI_TRY(tri_io_open_read(from, err, &in));
    tri_status status = tri_io_open_new(to, err, &out);
    if (status == TRI_OK)
        status = io_copy_open(in, out, from, to, buffer, buffer_bytes, err);
    close(in);
    tri_status closed = tri_io_close(to, status == TRI_OK ? err : NULL, &out);
    return status != TRI_OK ? status : closed;
}

bool tri_io_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool tri_io_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool tri_io_is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

tri_status tri_io_make_dir(const char *path, tri_error *err)
{
    if (mkdir(path, 0777) != 0)
        return tri_io_fail(err, "make the folder", path, errno);
    return TRI_OK;
}

tri_status tri_io_make_dirs(const char *path, tri_error *err)
{
    if (tri_io_is_dir(path))
        return TRI_OK;
    char *part = strdup(path);
    if (!part)
        return tri_error_add(err, TRI_NOMEM, "out of memory for the name of '%s'", path);
    int code = 0;
    for (char *end = part + 1; code == 0; end++) {
        if (*end != '/' && *end != '\0')
            continue;
        char kept = *end;
        *end = '\0';
        if (mkdir(part, 0777) != 0) {
            int cause = errno;
            if (!tri_io_is_dir(part))
                code = cause;
        }
        *end = kept;
        if (kept == '\0')
            break;
    }
    free(part);
    return code == 0 ? TRI_OK : tri_io_fail(err, "make the folder", path, code);
}

tri_status tri_io_sync_dir(const char *path, tri_error *err)
{
    int fd = -1;
    TRI_TRY(io_open(path, O_RDONLY | O_DIRECTORY, "open", err, &fd));
    tri_status status = tri_io_sync(fd, path, err);
    close(fd);
    return status;
}

/* Empties the folder behind fd, which this call closes; returns 0 or the first errno. */
static int io_empty_dir(int fd)
{
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int code = errno;
        close(fd);
        return code;
    }
    int code = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) == 0 || errno == ENOENT)
            continue;
        int cause = errno;
        int sub =
            openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub >= 0) {
            cause = io_empty_dir(sub);
            if (cause == 0 && unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) != 0)
                cause = errno;
        }
        if (cause != 0 && code == 0)
            code = cause;
    }
    closedir(dir);
    return code;
}

tri_status tri_io_remove_tree(const char *path, tri_error *err)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return TRI_OK;
    int code = errno;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        code = io_empty_dir(fd);
        if (code == 0 && rmdir(path) != 0)
            code = errno;
    }
    return code == 0 ? TRI_OK : tri_io_fail(err, "remove", path, code);
}

static int io_name_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static tri_status io_list_open(DIR *dir, const char *path, const char *prefix, tri_arena *arena,
                               tri_error *err, const char ***names, int *num)
{
    const char **list = NULL;
    int room = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name;
        if (strncmp(name, prefix, strlen(prefix)) != 0 || strcmp(name, ".") == 0 ||
            strcmp(name, "..") == 0)
            continue;
        if (*num == room) {
            const char **more = tri_arena_alloc(arena, (size_t)(2 * room + 16) * sizeof(*more));
            if (!more)
                return tri_error_add(err, TRI_NOMEM, "out of memory for the names in '%s'", path);
            if (*num > 0)
                memcpy(more, list, (size_t)*num * sizeof(*list));
            list = more;
            room = 2 * room + 16;
        }
        list[*num] = tri_arena_format(arena, "%s", name);
        if (!list[*num])
            return tri_error_add(err, TRI_NOMEM, "out of memory for the names in '%s'", path);
        (*num)++;
    }
    if (*num > 0)
        qsort(list, (size_t)*num, sizeof(*list), io_name_compare);
    *names = list;
    return TRI_OK;
}

tri_status tri_io_list(const char *dir, const char *prefix, tri_arena *arena, tri_error *err,
                       const char *const **names, int *num)
{
    DIR *open_dir = opendir(dir);
    if (!open_dir)
        return tri_io_fail(err, "list", dir, errno);
    const char **list = NULL;
    int count = 0;
    tri_status status = io_list_open(open_dir, dir, prefix, arena, err, &list, &count);
    closedir(open_dir);
    if (status == TRI_OK) {
        *names = list;
        *num = count;
    }
    return status;
}
