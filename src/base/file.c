/* SPDX-License-Identifier: Apache-2.0 */
/* Small files read whole; the size is what was read, never what the file system says. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_ROOM 65536

static tri_status file_read_all(int descriptor, const char *path, size_t max_bytes, tri_error *err,
                                char **text, size_t *bytes)
{
    size_t room = FIRST_ROOM, used = 0;
    tri_status status = TRI_OK;
    char *buffer = malloc(room);
    for (;;) {
        if (!buffer)
            return tri_error_add(err, TRI_NOMEM, "out of memory while '%s' was read", path);
        ssize_t got = read(descriptor, buffer + used, room - used - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = tri_error_add(err, TRI_IO, "cannot read '%s': %s", path, strerror(errno));
        if (got <= 0)
            break;
        used += (size_t)got;
        if (used > max_bytes) {
            status = tri_error_add(err, TRI_INVALID,
                                   "'%s' has more than %zu bytes; is it the right file?", path,
                                   max_bytes);
            break;
        }
        if (used + 1 == room) {
            char *larger = realloc(buffer, 2 * room);
            if (!larger)
                free(buffer);
            buffer = larger;
            room *= 2;
        }
    }
    if (status != TRI_OK) {
        free(buffer);
        return status;
    }
    buffer[used] = '\0';
    *text = buffer;
    *bytes = used;
    return TRI_OK;
}

tri_status tri_file_read(const char *path, size_t max_bytes, tri_error *err, char **text,
                         size_t *bytes)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return tri_error_add(err, TRI_IO, "cannot open '%s': %s", path, strerror(errno));
    tri_status status = file_read_all(descriptor, path, max_bytes, err, text, bytes);
    close(descriptor);
    return status;
}
